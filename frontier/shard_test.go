// SPDX-License-Identifier: Apache-2.0

package frontier

import (
	"testing"
	"time"

	"github.com/seine-crawler/seine/storage/urlkey"
)

// TestResume: after a restart every host first waits its whole delay, its own if it has one, and every address that of
// addresses.
func TestResume(t *testing.T) {
	var c clockAt
	f := start(t, Options{
		Resume: true, Delay: 2 * time.Second, AddressDelay: 5 * time.Second, Shards: 2, Now: c.now,
		Source: sites{each: 3, more: func(i int, r *Refill) { r.Delay = []time.Duration{0, 10 * time.Second, -1}[i] }},
	}, 3)
	for i, h := range []urlkey.HostKey{"example,h0,)", "example,h1,)", "example,h2,)"} {
		v := f.names.find(h)
		v.wakes.Add(-1)
		s := v.shard.Load()
		s.mu.Lock()
		own := []time.Duration{2 * time.Second, 10 * time.Second, 0}[i]
		if v.place != waiting || v.next < s.began.add(own) || v.addr.next != s.began.add(5*time.Second) {
			t.Errorf("%s is %s until %d, its address rests until %d; began at %d",
				h, v.place, v.next, v.addr.next, s.began)
		}
		s.mu.Unlock()
	}
	if st := f.Stats(); st.Visits != 0 {
		t.Errorf("visits were made: %+v", st)
	}
}

// clockAt stands still.
type clockAt struct{}

func (clockAt) now() time.Time { return time.Unix(1_700_000_000, 0) }
