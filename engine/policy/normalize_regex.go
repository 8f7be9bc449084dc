// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strings"

	"github.com/seine-crawler/seine/storage/urlkey"
)

// RegexNormalizer applies substitutions to a URL, in order (Nutch: urlnormalizer-regex). It repeats them until they
// change nothing more, so that a URL has one spelling; a URL that they still change after 64 rounds is dropped. The
// normalizer is immutable.
type RegexNormalizer struct{ rules []substitution }

type substitution struct {
	re   *regexp.Regexp // nil: merge slashes
	with string
}

// javaSlashes is a rule of Nutch's own file that RE2 cannot express: it merges slashes, but not those of "http://".
const javaSlashes = `(?<!:)/{2,}`

// normalizeRounds is how often rules, or a chain, are applied before a URL counts as one that they never stop changing.
// Most URLs take two; one takes more that has again and again what each round takes away once.
const normalizeRounds = 64

// ParseSubstitutions reads substitutions in Nutch's format, including Nutch's own file:
//
//	<regex-normalize>
//	  <regex><pattern>&amp;{2,}</pattern><substitution>&amp;</substitution></regex>
//	</regex-normalize>
//
// Patterns are those of package regexp; substitutions are Java's, with $1 for a group. The error names each wrong rule
// by its number, or the line of the XML.
func ParseSubstitutions(text []byte) (*RegexNormalizer, error) {
	if len(text) > maxRuleText {
		return nil, fmt.Errorf("%d bytes of substitutions, at most %d are read", len(text), maxRuleText)
	}
	var file struct {
		XMLName xml.Name `xml:"regex-normalize"`
		Rules   []struct {
			Pattern      string `xml:"pattern"`
			Substitution string `xml:"substitution"`
		} `xml:"regex"`
	}
	d := xml.NewDecoder(bytes.NewReader(text))
	d.CharsetReader = func(label string, _ io.Reader) (io.Reader, error) {
		return nil, fmt.Errorf("the file is in %s: save it in UTF-8", label)
	}
	if err := d.Decode(&file); err != nil {
		line, column := d.InputPos()
		return nil, fmt.Errorf("line %d, column %d: want <regex-normalize> with <regex> in it: %w", line, column, err)
	}
	n := &RegexNormalizer{}
	var faults []error
	for i, r := range file.Rules {
		if r.Pattern == javaSlashes && r.Substitution == "/" {
			n.rules = append(n.rules, substitution{})
			continue
		}
		rule, err := parseSubstitution(r.Pattern, r.Substitution)
		if err != nil {
			faults = append(faults, fmt.Errorf("rule %d: %w", i+1, err))
			continue
		}
		n.rules = append(n.rules, rule)
	}
	if len(faults) > 0 {
		return nil, errors.Join(faults...)
	}
	return n, nil
}

func parseSubstitution(pattern, with string) (substitution, error) {
	re, err := regexp.Compile(pattern)
	if err != nil {
		return substitution{}, fmt.Errorf("%w (%s)", err, errRE2)
	}
	template, err := javaTemplate(with, re.NumSubexp())
	return substitution{re, template}, err
}

// javaTemplate turns Java's replacement text, with "$1" for a group and a backslash before a literal character, into
// one for package regexp.
func javaTemplate(s string, groups int) (string, error) {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case c == '\\' && i+1 < len(s):
			i++
			if b.WriteByte(s[i]); s[i] == '$' {
				b.WriteByte('$')
			}
		case c == '$':
			group, digits := 0, 0
			for digit(s, i+1) && (digits == 0 || 10*group+int(s[i+1]-'0') <= groups) {
				group, digits, i = 10*group+int(s[i+1]-'0'), digits+1, i+1
			}
			if digits == 0 || group > groups {
				return "", fmt.Errorf("substitution %q names a group that the pattern does not have", s)
			}
			fmt.Fprintf(&b, "${%d}", group)
		default:
			b.WriteByte(c)
		}
	}
	return b.String(), nil
}

// Normalize applies the rules. The error names the URL.
func (n *RegexNormalizer) Normalize(u urlkey.URL) (urlkey.URL, error) {
	for range normalizeRounds {
		before := u.String()
		after := before
		for _, r := range n.rules {
			switch {
			case r.re == nil:
				after = mergeSlashes(after)
			case r.re.MatchString(after):
				after = r.re.ReplaceAllString(after, r.with)
			}
		}
		if after == before {
			return u, nil
		}
		next, err := urlkey.Parse(after)
		if err != nil {
			return urlkey.URL{}, fmt.Errorf("%s became %q: %w", before, after, err)
		}
		if next == u {
			return u, nil
		}
		u = next
	}
	return urlkey.URL{}, fmt.Errorf("%.200s: the substitutions still change it after %d rounds", u, normalizeRounds)
}

// mergeSlashes makes one slash of several, but not of those after a colon.
func mergeSlashes(s string) string {
	if !strings.Contains(s, "//") {
		return s
	}
	var b strings.Builder
	for i := range len(s) {
		if s[i] != '/' || i == 0 || s[i-1] != '/' || i >= 2 && s[i-2] == ':' {
			b.WriteByte(s[i])
		}
	}
	return b.String()
}
