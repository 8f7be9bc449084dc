// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"sync/atomic"

	"github.com/seine-crawler/seine/storage/urlkey"
)

// RulesFilter is Nutch's regex-urlfilter: a file of lines "+regex" and "-regex", '#' begins a comment.
// The first rule whose expression is found in the URL decides; a URL that none matches is refused. It
// may be asked while Refresh reads the file again.
type RulesFilter struct {
	file  watchedFile // Refresh's own
	rules atomic.Pointer[ruleFile]
}

type ruleFile struct{ rules []rule }

// rule is one line. Most expressions of the files people have are a literal with anchors; those are
// compared, not matched.
type rule struct {
	accept bool
	line   int
	re     *regexp.Regexp
	prefix string // the expression is "^" and this
	any    bool   // "."
}

func (r *rule) matches(url string) bool {
	switch {
	case r.any:
		return true
	case r.prefix != "":
		return strings.HasPrefix(url, r.prefix)
	}
	return r.re.MatchString(url)
}

// NewRulesFilter reads a file of rules. The error names file, line and what is wrong.
func NewRulesFilter(path string) (*RulesFilter, error) {
	f := &RulesFilter{file: watchedFile{path: path, what: "URL rules"}}
	if _, err := f.Refresh(); err != nil {
		return nil, err
	}
	return f, nil
}

// Refresh reads the file again if it has changed, and reports whether the rules are new. After an error
// the old rules hold, and the error is not repeated until the file changes again. It must not be called
// by two goroutines at once.
func (f *RulesFilter) Refresh() (changed bool, err error) {
	text, err := f.file.changed()
	if text == nil || err != nil {
		return false, err
	}
	rules, err := parseRules(f.file.path, text)
	if err != nil {
		return false, err
	}
	f.rules.Store(&ruleFile{rules})
	return true, nil
}

func parseRules(path string, text []byte) (rules []rule, err error) {
	var faults []error
	sc := bufio.NewScanner(bytes.NewReader(text))
	for n := 1; sc.Scan(); n++ {
		line := strings.TrimSpace(sc.Text())
		if line == "" || line[0] == '#' {
			continue
		}
		if line[0] != '+' && line[0] != '-' {
			faults = append(faults, fmt.Errorf("URL rules %s, line %d: %.80q begins with neither + nor -", path, n, line))
			continue
		}
		re, err := regexp.Compile(line[1:])
		if err != nil {
			faults = append(faults, fmt.Errorf("URL rules %s, line %d: %w (expressions are RE2's: no lookaround and no backreferences, since they take more than linear time)", path, n, err))
			continue
		}
		r := rule{accept: line[0] == '+', line: n, re: re, any: line[1:] == "."}
		if rest, ok := strings.CutPrefix(line[1:], "^"); ok && regexp.QuoteMeta(rest) == strings.ReplaceAll(rest, ".", `\.`) && !strings.Contains(rest, ".") {
			r.prefix = rest
		}
		rules = append(rules, r)
	}
	if err := sc.Err(); err != nil {
		faults = append(faults, fmt.Errorf("URL rules %s: %w", path, err))
	}
	if len(faults) > 0 {
		return nil, errors.Join(faults...)
	}
	return rules, nil
}

// Accept refuses with reason "rules"; Explain tells which.
func (f *RulesFilter) Accept(u urlkey.URL) string {
	rules := f.rules.Load().rules // these to the end, whatever Refresh does
	for i := range rules {
		if r := &rules[i]; r.matches(u.String()) {
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
	for _, r := range f.rules.Load().rules {
		if r.matches(u.String()) {
			sign := "-"
			if r.accept {
				sign = "+"
			}
			return fmt.Sprintf("%s:%d %s%s", f.file.path, r.line, sign, r.re)
		}
	}
	return f.file.path + ": no rule matches, which refuses"
}
