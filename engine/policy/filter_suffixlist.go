// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/seine-crawler/seine/storage/urlkey"
)

// SuffixListFilter compares the end of a URL with a list of suffixes (Nutch: urlfilter-suffix). Unlike SuffixFilter
// it compares any text, not only the ending of a file name. The filter is immutable and is an Explainer.
type SuffixListFilter struct {
	suffixes                   map[string]struct{}
	lengths                    []int // of suffixes, each once, in ascending order
	refuse, ignoreCase, inPath bool
}

// maxListedSuffix is the longest suffix of a list, in bytes.
const maxListedSuffix = 256

// ParseSuffixes reads a list of suffixes, one per line; '#' begins a comment line. A line "+" accepts every URL but
// those that end in a suffix of the list; a line "-" accepts only those. After the sign, I ignores the case of
// letters, and P compares the end of the path instead of the whole URL. The last sign counts.
//
// The error names each wrong line, or says that no line has a sign.
func ParseSuffixes(text []byte) (*SuffixListFilter, error) {
	f := &SuffixListFilter{suffixes: map[string]struct{}{}}
	signed := false
	err := eachEntry(text, func(_ int, line string) error {
		switch {
		case line[0] == '+' || line[0] == '-':
			if strings.Trim(line[1:], "IP") != "" {
				return fmt.Errorf("%.80q: want + or -, then at most I and P; a suffix has its own line", line)
			}
			signed, f.refuse = true, line[0] == '+'
			f.ignoreCase = f.ignoreCase || strings.Contains(line, "I")
			f.inPath = f.inPath || strings.Contains(line, "P")
		case len(line) > maxListedSuffix:
			return fmt.Errorf("%.80q…: longer than %d bytes", line, maxListedSuffix)
		default:
			f.suffixes[line] = struct{}{}
		}
		return nil
	})
	if err == nil && !signed {
		err = errors.New("no line with + (refuse these suffixes) or - (accept only these suffixes)")
	}
	if err != nil {
		return nil, err
	}
	f.prepare()
	return f, nil
}

func (f *SuffixListFilter) prepare() {
	if f.ignoreCase {
		low := make(map[string]struct{}, len(f.suffixes))
		for suffix := range f.suffixes {
			low[strings.ToLower(suffix)] = struct{}{}
		}
		f.suffixes = low
	}
	for suffix := range f.suffixes {
		if at, found := slices.BinarySearch(f.lengths, len(suffix)); !found {
			f.lengths = slices.Insert(f.lengths, at, len(suffix))
		}
	}
}

// match returns the shortest suffix of the list that a URL ends in.
func (f *SuffixListFilter) match(u urlkey.URL) (suffix string, ok bool) {
	text := u.String()
	if f.inPath {
		text = u.Path()
	}
	text = text[max(0, len(text)-maxListedSuffix):]
	var room [maxListedSuffix]byte
	tail := append(room[:0], text...)
	if f.ignoreCase {
		for i, c := range tail {
			if 'A' <= c && c <= 'Z' {
				tail[i] = c + 'a' - 'A'
			}
		}
	}
	for _, n := range f.lengths {
		if n > len(tail) {
			break
		}
		if _, ok := f.suffixes[string(tail[len(tail)-n:])]; ok {
			return text[len(text)-n:], true
		}
	}
	return "", false
}

// Accept refuses with reason "suffix".
func (f *SuffixListFilter) Accept(u urlkey.URL) string {
	if _, found := f.match(u); found == f.refuse {
		return "suffix"
	}
	return ""
}

// Explain returns the suffix of the list that the URL ends in, as the URL spells it, or says that there is none.
func (f *SuffixListFilter) Explain(u urlkey.URL) string {
	if suffix, ok := f.match(u); ok {
		return suffix
	}
	return "no suffix matches"
}
