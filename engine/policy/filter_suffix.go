// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"strings"

	"github.com/seine-crawler/seine/storage/urlkey"
)

// maxSuffixLength is the longest ending that counts as a file type, in bytes.
const maxSuffixLength = 8

// SuffixFilter refuses URLs whose path ends in one of a set of file-name endings. It ignores case and the query. It is
// immutable.
type SuffixFilter struct {
	skip map[string]struct{}
	// begins says with which letters the endings of each length begin, a bit each: most URLs need no look at the map.
	begins [maxSuffixLength + 1]uint32
}

// NewSuffixFilter refuses the given endings, with or without the dot. Without arguments it refuses DefaultSuffixes. An
// ending of more than 8 bytes never matches. To add to the default:
//
//	policy.NewSuffixFilter(append(policy.DefaultSuffixes(), "pdf")...)
func NewSuffixFilter(suffixes ...string) *SuffixFilter {
	if len(suffixes) == 0 {
		suffixes = defaultSuffixes
	}
	f := &SuffixFilter{skip: make(map[string]struct{}, len(suffixes))}
	for _, s := range suffixes {
		s = strings.ToLower(strings.TrimPrefix(s, "."))
		f.skip[s] = struct{}{}
		if s != "" && len(s) <= maxSuffixLength {
			f.begins[len(s)] |= 1 << (s[0] % 32)
		}
	}
	return f
}

// Accept refuses with reason "suffix". It never refuses ".xml.gz": those are sitemaps.
func (f *SuffixFilter) Accept(u urlkey.URL) string {
	path := u.Path()
	dot := strings.LastIndexByte(path, '.')
	if dot < 0 || len(path)-dot-1 > maxSuffixLength || dot+1 == len(path) {
		return ""
	}
	var low [maxSuffixLength]byte
	ending := path[dot+1:]
	for i := range len(ending) {
		c := ending[i]
		if c == '/' {
			return "" // the dot is in the name of a folder
		}
		if 'A' <= c && c <= 'Z' {
			c += 'a' - 'A'
		}
		low[i] = c
	}
	if f.begins[len(ending)]&(1<<(low[0]%32)) == 0 {
		return ""
	}
	if _, ok := f.skip[string(low[:len(ending)])]; ok && !hasFold(path[max(0, len(path)-len(".xml.gz")):], ".xml.gz") {
		return "suffix"
	}
	return ""
}
