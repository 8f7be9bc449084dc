// SPDX-License-Identifier: Apache-2.0

package frontier

import (
	"context"
	"errors"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/seine-crawler/seine/storage/urlkey"
)

// slowSource holds up its first refill until it is released.
type slowSource struct {
	nothing
	calls            chan struct{}
	entered, release chan struct{}
}

func (s slowSource) Refill(context.Context, urlkey.HostKey, int) (Refill, error) {
	s.calls <- struct{}{}
	s.entered <- struct{}{}
	<-s.release
	return Refill{}, nil
}

// TestWakeDuringRefill: what a host got while it was refilled is not overlooked: it is refilled once more.
func TestWakeDuringRefill(t *testing.T) {
	const host = urlkey.HostKey("example,h0,)")
	s := slowSource{calls: make(chan struct{}, 9), entered: make(chan struct{}, 9), release: make(chan struct{})}
	f, err := New(Options{Source: s})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(f.Close)
	f.Wake(host)
	<-s.entered
	f.Wake(host)
	f.await(t, "the wake", func(st Stats) bool { return st.Pending == 0 && st.Refilling == 1 })
	close(s.release)
	f.await(t, "the end", func(st Stats) bool { return st.Pending == 0 && st.Refilling == 0 })
	if n := len(s.calls); n != 2 {
		t.Errorf("%d refills, want 2", n)
	}
}

// trickle is a source with twelve URLs of a host at first, and one more at each call.
type trickle struct {
	nothing
	calls *atomic.Int64
}

func (s trickle) Refill(context.Context, urlkey.HostKey, int) (Refill, error) {
	n := 12
	if s.calls.Add(1) > 1 {
		n = 1
	}
	return Refill{URLs: slices.Repeat([]Candidate{{Rest: "/"}}, n)}, nil
}

// TestRefillOfFew: a host that is woken is not refilled before three quarters of what it held are visited, and is then,
// while it has URLs.
func TestRefillOfFew(t *testing.T) {
	const host = urlkey.HostKey("example,h0,)")
	s := trickle{calls: new(atomic.Int64)}
	f := start(t, Options{Source: s, Delay: time.Millisecond}, 1)
	settled := func(st Stats) bool { return st.Pending == 0 && st.Refilling == 0 }
	for left := 11; left >= 3; left-- {
		v, err := f.Next(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		f.Wake(host) // with a visit in flight, so that no other is made meanwhile
		f.await(t, "the wake", settled)
		if refilled := s.calls.Load() > 1; refilled != (left == 3) {
			t.Fatalf("refilled: %t, with %d of 12 URLs left", refilled, left)
		}
		f.Done(v, Outcome{})
	}
}

// failing is a source that fails from its second refill on.
type failing struct {
	nothing
	calls *int
}

func (s failing) Refill(context.Context, urlkey.HostKey, int) (Refill, error) {
	if *s.calls++; *s.calls > 1 {
		return Refill{}, errors.New("a refill that fails")
	}
	return Refill{Delay: 7 * time.Second, Priority: 0.5, HostLimit: Cost{URLs: 9}}, nil
}

// TestRefillFails: a refill that fails says nothing of the host's delay, priority and budgets.
func TestRefillFails(t *testing.T) {
	const host = urlkey.HostKey("example,h0,)")
	failed := 0
	f := start(t, Options{
		Source: failing{calls: new(int)}, Refillers: 1, OnError: func(urlkey.HostKey, error) { failed++ },
	}, 1)
	f.Wake(host)
	f.await(t, "the refill", func(s Stats) bool { return s.Pending == 0 && s.Refilling == 0 })
	v := f.names.find(host)
	s := v.shard.Load()
	s.mu.Lock()
	defer s.mu.Unlock()
	v.wakes.Add(-1)
	if delay := s.pace.least(v); failed != 1 || delay != 7*time.Second || v.priority != 0.5 || v.budget == nil {
		t.Errorf("after %d failures: delay %s, priority %g, budget %v", failed, delay, v.priority, v.budget)
	}
}
