// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"bytes"
	"testing"
	"time"

	"github.com/seine-crawler/seine/engine/fetch"
	"github.com/seine-crawler/seine/engine/internal/segment"
)

// TestDeliveryMemory: pages that wait for OnPage or are with it take no more than their share of memory; a page that
// takes more than all of it has it alone.
func TestDeliveryMemory(t *testing.T) {
	const share = 5 << 20
	for _, c := range []struct{ body, most int }{{2 << 20, 2}, {1 << 20, 4}, {100, 16}, {9 << 20, 1}} {
		var d deliveries
		let := make(chan struct{})
		deliver := d.callback(func(p *Page) {
			if len(p.Body) != c.body {
				t.Errorf("a body of %d bytes, want %d", len(p.Body), c.body)
			}
			<-let
		}, 8, share)
		pool := d.start()
		came := make(chan struct{}, 16)
		for range 16 {
			go func() {
				r, err := fetch.StoredResponse([]byte("HTTP/1.1 200 OK\r\n\r\n"), bytes.Repeat([]byte("x"), c.body), "")
				if err != nil {
					t.Error(err)
					return
				}
				defer r.Release()
				deliver(&segment.Attempt{Response: r}, new(segment.Scratch))
				came <- struct{}{}
			}()
		}
		for range c.most {
			<-came
		}
		time.Sleep(10 * time.Millisecond)
		if n := len(came); n > 0 {
			t.Errorf("%d pages of %d bytes, of a share of %d", c.most+n, c.body, share)
		}
		close(let)
		for range 16 - c.most {
			<-came
		}
		pool.end()
		if !d.room.TryAcquire(share) {
			t.Errorf("pages of %d bytes: some of the share is not given back", c.body)
		}
	}
}
