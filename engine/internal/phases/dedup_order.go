// SPDX-License-Identifier: Apache-2.0

package phases

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
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

// appendRank appends what compares as pages do, the better one first. The URL's key, which comes after it, decides
// where nothing else does: the order is total, and the survivor does not depend on the order in which pages come.
// (Nutch leaves ties to chance.)
func appendRank(dst []byte, order []DedupKey, key []byte, r *storage.Record) []byte {
	for _, k := range order {
		switch k {
		case DedupScore:
			dst = binary.BigEndian.AppendUint64(dst, ^ascending(r.Score))
		case DedupTime:
			dst = binary.BigEndian.AppendUint64(dst, ^(uint64(r.LastFetch) ^ 1<<63))
		case DedupLength: // a key is as long as its URL
			dst = binary.BigEndian.AppendUint16(dst, uint16(len(key)))
		case DedupHTTPS:
			dst = append(dst, schemeRank(key))
		}
	}
	return dst
}

// rankWidth is how many bytes appendRank appends.
func rankWidth(order []DedupKey) int { return len(appendRank(nil, order, nil, new(storage.Record))) }

// ascending is a number that is the greater the greater a score is; 0 for what is no score.
func ascending(score float64) uint64 {
	bits := math.Float64bits(score + 0) // not -0
	switch {
	case math.IsNaN(score):
		return 0
	case bits>>63 == 1:
		return ^bits
	}
	return bits | 1<<63
}

// RankPages returns the numbers of pages in the order in which dedup prefers them.
func RankPages(order []DedupKey, keys []urlkey.Key, records []storage.Record) []int {
	ranked, ranks := make([]int, len(keys)), make([][]byte, len(keys))
	for i, key := range keys {
		ranked[i], ranks[i] = i, append(appendRank(nil, order, []byte(key), &records[i]), key...)
	}
	slices.SortFunc(ranked, func(i, j int) int { return bytes.Compare(ranks[i], ranks[j]) })
	return ranked
}

// schemeRank is 0 for https and 1 for http.
func schemeRank(key []byte) byte {
	if urlkey.SchemeOf(key) == "https" {
		return 0
	}
	return 1
}
