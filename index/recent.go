// SPDX-License-Identifier: Apache-2.0

package index

import (
	"sync"

	"github.com/seine-crawler/seine/storage"
)

// recent keeps values that were used lately, in two generations of at most most units: what is used survives. Safe for
// concurrent use; the zero value keeps nothing.
type recent[V any] struct {
	mu       sync.Mutex
	most     int64 // units of a generation
	size     int64 // of now
	now, old map[string]kept[V]
}

type kept[V any] struct {
	key   string
	value V
	size  int64
}

func (r *recent[V]) get(key string) (v V, ok bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	k, ok := r.now[key]
	if !ok {
		if k, ok = r.old[key]; ok {
			r.put(k)
		}
	}
	return k.value, ok
}

// add keeps a value of a size. One that is too large a part of a generation is not kept.
func (r *recent[V]) add(key string, v V, size int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if size <= r.most/recentPart {
		r.put(kept[V]{key, v, size})
	}
}

// recentPart is the part of a generation that one value may be: a sixteenth.
const recentPart = 16

func (r *recent[V]) put(k kept[V]) {
	more := k.size - r.now[k.key].size // that is 0 if now has none
	if r.now == nil || r.size+more > r.most {
		r.old, r.now, r.size, more = r.now, map[string]kept[V]{}, 0, k.size
	}
	r.now[k.key] = k
	r.size += more
}

// limit sets the units of a generation.
func (r *recent[V]) limit(most int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.most = most
}

// storedValue is what the store has under a key: index segments never change, so it stays true.
type storedValue struct {
	b  []byte
	ok bool
}

const (
	// recentShare is the part of Options.MemoryBytes that values of index segments which searches read by key may need:
	// an eighth, both generations together.
	recentShare = 8
	// recentBytes is about what a value that is kept costs beside its key and its bytes.
	recentBytes = 160
)

// get looks up a key of the segment's ranges. The value must not be changed: others have it too. It is for rows and
// keys, which searches read again and again: finding one in Pebble takes some 3 µs, here a tenth of one.
func (seg *segment) get(rd storage.Reader, kind byte, key []byte) (value []byte, ok bool, err error) {
	if !seg.filter.mayHave(kind, key) {
		return nil, false, nil
	}
	var memory [64]byte
	name := append(append(memory[:0], kind), key...)
	if v, ok := seg.values.get(string(name)); ok {
		return v.b, v.ok, nil
	}
	v := storedValue{}
	if v.b, v.ok, err = rd.Get(storage.IndexSegmentRange(seg.number, kind), key, nil); err != nil {
		return nil, false, err
	}
	seg.values.add(string(name), v, int64(len(name)+cap(v.b)+recentBytes))
	return v.b, v.ok, nil
}

// share sets what each segment of a state may keep: its part of the documents.
func (st *state) share(memory int64) {
	docs := int64(1)
	for _, seg := range st.segments {
		docs += int64(seg.info.Docs)
	}
	for _, seg := range st.segments {
		seg.values.limit(int64(float64(memory/recentShare/2) * float64(seg.info.Docs) / float64(docs)))
	}
}
