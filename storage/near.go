// SPDX-License-Identifier: Apache-2.0

package storage

import (
	"encoding/binary"
	"fmt"
	"math/bits"
)

// SimHash is a fingerprint of a page's prose, computed by package parse: near-duplicates differ in at most NearDistance
// bits. 0 means that there is none.
//
// The near ranges hold the fingerprints of crawldb and their groups: the connected components of the graph in which
// fingerprints at most NearDistance apart are neighbors. They are a function of crawldb alone, whatever the order in
// which pages came.
//
//	NearPages    fingerprint(8), URL key                 –         one for each record with Record.Near
//	NearChanged  fingerprint(8)                          –         gained or lost a page since groups were made, or
//	                                                               of a group whose pages are to be marked yet
//	NearTable    rotation(1), rotated fingerprint(8)     –         NearTables for each fingerprint
//	NearGroups   fingerprint(8)                          group(8)  of those that have neighbors
//	NearMembers  group(8), fingerprint(8)                –         the same, by group
//
// A group's number is its least fingerprint. A fingerprint without neighbors is a group of its own, of that number, and
// not in the last two.
//
// All pairs within three bits come from rotated tables (Manku, Jain and Das Sarma 2007, "Detecting near-duplicates for
// web crawling"): cut into four blocks of 16 bits, two such fingerprints agree in one block at least, which the
// rotation of one table puts first. The pigeonring principle (Qin and Xiao 2018) makes more of it: in one rotation the
// second block differs in at most one bit, and the third in at most two with it. So a search reads neighborhoods of 32
// bits, not of 16, with four tables where Manku and others take ten.
type SimHash uint64

// NearDistance is how many bits of near-duplicates may differ. NearTables is the number of rotated tables.
const (
	NearDistance = 3
	NearTables   = 4

	nearBlock = 64 / NearTables // bits
)

// Near reports whether two fingerprints are those of near-duplicates.
func (s SimHash) Near(t SimHash) bool { return bits.OnesCount64(uint64(s^t)) <= NearDistance }

// Rotated is the fingerprint as table n has it, 0 ≤ n < NearTables. Rotated(NearTables-n) of that is s again.
func (s SimHash) Rotated(n int) SimHash { return SimHash(bits.RotateLeft64(uint64(s), n*nearBlock)) }

// MayBeNear reports whether two fingerprints, as one table has them, agree in as much as the neighbors that this table
// finds: exactly in the first block, and in all but one bit of the second.
func (s SimHash) MayBeNear(t SimHash) bool {
	x := uint64(s ^ t)
	return x>>(64-nearBlock) == 0 && bits.OnesCount64(x>>(64-2*nearBlock)) <= 1
}

// Neighborhood is the part of a table that a fingerprint, as the table has it, belongs to: its first two blocks.
func (s SimHash) Neighborhood() uint32 { return uint32(s >> (64 - 2*nearBlock)) }

// Neighborhoods appends the least fingerprint of each part of a table that MayBeNear s, in ascending order.
func (s SimHash) Neighborhoods(dst []SimHash) []SimHash {
	const low = 64 - 2*nearBlock
	top := s >> low << low
	// Those with a set bit cleared are below top, the lowest for the highest bit; those with a clear bit set are above.
	for bit := nearBlock - 1; bit >= 0; bit-- {
		if b := SimHash(1) << (low + bit); top&b != 0 {
			dst = append(dst, top&^b)
		}
	}
	dst = append(dst, top)
	for bit := range nearBlock {
		if b := SimHash(1) << (low + bit); top&b == 0 {
			dst = append(dst, top|b)
		}
	}
	return dst
}

// Near is the fingerprint under which the near ranges have the record; 0: they do not. It is that of the newest
// content, as long as the page is there.
func (r *Record) Near() SimHash {
	switch r.Status {
	case StatusFetched, StatusNotModified, StatusDuplicate:
		return r.SimHash
	}
	return 0
}

// NearPages holds one empty value for each page with a fingerprint; see AppendNearPageKey.
func NearPages() Range { return plainRange(tagNear).kind('p') }

// NearChanged holds one empty value for each fingerprint that gained or lost a page since groups were made, and for at
// least one of each group whose pages are to be marked as duplicates yet.
func NearChanged() Range { return plainRange(tagNear).kind('c') }

// NearTable holds the fingerprints as one of NearTables tables has them.
func NearTable(n int) Range { return plainRange(tagNear).kind('t').kind(byte(n)) }

// NearGroups holds the group of each fingerprint that has neighbors.
func NearGroups() Range { return plainRange(tagNear).kind('g') }

// NearMembers holds the fingerprints of each group of several; see AppendNearMemberKey.
func NearMembers() Range { return plainRange(tagNear).kind('m') }

// nearName is the name of a near range.
func nearName(r Range) string {
	switch r.prefix[1] {
	case 'p':
		return "near pages"
	case 'c':
		return "near changed"
	case 't':
		return fmt.Sprintf("near table %d", r.prefix[2])
	case 'g':
		return "near groups"
	}
	return "near members"
}

// Append appends a fingerprint as a key or value of the near ranges, or the beginning of one.
func (s SimHash) Append(dst []byte) []byte { return binary.BigEndian.AppendUint64(dst, uint64(s)) }

// ReadSimHash reads what Append wrote. The error is ErrCorrupt.
func ReadSimHash(b []byte) (SimHash, error) {
	if len(b) != 8 {
		return 0, corrupt("fingerprint % x", b)
	}
	return SimHash(binary.BigEndian.Uint64(b)), nil
}

// AppendNearPageKey appends the relative key of a page under its fingerprint.
func AppendNearPageKey(dst []byte, s SimHash, key []byte) []byte {
	return append(s.Append(dst), key...)
}

// SplitNearPageKey takes a key of NearPages apart; page is a slice of key.
func SplitNearPageKey(key []byte) (s SimHash, page []byte, err error) {
	if len(key) <= 8 {
		return 0, nil, corrupt("near page key %q", key)
	}
	return SimHash(binary.BigEndian.Uint64(key)), key[8:], nil
}

// AppendNearMemberKey appends the relative key of a fingerprint under its group.
func AppendNearMemberKey(dst []byte, group, s SimHash) []byte { return s.Append(group.Append(dst)) }

// SplitNearMemberKey takes a key of NearMembers apart.
func SplitNearMemberKey(key []byte) (group, s SimHash, err error) {
	if len(key) != 16 {
		return 0, 0, corrupt("near member key % x", key)
	}
	return SimHash(binary.BigEndian.Uint64(key)), SimHash(binary.BigEndian.Uint64(key[8:])), nil
}

// NearGroup is the group of a fingerprint, which is itself if it has no neighbors, as of when groups were made last.
func (v *reads) NearGroup(s SimHash) (SimHash, error) {
	value, ok, err := v.Get(NearGroups(), s.Append(nil), nil)
	if err != nil || !ok {
		return s, err
	}
	return ReadSimHash(value)
}
