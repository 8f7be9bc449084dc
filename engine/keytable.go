// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"bytes"
	"sync"
)

// keyTable numbers distinct keys in the order of their first coming: 0, 1, 2… What a phase says about
// a key it keeps in a slice of its own, by number. Nine of ten links of a segment lead to a target that
// was there before, so folding them here leaves the sorters a tenth of the work, which is of another
// kind too: a lookup in a table in place of seventeen comparisons of keys.
//
//	slots    hash's high half | number+1      open addressing, linear probing, at most half full
//	entries  hash, place in keys
//	keys     the bytes, end to end
//
// It holds no pointers for the collector to follow. One goroutine.
type keyTable struct {
	slots   []uint64
	entries []keyEntry
	keys    []byte
}

type keyEntry struct {
	hash     uint64
	from, to uint32
}

// keyTableFull is the size of keys at which a table must be emptied, whatever memory there is.
const keyTableFull = 1 << 30

const firstKeySlots = 1 << 10

// number returns the number of a key whose hash is given, and whether it is new.
func (t *keyTable) number(hash uint64, key []byte) (n int, fresh bool) {
	if 2*len(t.entries) >= len(t.slots) {
		t.grow()
	}
	mask := uint64(len(t.slots) - 1)
	tag := hash &^ (1<<32 - 1)
	i := hash & mask
	for ; t.slots[i] != 0; i = (i + 1) & mask {
		if s := t.slots[i]; s&^(1<<32-1) == tag {
			n := int(uint32(s)) - 1
			if e := &t.entries[n]; e.hash == hash && bytes.Equal(t.keys[e.from:e.to], key) {
				return n, false
			}
		}
	}
	from := len(t.keys)
	t.keys = append(t.keys, key...)
	t.entries = append(t.entries, keyEntry{hash, uint32(from), uint32(len(t.keys))})
	t.slots[i] = tag | uint64(len(t.entries))
	return len(t.entries) - 1, true
}

// grow doubles the slots.
func (t *keyTable) grow() {
	size := max(2*len(t.slots), firstKeySlots)
	if cap(t.slots) >= size {
		t.slots = t.slots[:size]
		clear(t.slots)
	} else {
		t.slots = make([]uint64, size)
	}
	mask := uint64(size - 1)
	for n := range t.entries {
		i := t.entries[n].hash & mask
		for t.slots[i] != 0 {
			i = (i + 1) & mask
		}
		t.slots[i] = t.entries[n].hash&^(1<<32-1) | uint64(n+1)
	}
}

// key returns the key of a number, until the next call of number or reset.
func (t *keyTable) key(n int) []byte {
	e := &t.entries[n]
	return t.keys[e.from:e.to:e.to]
}

// bytes is the memory in use.
func (t *keyTable) bytes() int64 {
	return int64(8*len(t.slots) + 16*len(t.entries) + len(t.keys))
}

// full reports whether the table must be emptied, limit being the memory for it.
func (t *keyTable) full(limit int64) bool { return len(t.keys) >= keyTableFull || t.bytes() >= limit }

// reset forgets all keys and keeps the memory: what comes next is likely to be as much.
func (t *keyTable) reset() {
	size := firstKeySlots
	for size < 2*len(t.entries) {
		size *= 2
	}
	t.slots = t.slots[:min(size, len(t.slots))]
	clear(t.slots)
	t.entries, t.keys = t.entries[:0], t.keys[:0]
}

// spare keeps what a phase would have to grow anew, a quarter of its work, from one run to the next. (A
// sync.Pool would lose it at each collection of garbage, of which there are several between two runs.)
type spare[T any] struct {
	mu   sync.Mutex
	kept T
	ok   bool
}

func (s *spare[T]) take() (v T, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	v, ok = s.kept, s.ok
	var none T
	s.kept, s.ok = none, false
	return v, ok
}

func (s *spare[T]) put(v T) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.kept, s.ok = v, true
}
