// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"fmt"
	"slices"
	"strings"

	"github.com/seine-crawler/seine/storage/urlkey"
)

// PrefixFilter accepts only URLs that begin with an entry of a list (Nutch: urlfilter-prefix). A URL costs one binary
// search, whatever the length of the list. The filter is immutable and is an Explainer.
type PrefixFilter struct {
	list []string // sorted; no entry begins with another
}

// NewPrefixFilter accepts only URLs that begin with one of the prefixes. It compares canonical spellings.
func NewPrefixFilter(prefixes ...string) *PrefixFilter { return prefixFilter(slices.Clone(prefixes)) }

// prefixFilter keeps the list.
func prefixFilter(list []string) *PrefixFilter {
	slices.Sort(list)
	// An entry that begins with another adds nothing. Of the rest, a URL can begin only with the last that does
	// not sort after it.
	kept := list[:0]
	for _, p := range list {
		if len(kept) == 0 || !strings.HasPrefix(p, kept[len(kept)-1]) {
			kept = append(kept, p)
		}
	}
	return &PrefixFilter{kept}
}

// ParsePrefixes reads a list of prefixes, one per line; '#' begins a comment line. The error names the lines that are
// too long, and those whose host no URL spells so, with what to write.
func ParsePrefixes(text []byte) (*PrefixFilter, error) {
	var list []string
	err := eachEntry(text, func(_ int, line string) error {
		list = append(list, line)
		return checkPrefix(line)
	})
	if err != nil {
		return nil, err
	}
	return prefixFilter(list), nil
}

// checkPrefix returns an error for a prefix with a whole host that is not in canonical form: no URL begins with it.
func checkPrefix(p string) error {
	scheme, rest, _ := strings.Cut(p, "://")
	authority, path, whole := strings.Cut(rest, "/")
	if scheme = strings.ToLower(scheme); !whole || authority == "" || scheme != "http" && scheme != "https" {
		return nil // of other schemes, as in Nutch's file, there are no URLs
	}
	u, err := urlkey.Parse(scheme + "://" + authority + "/")
	if err != nil {
		return err
	}
	if spelled := u.String() + path; spelled != p {
		return fmt.Errorf("%.80q: the URLs of the crawl are spelled otherwise: write %s", p, spelled)
	}
	return nil
}

// match returns the prefix that a URL begins with.
func (f *PrefixFilter) match(u urlkey.URL) (prefix string, ok bool) {
	s := u.String()
	i, found := slices.BinarySearch(f.list, s)
	if !found {
		i--
	}
	if i < 0 || !strings.HasPrefix(s, f.list[i]) {
		return "", false
	}
	return f.list[i], true
}

// Accept refuses with reason "prefix".
func (f *PrefixFilter) Accept(u urlkey.URL) string {
	if _, ok := f.match(u); !ok {
		return "prefix"
	}
	return ""
}

// Explain returns the prefix that the URL begins with, or says that there is none.
func (f *PrefixFilter) Explain(u urlkey.URL) string {
	if p, ok := f.match(u); ok {
		return p
	}
	return "no prefix matches"
}
