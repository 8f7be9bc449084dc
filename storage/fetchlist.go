// SPDX-License-Identifier: Apache-2.0

package storage

import "encoding/binary"

// FetchlistEntry is what generate records for one URL of a segment; the URL is the key.
type FetchlistEntry struct {
	Score float64 // of the crawldb record, at the time of generate
	Depth uint16  // links from a seed
}

// Layout of a FetchlistEntry: one byte, version 1 in the high half and the score's mode in the low
// half; the score (codec.go); uvarint depth.
//
// Example: score 1, depth 2
//
//	11 80 80 08 02
const fetchlistVersion = 1

// AppendFetchlistEntry appends the encoding of e to dst.
func AppendFetchlistEntry(dst []byte, e FetchlistEntry) []byte {
	mode := scoreMode(e.Score)
	dst = append(dst, fetchlistVersion<<4|byte(mode))
	dst = appendScore(dst, mode, e.Score)
	return binary.AppendUvarint(dst, uint64(e.Depth))
}

// DecodeFetchlistEntry decodes an entry. The error is ErrCorrupt if AppendFetchlistEntry did not make b.
func DecodeFetchlistEntry(b []byte) (FetchlistEntry, error) {
	d := decoder{b: b}
	head := d.byte()
	e := FetchlistEntry{Score: d.score(uint32(head & 0x0f)), Depth: d.uint16()}
	if !d.done() || head>>4 != fetchlistVersion {
		return FetchlistEntry{}, corrupt("fetchlist entry of %d bytes: % .32x", len(b), b)
	}
	return e, nil
}
