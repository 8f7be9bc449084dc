// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"bufio"
	"bytes"
	"fmt"
	"slices"
	"strings"

	"github.com/seine-crawler/seine/storage/urlkey"
)

// PrefixFilter is Nutch's urlfilter-prefix: a file of the beginnings of the only URLs that are wanted, one a line,
// '#' begins a comment line. Finding one among a million takes a binary search. It may be asked while Refresh reads
// the file again.
type PrefixFilter struct{ watched[[]string] }

// NewPrefixFilter reads a file. The error names the file, and the line that is too long.
func NewPrefixFilter(path string) (*PrefixFilter, error) {
	f := &PrefixFilter{}
	if err := f.open(path, "URL prefixes", parsePrefixes); err != nil {
		return nil, err
	}
	return f, nil
}

func parsePrefixes(path string, text []byte) (*[]string, error) {
	list, err := listLines("URL prefixes", path, text)
	if err != nil {
		return nil, err
	}
	slices.Sort(list)
	// What begins with another entry says nothing more. Of the rest, the only one that a URL can begin with is
	// the last that is not above it.
	kept := list[:0]
	for _, p := range list {
		if len(kept) == 0 || !strings.HasPrefix(p, kept[len(kept)-1]) {
			kept = append(kept, p)
		}
	}
	return &kept, nil
}

// listLines returns the lines of a file that are neither empty nor comments.
func listLines(what, path string, text []byte) (list []string, err error) {
	sc := bufio.NewScanner(bytes.NewReader(text))
	for sc.Scan() {
		if line := strings.TrimSpace(sc.Text()); line != "" && line[0] != '#' {
			list = append(list, line)
		}
	}
	if err := sc.Err(); err != nil {
		return nil, fmt.Errorf("%s %s, after line %d: %w", what, path, len(list), err)
	}
	return list, nil
}

// match returns the prefix that a URL begins with.
func (f *PrefixFilter) match(u urlkey.URL) (prefix string, ok bool) {
	list, s := *f.now.Load(), u.String()
	i, found := slices.BinarySearch(list, s)
	if !found {
		i--
	}
	if i < 0 || !strings.HasPrefix(s, list[i]) {
		return "", false
	}
	return list[i], true
}

// Accept refuses with reason "prefix".
func (f *PrefixFilter) Accept(u urlkey.URL) string {
	if _, ok := f.match(u); !ok {
		return "prefix"
	}
	return ""
}

// Explain names the prefix that a URL begins with, or that there is none.
func (f *PrefixFilter) Explain(u urlkey.URL) string {
	if p, ok := f.match(u); ok {
		return f.file.path + ": " + p
	}
	return f.file.path + ": no prefix fits, which refuses"
}
