// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"strings"

	"github.com/seine-crawler/seine/storage/urlkey"
)

// RulesFilter is Nutch's regex-urlfilter: a file of lines "+regex" and "-regex", '#' begins a comment.
// The first rule whose expression is found in the URL decides; a URL that none matches is refused. Rules
// between a line "> example.org" and a line "<" are for that host or registered domain alone. It may be asked
// while Refresh reads the file again.
type RulesFilter struct{ watched[[]rule] }

// rule is one line.
type rule struct {
	accept bool
	line   int
	site   string // the host or registered domain that it is for; "" means all
	text   string // the expression
	match  func(url string) bool
}

// loops are expressions of the files that come with Nutch that RE2 cannot have, since they refer back: what they
// mean is looked for in linear time.
var loops = map[string]func(url string) bool{
	`.*(/[^/]+)/[^/]+\1/[^/]+\1/`: alternates,
	`.*(/.+?)/.*?\1/.*?\1/`:       recurs,
}

// alternates reports whether a segment comes three times, with one other after each of the first two: /a/b/a/c/a/.
func alternates(url string) bool {
	var before [4]string // segments, the latest first
	for n := 0; ; n++ {
		slash := strings.IndexByte(url, '/')
		if slash < 0 {
			return false
		}
		s := url[:slash]
		url = url[slash+1:]
		// The scheme is no segment: no slash begins it.
		if n > 4 && s != "" && s == before[1] && s == before[3] && before[0] != "" && before[2] != "" {
			return true
		}
		before = [4]string{s, before[0], before[1], before[2]}
	}
}

// recurs reports whether a segment comes three times, not at once one after another.
func recurs(url string) bool {
	type seen struct{ at, times int }
	if strings.Count(url, "/") < 7 { // those of http://h//h//h/
		return false
	}
	var count map[string]seen
	for n := 0; ; n++ {
		slash := strings.IndexByte(url, '/')
		if slash < 0 {
			return false
		}
		segment := url[:slash]
		url = url[slash+1:]
		if n == 0 || segment == "" {
			continue
		}
		if count == nil {
			count = map[string]seen{}
		}
		c, known := count[segment]
		if known && n < c.at+2 {
			continue
		}
		if c = (seen{n, c.times + 1}); c.times == 3 {
			return true
		}
		count[segment] = c
	}
}

func (r *rule) matches(u urlkey.URL) bool {
	if r.site != "" && u.Host() != r.site && u.HostKey().Domain() != r.site {
		return false
	}
	return r.match(u.String())
}

// NewRulesFilter reads a file of rules. The error names file, line and what is wrong.
func NewRulesFilter(path string) (*RulesFilter, error) {
	f := &RulesFilter{}
	if err := f.open(path, "URL rules", parseRules); err != nil {
		return nil, err
	}
	return f, nil
}

func parseRules(path string, text []byte) (*[]rule, error) {
	var rules []rule
	var faults []error
	site := ""
	sc := bufio.NewScanner(bytes.NewReader(text))
	for n := 1; sc.Scan(); n++ {
		line := strings.TrimSpace(sc.Text())
		if line == "" || line[0] == '#' {
			continue
		}
		switch line[0] {
		case '>':
			host, err := urlkey.ParseHost(strings.TrimSpace(line[1:]))
			if err != nil {
				faults = append(faults, fmt.Errorf("URL rules %s, line %d: %w", path, n, err))
			}
			site = host.Host()
			continue
		case '<':
			site = ""
			continue
		case '+', '-':
		default:
			faults = append(faults, fmt.Errorf("URL rules %s, line %d: %.80q begins with none of + - > <", path, n, line))
			continue
		}
		match, err := compileRule(line[1:])
		if err != nil {
			faults = append(faults, fmt.Errorf("URL rules %s, line %d: %w (expressions are RE2's: no lookaround and no backreferences, since they take more than linear time)", path, n, err))
			continue
		}
		rules = append(rules, rule{accept: line[0] == '+', line: n, site: site, text: line[1:], match: match})
	}
	if err := sc.Err(); err != nil {
		faults = append(faults, fmt.Errorf("URL rules %s: %w", path, err))
	}
	if len(faults) > 0 {
		return nil, errors.Join(faults...)
	}
	return &rules, nil
}

// Accept refuses with reason "rules"; Explain tells which.
func (f *RulesFilter) Accept(u urlkey.URL) string {
	rules := *f.now.Load() // these to the end, whatever Refresh does
	for i := range rules {
		if r := &rules[i]; r.matches(u) {
			if r.accept {
				return ""
			}
			return "rules"
		}
	}
	return "rules"
}

// Explain names the rule that decides about a URL: "urls.txt:12 -\\.gif$", or that there is none.
func (f *RulesFilter) Explain(u urlkey.URL) string {
	for _, r := range *f.now.Load() {
		if r.matches(u) {
			sign := "-"
			if r.accept {
				sign = "+"
			}
			return fmt.Sprintf("%s:%d %s%s", f.file.path, r.line, sign, r.text)
		}
	}
	return f.file.path + ": no rule matches, which refuses"
}
