// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
)

// TestAnswers: answers are kept within their bound, the ones that were requested last longest; none outlives the
// generation of the index that it was made of.
func TestAnswers(t *testing.T) {
	at := uint64(1)
	a := newAnswers(8<<10, func() uint64 { return at })
	noise := make([]byte, 8<<10) // cannot be compressed
	rand.NewChaCha8([32]byte{}).Read(noise)
	put := func(key string, bytes int) {
		_, made, ok := a.Get(key)
		if ok {
			t.Fatalf("%s is kept before it was put", key)
		}
		a.Put(key, made, noise[:bytes])
	}
	has := func(key string) bool { _, _, ok := a.Get(key); return ok }
	put("first", 100)
	for i := range 100 {
		put(fmt.Sprint(i), 100)
		if !has("first") {
			t.Fatalf("what is asked for all the time was dropped after %d others", i)
		}
		if used, limit := a.Bytes(); used > limit {
			t.Fatalf("%d bytes are kept, %d may be", used, limit)
		}
	}
	if has("0") || !has("99") {
		t.Error("the oldest was not dropped first")
	}
	put("large", 8<<10/answerPart)
	if has("large") {
		t.Error("one answer took too large a part")
	}
	_, made, _ := a.Get("late")
	at++ // the index changes while the answer is made
	a.Put("late", made, []byte("of before"))
	if has("late") || has("first") {
		t.Error("an answer outlived what it was made of")
	}
	if used, _ := a.Bytes(); used != 0 {
		t.Errorf("%d bytes are kept of an index that is no more", used)
	}
	a.Put("older", made, []byte("of before"))
	if has("older") {
		t.Error("an answer of an earlier index was kept")
	}
	_, made, _ = a.Get("page")
	page := []byte(strings.Repeat("<li>a hit</li>", 1000))
	a.Put("page", made, page)
	if value, _, ok := a.Get("page"); !ok || !bytes.Equal(value, page) {
		t.Errorf("what was put comes back as %d bytes, not %d (%t)", len(value), len(page), ok)
	}
	if used, _ := a.Bytes(); used > int64(len(page)/4) {
		t.Errorf("a page of %d bytes takes %d", len(page), used)
	}
	a.resize(0)
	if used, limit := a.Bytes(); used != 0 || limit != 0 || has("page") {
		t.Errorf("%d bytes are kept, %d may be", used, limit)
	}
}
