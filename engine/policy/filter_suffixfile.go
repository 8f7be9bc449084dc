// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/seine-crawler/seine/storage/urlkey"
)

// SuffixFile is Nutch's urlfilter-suffix: a file of endings of URLs, one a line, '#' begins a comment line. A line
// "+" means that what ends in one of them is refused, a line "-" that nothing else is wanted; behind the sign, I
// stands for endings in upper or lower case, P for the end of the path whatever the query. The last sign holds. It
// may be asked while Refresh reads the file again.
type SuffixFile struct{ watched[suffixSet] }

type suffixSet struct {
	suffixes                   map[string]struct{}
	lengths                    []int // of suffixes, each once, the shortest first
	refuse, ignoreCase, inPath bool
}

// maxSuffixLine is the longest ending of a file of them.
const maxSuffixLine = 256

// NewSuffixFile reads a file. The error names file and line and says what is wrong.
func NewSuffixFile(path string) (*SuffixFile, error) {
	f := &SuffixFile{}
	if err := f.open(path, "URL suffixes", parseSuffixFile); err != nil {
		return nil, err
	}
	return f, nil
}

func parseSuffixFile(path string, text []byte) (*suffixSet, error) {
	lines, err := listLines("URL suffixes", path, text)
	if err != nil {
		return nil, err
	}
	set, err := parseSuffixes(lines)
	if err != nil {
		return nil, fmt.Errorf("URL suffixes %s: %w", path, err)
	}
	return set, nil
}

func parseSuffixes(lines []string) (*suffixSet, error) {
	s := &suffixSet{suffixes: map[string]struct{}{}}
	var faults []error
	signed := false
	for _, line := range lines {
		switch {
		case line[0] == '+' || line[0] == '-':
			if strings.Trim(line[1:], "IP") != "" {
				faults = append(faults, fmt.Errorf("%.80q: want + or -, with I or P at most: endings stand alone", line))
			}
			signed, s.refuse = true, line[0] == '+'
			s.ignoreCase = s.ignoreCase || strings.Contains(line, "I")
			s.inPath = s.inPath || strings.Contains(line, "P")
		case len(line) > maxSuffixLine:
			faults = append(faults, fmt.Errorf("%.80q…: longer than %d bytes", line, maxSuffixLine))
		default:
			s.suffixes[line] = struct{}{}
		}
	}
	if !signed {
		faults = append(faults, errors.New("no line with + (refuse these endings) or - (nothing else is wanted)"))
	}
	if s.ignoreCase {
		low := make(map[string]struct{}, len(s.suffixes))
		for suffix := range s.suffixes {
			low[strings.ToLower(suffix)] = struct{}{}
		}
		s.suffixes = low
	}
	for suffix := range s.suffixes {
		if at, found := slices.BinarySearch(s.lengths, len(suffix)); !found {
			s.lengths = slices.Insert(s.lengths, at, len(suffix))
		}
	}
	return s, errors.Join(faults...)
}

// match returns the ending of the list that a URL has.
func (s *suffixSet) match(u urlkey.URL) (suffix string, ok bool) {
	text := u.String()
	if s.inPath {
		text = u.Path()
	}
	text = text[max(0, len(text)-maxSuffixLine):]
	var room [maxSuffixLine]byte
	tail := append(room[:0], text...)
	if s.ignoreCase {
		for i, c := range tail {
			if 'A' <= c && c <= 'Z' {
				tail[i] = c + 'a' - 'A'
			}
		}
	}
	for _, n := range s.lengths {
		if n > len(tail) {
			break
		}
		if _, ok := s.suffixes[string(tail[len(tail)-n:])]; ok {
			return text[len(text)-n:], true
		}
	}
	return "", false
}

// Accept refuses with reason "suffix".
func (f *SuffixFile) Accept(u urlkey.URL) string {
	s := f.now.Load()
	if _, found := s.match(u); found == s.refuse {
		return "suffix"
	}
	return ""
}

// Explain names the ending of the list that a URL has, or says that it has none.
func (f *SuffixFile) Explain(u urlkey.URL) string {
	if suffix, ok := f.now.Load().match(u); ok {
		return f.file.path + ": " + suffix
	}
	return f.file.path + ": no suffix fits"
}
