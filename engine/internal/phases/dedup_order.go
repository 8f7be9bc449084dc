// SPDX-License-Identifier: Apache-2.0

package phases

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/seine-crawler/seine/storage"
	"github.com/seine-crawler/seine/storage/urlkey"
)

// DedupKey is one thing by which pages with the same content are compared: the better one survives.
type DedupKey uint8

// The keys, with Nutch's meanings (dedup -compareOrder).
const (
	DedupScore  DedupKey = iota // the higher score
	DedupTime                   // the later fetch
	DedupLength                 // the shorter URL
	DedupHTTPS                  // https before http
)

var dedupKeyNames = [...]string{"score", "time", "length", "https"}

// String is the key's word on the command line.
func (k DedupKey) String() string {
	if int(k) < len(dedupKeyNames) {
		return dedupKeyNames[k]
	}
	return fmt.Sprintf("dedup key %d", uint8(k))
}

// DefaultDedupOrder returns the order that is used when none is given: score, then length.
func DefaultDedupOrder() []DedupKey { return []DedupKey{DedupScore, DedupLength} }

// ParseDedupOrder reads words with commas between them, such as "score,time,length,https". The error names the word
// that is wrong.
func ParseDedupOrder(s string) (order []DedupKey, err error) {
	for word := range strings.SplitSeq(s, ",") {
		i := slices.Index(dedupKeyNames[:], strings.TrimSpace(word))
		if i < 0 {
			return nil, fmt.Errorf("unknown key %q: choose from %s",
				strings.TrimSpace(word), strings.Join(dedupKeyNames[:], ", "))
		}
		if slices.Contains(order, DedupKey(i)) {
			return nil, fmt.Errorf("%q is there twice: name each key once", strings.TrimSpace(word))
		}
		order = append(order, DedupKey(i))
	}
	return order, nil
}

// member is one page of a group of equal pages.
type member struct {
	key   urlkey.Key
	r     storage.Record
	fresh bool // fetched in the segments that dedup looks at
}

// compareMembers orders pages, the better one first. The URL's key decides where nothing else does: the order is
// total, and the survivor does not depend on the order in which pages come. (Nutch leaves ties to chance.)
func compareMembers(order []DedupKey, m, n *member) int {
	for _, k := range order {
		c := 0
		switch k {
		case DedupScore:
			c = cmp.Compare(n.r.Score, m.r.Score)
		case DedupTime:
			c = cmp.Compare(n.r.LastFetch, m.r.LastFetch)
		case DedupLength: // a key is as long as its URL
			c = cmp.Compare(len(m.key), len(n.key))
		case DedupHTTPS:
			c = cmp.Compare(schemeRank(m.key), schemeRank(n.key))
		}
		if c != 0 {
			return c
		}
	}
	return strings.Compare(string(m.key), string(n.key))
}

// RankPages returns the numbers of pages in the order in which dedup prefers them.
func RankPages(order []DedupKey, keys []urlkey.Key, records []storage.Record) []int {
	ranked := make([]int, len(keys))
	for i := range ranked {
		ranked[i] = i
	}
	slices.SortFunc(ranked, func(i, j int) int {
		a, b := member{key: keys[i], r: records[i]}, member{key: keys[j], r: records[j]}
		return compareMembers(order, &a, &b)
	})
	return ranked
}

// schemeRank is 0 for https and 1 for http; keys end with the scheme.
func schemeRank(key urlkey.Key) int {
	if strings.HasSuffix(string(key), " https") {
		return 0
	}
	return 1
}
