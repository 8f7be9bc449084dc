// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"regexp"
	"regexp/syntax"
	"slices"
	"strings"
)

// compileRule makes a matcher of an expression. In people's files, most expressions are a few words at the beginning,
// at the end or anywhere in a URL, or a set of characters. Comparing with these takes a tenth of the time of matching:
// Nutch's rules fell from 2,399 and 4,029 ns a URL (simweb, docs) to 250 and 385. Package regexp matches the rest, at a
// microsecond or two a rule.
func compileRule(expression string) (func(url string) bool, error) {
	if expression == "." {
		return func(string) bool { return true }, nil
	}
	if loop := loops[expression]; loop != nil {
		return loop, nil
	}
	re, err := regexp.Compile(expression)
	if err != nil {
		return nil, err
	}
	if match := compared(expression); match != nil {
		return match, nil
	}
	return re.MatchString, nil
}

// compared returns a matcher that compares, or nil if the expression needs more. URLs are ASCII.
func compared(expression string) func(url string) bool {
	re, err := syntax.Parse(expression, syntax.Perl)
	if err != nil {
		return nil
	}
	parts := []*syntax.Regexp{re}
	if re.Op == syntax.OpConcat {
		parts = re.Sub
	}
	atBegin, atEnd := parts[0].Op == syntax.OpBeginText, parts[len(parts)-1].Op == syntax.OpEndText
	if atBegin {
		parts = parts[1:]
	}
	if atEnd && len(parts) > 0 {
		parts = parts[:len(parts)-1]
	}
	// Without an anchor, ".*" at an end changes nothing.
	for !atBegin && len(parts) > 0 && anything(parts[0]) {
		parts = parts[1:]
	}
	for !atEnd && len(parts) > 0 && anything(parts[len(parts)-1]) {
		parts = parts[:len(parts)-1]
	}
	if len(parts) == 1 && parts[0].Op == syntax.OpCharClass && !atBegin && !atEnd {
		return hasByte(parts[0])
	}
	w := words{list: []string{""}}
	for _, p := range parts {
		w = w.join(w.of(p))
	}
	if w.failed || w.fold && w.exact || len(parts) == 0 {
		return nil
	}
	return w.matcher(atBegin, atEnd)
}

func anything(re *syntax.Regexp) bool {
	return re.Op == syntax.OpStar && (re.Sub[0].Op == syntax.OpAnyCharNotNL || re.Sub[0].Op == syntax.OpAnyChar)
}

// hasByte looks for a character of a class.
func hasByte(class *syntax.Regexp) func(url string) bool {
	var in [256]bool
	for i := 0; i < len(class.Rune); i += 2 {
		for r := class.Rune[i]; r <= class.Rune[i+1] && r < 128; r++ {
			in[r] = true
		}
	}
	return func(url string) bool {
		for i := range len(url) {
			if in[url[i]] {
				return true
			}
		}
		return false
	}
}

// words are all texts that an expression without repetition matches.
type words struct {
	list   []string
	fold   bool // some letters match in either case
	exact  bool // some letters match in one case only
	failed bool // the expression matches other texts, or too many
}

// wordsMax is how many texts are worth a comparison; beyond, package regexp matches.
const wordsMax = 1000

// of returns the texts that re matches.
func (w words) of(re *syntax.Regexp) words {
	out := words{fold: w.fold, exact: w.exact, failed: w.failed}
	switch re.Op {
	case syntax.OpLiteral:
		text := string(re.Rune)
		if strings.ToLower(text) != strings.ToUpper(text) {
			out.fold = out.fold || re.Flags&syntax.FoldCase != 0
			out.exact = out.exact || re.Flags&syntax.FoldCase == 0
		}
		out.list = []string{text}
	case syntax.OpCharClass:
		for i := 0; i < len(re.Rune); i += 2 {
			for r := re.Rune[i]; r <= re.Rune[i+1]; r++ {
				if out.list = append(out.list, string(r)); len(out.list) > wordsMax {
					out.failed = true
					return out
				}
			}
		}
		out.exact = true
	case syntax.OpEmptyMatch:
		out.list = []string{""}
	case syntax.OpCapture:
		return w.of(re.Sub[0])
	case syntax.OpQuest:
		out = w.of(re.Sub[0])
		out.list = append(out.list, "")
	case syntax.OpAlternate:
		for _, sub := range re.Sub {
			one := out.of(sub)
			one.list = append(out.list, one.list...)
			out = one
		}
	case syntax.OpConcat:
		out.list = []string{""}
		for _, sub := range re.Sub {
			out = out.join(out.of(sub))
		}
	default:
		out.failed = true
	}
	return out
}

// join returns each text of w with each of next after it.
func (w words) join(next words) words {
	if next.failed || len(w.list)*len(next.list) > wordsMax { // before memory is allocated for them
		next.failed = true
		return next
	}
	list := make([]string, 0, len(w.list)*len(next.list))
	for _, a := range w.list {
		for _, b := range next.list {
			list = append(list, a+b)
		}
	}
	next.list = list
	return next
}

// matcher returns a function that compares URLs with the texts, or nil if that would not be cheap.
func (w words) matcher(atBegin, atEnd bool) func(url string) bool {
	set, lengths := map[string]struct{}{}, []int{}
	for _, text := range w.list {
		if w.fold {
			text = strings.ToLower(text)
		}
		set[text] = struct{}{}
		if at, found := slices.BinarySearch(lengths, len(text)); !found {
			lengths = slices.Insert(lengths, at, len(text))
		}
	}
	longest := lengths[len(lengths)-1]
	in := func(part string) bool {
		if !w.fold {
			_, ok := set[part]
			return ok
		}
		var room [64]byte
		low := append(room[:0], part...)
		for i, c := range low {
			if 'A' <= c && c <= 'Z' {
				low[i] = c + 'a' - 'A'
			}
		}
		_, ok := set[string(low)]
		return ok
	}
	switch {
	case longest > 64 && w.fold:
		return nil
	case atBegin && atEnd:
		return func(url string) bool { return len(url) <= longest && in(url) }
	case atBegin:
		return func(url string) bool {
			return slices.ContainsFunc(lengths, func(n int) bool { return n <= len(url) && in(url[:n]) })
		}
	case atEnd:
		return func(url string) bool {
			return slices.ContainsFunc(lengths, func(n int) bool { return n <= len(url) && in(url[len(url)-n:]) })
		}
	case len(set) == 1 && !w.fold:
		return func(url string) bool { return strings.Contains(url, w.list[0]) }
	}
	return nil
}
