// SPDX-License-Identifier: Apache-2.0

package storage

import (
	"slices"
	"sync"

	"github.com/klauspost/compress/zstd"
)

// Texts are compressed one by one, as frames of zstd, and not in blocks of several: a search reads ten of a million,
// and what it reads beside them is in vain. A text of 1 KB is decoded in 5 µs; in a block of 24 KB it took 100, of
// which half is what Pebble pays for a new decoder for each block: 46 KB of memory. In return texts take 1.2 times as
// much where they have 1 KB, 1.35 times where they have 5 KB and neighbours share much; a store of 10,000 pages of
// simweb takes 9% more, and 5.6% with its WARC files. The first level takes a fifth less time than the third, and 2 to
// 5% more room (2026-11-29).

const (
	// packedLeast is the least size that is compressed: a frame of less does not say what is in it.
	packedLeast = 256
	// packedWindow bounds how far back a frame refers, and with it the memory of an encoder.
	packedWindow = 256 << 10
	// packedBlock is how much a frame's block may hold, and packedHead how many bytes a block has at least: RFC 8878,
	// section 3.1.1.2. So the size of a frame bounds what may be in it.
	packedBlock = 128 << 10
	packedHead  = 3
)

// packEncoder and unpackDecoder are safe for concurrent use; each of as many goroutines as there are processors has its
// own state in them.
var (
	packEncoder = sync.OnceValue(func() *zstd.Encoder {
		e, err := zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderCRC(false),
			zstd.WithWindowSize(packedWindow), zstd.WithLowerEncoderMem(true))
		if err != nil {
			panic("BUG: storage: options of zstd: " + err.Error())
		}
		return e
	})
	unpackDecoder = sync.OnceValue(func() *zstd.Decoder {
		d, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(0), zstd.WithDecoderLowmem(true))
		if err != nil {
			panic("BUG: storage: options of zstd: " + err.Error())
		}
		return d
	})
)

// pack compresses what dst has from a place on, unless that makes it no smaller.
func pack(dst []byte, from int) []byte {
	size := len(dst) - from
	if size < packedLeast {
		return dst
	}
	dst = slices.Grow(dst, size+packedLeast) // so that the encoder appends in the same memory, which callers use again
	frame := packEncoder().EncodeAll(dst[from:], dst[len(dst):])
	if len(frame) >= size {
		return dst
	}
	return append(dst[:from], frame...)
}

// unpack returns what pack made a frame of, behind some bytes that the caller fills in, which count in the size that is
// known; false if pack did not make it.
func unpack(frame []byte, before, size uint64) ([]byte, bool) {
	var h zstd.Header
	if err := h.Decode(frame); err != nil || !h.HasFCS || h.FrameContentSize != size-before ||
		size/packedBlock > uint64(len(frame))/packedHead {
		return nil, false
	}
	b, err := unpackDecoder().DecodeAll(frame, make([]byte, before, size))
	return b, err == nil && uint64(len(b)) == size
}
