// SPDX-License-Identifier: Apache-2.0

package index

import (
	"encoding/binary"
	"fmt"
	"math/bits"

	"github.com/zeebo/xxh3"

	"github.com/seine-crawler/seine/storage"
)

// keyFilter says which rows of terms and of forms an index segment may have. While a crawl runs there are dozens of
// small index segments beside a large one, and most of the words of a query are in few of them: to find out that a row
// is not there, Pebble opens an iterator for each level, 10 to 20 µs, and that was more than a third of the processor
// time of searches beside a crawl. The filter takes some nanoseconds.
//
// It is a split block Bloom filter (F. Putze, P. Sanders, J. Singler, "Cache-, Hash- and Space-Efficient Bloom
// Filters", 2007; the variant is that of Apache Parquet's BloomFilter.md, with its salts): the upper half of a key's
// hash chooses a block of eight words, the lower one a bit in each. With filterBits bits a key, one of some 100 rows
// that are not there is looked for in vain.
//
// Only segments of at most filterKeys keys have one, so that all of them are in memory; a search asks a large segment
// for few rows that it lacks. One that was written before there were filters has none either.
type keyFilter []byte

const (
	filterKeys  = 1 << 18
	filterBits  = 10
	filterBlock = 32 // bytes
)

var filterSalts = [8]uint32{
	0x47b6137b, 0x44974d91, 0x8824ad5b, 0xa2b7289d, 0x705495c7, 0x2df1424b, 0x9efc4947, 0x5c6bfb31,
}

func filterHash(kind byte, key []byte) uint64 { return xxh3.HashSeed(key, uint64(kind)) }

// place returns the block of a hash, and the bit of each of its words.
func (f keyFilter) place(hash uint64) (block []byte, masks [8]uint32) {
	n, _ := bits.Mul64(hash>>32<<32, uint64(len(f)/filterBlock))
	for i, salt := range filterSalts {
		masks[i] = 1 << (uint32(hash) * salt >> 27)
	}
	return f[n*filterBlock:][:filterBlock], masks
}

func (f keyFilter) add(hash uint64) {
	block, masks := f.place(hash)
	for i, m := range masks {
		word := block[4*i:][:4]
		binary.LittleEndian.PutUint32(word, binary.LittleEndian.Uint32(word)|m)
	}
}

// mayHave reports whether the segment may have a row of a kind under a key: of a row that it has always true.
func (f keyFilter) mayHave(kind byte, key []byte) bool {
	if len(f) == 0 || kind != kindTerms && kind != kindForms {
		return true
	}
	block, masks := f.place(filterHash(kind, key))
	for i, m := range masks {
		if binary.LittleEndian.Uint32(block[4*i:])&m == 0 {
			return false
		}
	}
	return true
}

// loadFilter reads the segment's filter, if it has one.
func (seg *segment) loadFilter(rd storage.Reader) error {
	v, _, err := rd.Get(storage.IndexSegmentRange(seg.number, kindFilter), nil, nil)
	if err == nil && len(v)%filterBlock > 0 {
		err = fmt.Errorf("%w: filter of index segment %d has %d bytes", storage.ErrCorrupt, seg.number, len(v))
	}
	seg.filter = v
	return err
}

// filterWriter collects the keys of the index segment under construction for its filter.
type filterWriter struct {
	hashes []uint64
	over   bool // there are too many
}

func (w *filterWriter) add(kind byte, key []byte) {
	if w.over = w.over || len(w.hashes) == filterKeys; w.over {
		w.hashes = nil
		return
	}
	w.hashes = append(w.hashes, filterHash(kind, key))
}

// writeFilter writes the filter of the terms and forms, after all of them.
func (w *docWriter) writeFilter() error {
	hashes := w.filter.hashes
	if len(hashes) == 0 {
		return nil
	}
	f := make(keyFilter, (len(hashes)*filterBits/8/filterBlock+1)*filterBlock)
	for _, hash := range hashes {
		f.add(hash)
	}
	return w.table(kindFilter).Set(nil, f)
}
