// SPDX-License-Identifier: Apache-2.0

package index_test

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"

	"github.com/seine-crawler/seine/index"
)

// countdown is a context that is canceled when it was looked at some times.
type countdown struct {
	context.Context
	left atomic.Int64
}

func (c *countdown) Err() error {
	if c.left.Add(-1) < 0 {
		return context.Canceled
	}
	return nil
}

// TestContextEnds: a context that ends at any step of a search ends it with the context's error: what is returned
// without one is whole.
func TestContextEnds(t *testing.T) {
	s, x := newStore(t)
	var docs []index.Document
	for i := range 60 {
		docs = append(docs, doc(i, "Nets", fmt.Sprintf("net %d mended in the harbour", i)))
	}
	put(t, s, x, docs)
	for _, explain := range []bool{false, true} {
		ended := 0
		for looks := int64(0); ; looks++ {
			c := &countdown{Context: context.Background()}
			c.left.Store(looks)
			r, err := x.Search(c, "net harbour", index.SearchOptions{
				Limit: 50, Deadline: 1e12, Near: true, Explain: explain,
			})
			if err != nil {
				if ended++; !errors.Is(err, context.Canceled) {
					t.Fatal(err)
				}
				continue
			}
			if len(r.Hits) != 50 || r.Partial || explain && r.Hits[49].Explanation == nil {
				t.Errorf("after %d looks: %d hits, partial %t, no error", looks, len(r.Hits), r.Partial)
			}
			if c.left.Load() >= 0 { // it did not end before the search did
				break
			}
		}
		if ended < 3 {
			t.Errorf("the context ended only %d searches", ended)
		}
	}
}
