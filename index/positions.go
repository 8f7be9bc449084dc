// SPDX-License-Identifier: Apache-2.0

package index

// Positions are a stream of their own beside the blocks, so that only phrases and proximity read them. The positions
// of a block are numbers in groups of 128 (the last group may be shorter): for each document, for each field that it
// has, ascending, the first position and then the gaps. How many numbers a document has, its frequencies say. The
// groups are tight: positions are half of the index.

// freqMax bounds the occurrences of a term in one field of a document; later ones are not kept. It keeps a block's
// positions below storage's bound of a value.
const freqMax = 1 << 14

// appendPositions appends the numbers of a block.
func appendPositions(dst []byte, numbers []uint32) []byte {
	for len(numbers) > groupSize {
		dst = appendTightGroup(dst, numbers[:groupSize])
		numbers = numbers[groupSize:]
	}
	return appendTightGroup(dst, numbers)
}

// positionReader reads numbers of one block. Groups are decoded when they are first needed.
type positionReader struct {
	groups  [][]byte // encoded; nil once decoded
	numbers []uint32
}

// reset begins a block of count numbers, encoded as b.
func (r *positionReader) reset(b []byte, count uint64) error {
	r.groups = r.groups[:0]
	if count > uint64(len(b))*groupSize { // each group takes a byte
		return corruptPostings("positions")
	}
	for left := count; left > 0; {
		n := min(left, groupSize)
		size := groupBytes(b, int(n))
		if size == 0 {
			return corruptPostings("positions")
		}
		r.groups = append(r.groups, b[:size])
		b, left = b[size:], left-n
	}
	if len(b) > 0 {
		return corruptPostings("length of positions")
	}
	if uint64(cap(r.numbers)) < count {
		r.numbers = make([]uint32, count)
	}
	r.numbers = r.numbers[:count]
	return nil
}

// read returns count numbers from place from, valid until the next reset.
func (r *positionReader) read(from, count uint64) ([]uint32, error) {
	if from+count > uint64(len(r.numbers)) {
		return nil, corruptPostings("positions")
	}
	for g := from / groupSize; g*groupSize < from+count; g++ {
		if r.groups[g] == nil {
			continue
		}
		if _, ok := readGroup(r.groups[g], r.numbers[g*groupSize:min((g+1)*groupSize, uint64(len(r.numbers)))]); !ok {
			return nil, corruptPostings("positions")
		}
		r.groups[g] = nil
	}
	return r.numbers[from : from+count], nil
}
