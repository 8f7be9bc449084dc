// SPDX-License-Identifier: Apache-2.0

package frontier

import (
	"context"
	"net/netip"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// TestPostLate: a shard that soon wakes is not woken for a visit that can wait, but for anything that comes after it.
// One that sleeps, or is at work, is woken for both.
func TestPostLate(t *testing.T) {
	t.Parallel()
	const now = moment(1000 * time.Second)
	for name, c := range map[string]struct {
		wakes moment
		woken bool
	}{
		"soon":       {now.add(patience), false},
		"not soon":   {now.add(patience + 1), true},
		"overdue":    {now, true},
		"at work":    {0, true},
		"in an hour": {now.add(time.Hour), true},
	} {
		s := &shard{wakeup: make(chan struct{}, 1)}
		s.wakes.Store(int64(c.wakes))
		s.postLate(&event{}, now)
		if woken := len(s.wakeup) > 0; woken != c.woken {
			t.Errorf("%s: woken: %t, want %t", name, woken, c.woken)
		}
		s.post(&event{})
		if len(s.wakeup) == 0 {
			t.Errorf("%s: not woken for what is not late", name)
		}
	}
}

// TestPatience: nothing that a shard learns late is left lying: each host has its next visit when the last has ended,
// whatever the shards do meanwhile.
func TestPatience(t *testing.T) {
	t.Parallel()
	const hosts, each = 50, 4
	f := start(t, Options{Source: sites{each: each}, Delay: patientDelay, Shards: 2}, hosts)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	var wg sync.WaitGroup
	var late, left atomic.Int64
	left.Store(hosts * each)
	for range 8 {
		wg.Go(func() {
			for left.Add(-1) >= 0 {
				v, err := f.Next(ctx)
				if err != nil {
					t.Error(err)
					return
				}
				if v.patient {
					late.Add(1)
				}
				f.Done(v, Outcome{Kind: Fetched})
			}
		})
	}
	wg.Wait()
	if late.Load() != hosts*each {
		t.Errorf("%d of %d visits may be learned of late", late.Load(), hosts*each)
	}
}

// TestImpatience: a visit is not learned of late that holds up another.
func TestImpatience(t *testing.T) {
	t.Parallel()
	apart := sites{each: 2}
	same := sites{each: 2, more: func(_ int, r *Refill) { r.Addr = netip.AddrFrom4([4]byte{10, 0, 0, 1}) }}
	for name, c := range map[string]struct {
		o       Options
		patient bool
	}{
		"addresses of their own":   {Options{Source: apart, Delay: patientDelay, AddressDelay: -1}, true},
		"one address with a delay": {Options{Source: same, Delay: patientDelay}, true},
		"one without":              {Options{Source: same, Delay: time.Hour, AddressDelay: -1}, false},
		"a short delay":            {Options{Source: apart, Delay: patientDelay - 1}, false},
		"several at once":          {Options{Source: apart, Delay: time.Hour, PerHost: 2}, false},
	} {
		f := start(t, c.o, 2)
		var patient bool
		for range 2 { // the first may have been ready before the other host was known
			v, err := f.Next(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			patient = v.patient
			f.Done(v, Outcome{Kind: Fetched})
		}
		if patient != c.patient {
			t.Errorf("%s: %t, want %t", name, patient, c.patient)
		}
	}
}
