// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"bytes"
	"container/list"
	"sync"

	"github.com/klauspost/compress/s2"
)

// Answers keeps what was made of searches, such as pages of hits, until the index changes, or the groups of
// near-duplicates do: half of what a search engine is asked was asked before (Baeza-Yates and others, "The Impact of
// Caching on Search Engines", SIGIR 2007). It holds 2% of Options.Memory at most, 12% while nothing is crawled, and
// drops first what nobody requested for longest. What it keeps is compressed: pages of hits take a third to a quarter
// then. Any goroutine may call its methods.
type Answers struct {
	generation func() uint64 // of the index and the groups

	mu    sync.Mutex
	limit int64
	at    uint64 // generation that the answers are of
	used  int64
	order list.List // of keptAnswer, the one that was requested last in front
	byKey map[string]*list.Element
}

type keptAnswer struct {
	key   string
	value []byte // compressed
}

// size is what an answer takes, with an element of the list and of the map.
func (a *keptAnswer) size() int64 { return int64(len(a.key)+len(a.value)) + answerBytes }

// answerBytes is what an answer takes beside its key and its value. A single one takes a part of the memory at most.
const (
	answerBytes = 200
	answerPart  = 16
)

func newAnswers(limit int64, generation func() uint64) *Answers {
	return &Answers{limit: limit, generation: generation, byKey: map[string]*list.Element{}}
}

// Index says what the index is: a number that grows with each change of it and of the groups.
func (a *Answers) Index() uint64 { return a.generation() }

// Get returns what was kept under a key. Without it, at says what the index is, for the Put of what is found after this
// call.
func (a *Answers) Get(key string) (value []byte, at uint64, ok bool) {
	now := a.generation()
	packed := a.find(key, now)
	if packed == nil {
		return nil, now, false
	}
	value, err := s2.Decode(nil, packed)
	if err != nil {
		panic("BUG: a kept answer cannot be decompressed: " + err.Error())
	}
	return value, now, true
}

// find returns what is kept, compressed; nil: nothing.
func (a *Answers) find(key string, now uint64) []byte {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.move(now)
	element := a.byKey[key]
	if element == nil || a.at != now {
		return nil
	}
	a.order.MoveToFront(element)
	return element.Value.(*keptAnswer).value
}

// Put keeps a value under a key, unless the index has changed since the Get that said at. What depends on more than the
// key and the index must not be kept.
func (a *Answers) Put(key string, at uint64, value []byte) {
	k := &keptAnswer{key, bytes.Clone(s2.Encode(nil, value))}
	now := a.generation()
	a.mu.Lock()
	defer a.mu.Unlock()
	a.move(now)
	if at != a.at || a.byKey[key] != nil || k.size() > a.limit/answerPart {
		return
	}
	a.byKey[key] = a.order.PushFront(k)
	a.used += k.size()
	a.shrink()
}

// shrink drops what is beyond the limit.
func (a *Answers) shrink() {
	for a.used > a.limit {
		last := a.order.Back()
		old := a.order.Remove(last).(*keptAnswer)
		delete(a.byKey, old.key)
		a.used -= old.size()
	}
}

// resize changes the limit.
func (a *Answers) resize(limit int64) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.limit = limit
	a.shrink()
}

// move drops all answers of an earlier generation. Generations only grow: another call may have seen a later one.
func (a *Answers) move(now uint64) {
	if now <= a.at {
		return
	}
	a.at, a.used = now, 0
	a.order.Init()
	clear(a.byKey)
}

// Bytes returns what the answers take, and what they may take.
func (a *Answers) Bytes() (used, limit int64) {
	now := a.generation()
	a.mu.Lock()
	defer a.mu.Unlock()
	a.move(now)
	return a.used, a.limit
}
