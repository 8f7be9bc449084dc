// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"fmt"
	"strings"

	"github.com/seine-crawler/seine/storage/urlkey"
)

// RulesFilter accepts and refuses URLs by regular expressions (Nutch: regex-urlfilter). The first rule whose
// expression is found in the URL decides; a URL that matches no rule is refused. The filter is immutable and is an
// Explainer.
type RulesFilter struct{ rules []rule }

// rule is one line.
type rule struct {
	accept bool
	line   int
	site   string // the host or registered domain that it is for; "" means all
	text   string // the expression
	match  func(url string) bool
}

// ParseRules reads rules, one per line: "+regex" accepts and "-regex" refuses; '#' begins a comment line. Rules
// between a line "> example.org" and a line "<" are for that host or registered domain only. Expressions are those of
// package regexp, and the two with backreferences that Nutch's own files have.
//
// The error names each wrong line, at most ten of them.
func ParseRules(text []byte) (*RulesFilter, error) {
	f := &RulesFilter{}
	site := ""
	err := eachEntry(text, func(n int, line string) error {
		switch line[0] {
		case '>':
			host, err := parseEntry(strings.TrimSpace(line[1:]))
			if err != nil || splitHostKey(host).port != "" {
				return fmt.Errorf("%.80q: want > and a host or registered domain, such as > example.org; "+
					"the rules hold on all its ports", line)
			}
			site = host.Host()
			return nil
		case '<':
			site = ""
			return nil
		case '+', '-':
		default:
			return fmt.Errorf("%.80q: want a line that begins with +, -, > or <", line)
		}
		match, err := compileRule(line[1:])
		if err != nil {
			return fmt.Errorf("%w (%s)", err, errRE2)
		}
		f.rules = append(f.rules, rule{accept: line[0] == '+', line: n, site: site, text: line[1:], match: match})
		return nil
	})
	if err != nil {
		return nil, err
	}
	return f, nil
}

// decides returns the first rule that matches a URL, nil if none does.
func (f *RulesFilter) decides(u urlkey.URL) *rule {
	for i := range f.rules {
		if r := &f.rules[i]; r.matches(u) {
			return r
		}
	}
	return nil
}

func (r *rule) matches(u urlkey.URL) bool {
	if r.site != "" && u.Host() != r.site && u.HostKey().Domain() != r.site {
		return false
	}
	return r.match(u.String())
}

// Accept refuses with reason "rules".
func (f *RulesFilter) Accept(u urlkey.URL) string {
	if r := f.decides(u); r != nil && r.accept {
		return ""
	}
	return "rules"
}

// Explain returns the rule that decides about the URL, "line 12: -\.gif$", or says that there is none.
func (f *RulesFilter) Explain(u urlkey.URL) string {
	r := f.decides(u)
	if r == nil {
		return "no rule matches"
	}
	sign := "-"
	if r.accept {
		sign = "+"
	}
	return fmt.Sprintf("line %d: %s%s", r.line, sign, r.text)
}
