// SPDX-License-Identifier: Apache-2.0

package phases

import (
	"bytes"
	"encoding/binary"
)

// dedupMark is the mark of a dedup of all pages, by what it decided and what it found:
//
//	uvarint   number of groups
//	'=', '~'  equal pages only, or near-duplicates too
//	          the order, a byte for each key
//	8 bytes   the rules of the live filters
const dedupMark = "dedup"

func appendDeduped(dst []byte, order []DedupKey, markNear bool, rules, groups uint64) []byte {
	dst = append(binary.AppendUvarint(dst, groups), '=')
	if markNear {
		dst[len(dst)-1] = '~'
	}
	for _, k := range order {
		dst = append(dst, byte(k))
	}
	return binary.LittleEndian.AppendUint64(dst, rules)
}

// deduped reports whether all pages were compared in that order, and nothing changed since then; and how many groups
// there are.
func (p *Phases) deduped(order []DedupKey, markNear bool, rules uint64) (groups uint64, settled bool, err error) {
	value, ok, err := p.env.Store.Mark(dedupMark)
	if err != nil || !ok {
		return 0, false, err
	}
	groups, n := binary.Uvarint(value)
	return groups, n > 0 && bytes.Equal(value, appendDeduped(nil, order, markNear, rules, groups)), nil
}
