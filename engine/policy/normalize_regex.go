// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"os"
	"regexp"
	"strings"

	"github.com/seine-crawler/seine/storage/urlkey"
)

// RegexNormalizer is Nutch's urlnormalizer-regex: a file of patterns and substitutions, applied to the URL in order.
//
//	<regex-normalize>
//	  <regex><pattern>&amp;{2,}</pattern><substitution>&amp;</substitution></regex>
//	</regex-normalize>
//
// Nutch's own file is taken as it is. Rules are applied until they change nothing more, so that a URL has one
// spelling; one that they change for ever is dropped.
type RegexNormalizer struct{ rules []substitution }

type substitution struct {
	re   *regexp.Regexp // nil: doubled slashes
	with string
}

// javaSlashes is a rule of Nutch's own file that RE2 cannot express: doubled slashes, but for those of "http://".
const javaSlashes = `(?<!:)/{2,}`

// normalizeRounds is how often the rules are applied before a URL counts as one that they change for ever.
const normalizeRounds = 4

// maxRuleFile bounds files of rules.
const maxRuleFile = 16 << 20

// NewRegexNormalizer reads a file. The error names the file and each rule that is wrong.
func NewRegexNormalizer(path string) (*RegexNormalizer, error) {
	text, err := readRuleFile(path, "URL substitutions")
	if err != nil {
		return nil, err
	}
	var file struct {
		XMLName xml.Name `xml:"regex-normalize"`
		Rules   []struct {
			Pattern      string `xml:"pattern"`
			Substitution string `xml:"substitution"`
		} `xml:"regex"`
	}
	if err := xml.NewDecoder(bytes.NewReader(text)).Decode(&file); err != nil {
		return nil, fmt.Errorf("URL substitutions %s: want <regex-normalize> with <regex> in it: %w", path, err)
	}
	n := &RegexNormalizer{}
	var faults []error
	for i, r := range file.Rules {
		if r.Pattern == javaSlashes && r.Substitution == "/" {
			n.rules = append(n.rules, substitution{})
			continue
		}
		re, err := regexp.Compile(r.Pattern)
		if err != nil {
			faults = append(faults, fmt.Errorf("URL substitutions %s, rule %d: %w (expressions are RE2's: no lookaround and no backreferences, since they take more than linear time)", path, i+1, err))
			continue
		}
		with, err := javaTemplate(r.Substitution, re.NumSubexp())
		if err != nil {
			faults = append(faults, fmt.Errorf("URL substitutions %s, rule %d: %w", path, i+1, err))
			continue
		}
		n.rules = append(n.rules, substitution{re, with})
	}
	return n, errors.Join(faults...)
}

// readRuleFile reads a file that people write.
func readRuleFile(path, what string) ([]byte, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", what, err)
	}
	if info.Size() > maxRuleFile {
		return nil, fmt.Errorf("%s %s: %d bytes, at most %d are read", what, path, info.Size(), maxRuleFile)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", what, err)
	}
	return text, nil
}

// javaTemplate turns a replacement as Java has it, "$1" for a group and a backslash before what stands for itself, into
// one of package regexp.
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
			for i+1 < len(s) && '0' <= s[i+1] && s[i+1] <= '9' && (digits == 0 || 10*group+int(s[i+1]-'0') <= groups) {
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

// Normalize applies the rules.
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
	return urlkey.URL{}, fmt.Errorf("%s: the substitutions never end", u)
}

// mergeSlashes makes one slash of several, but for those behind a colon.
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
