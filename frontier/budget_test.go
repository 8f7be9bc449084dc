// SPDX-License-Identifier: Apache-2.0

package frontier

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/seine-crawler/seine/storage/urlkey"
)

// TestDomainLearns: hosts of a domain on several shards spend no more than its budget, whoever of them learns first
// what earlier processes have spent.
func TestDomainLearns(t *testing.T) {
	const limit, before, shards = 100, 90, 4
	for range 50_000 {
		var d domain
		var spent atomic.Int64
		var start, done sync.WaitGroup
		start.Add(1)
		for range shards {
			done.Go(func() {
				start.Wait()
				d.learn(Cost{URLs: before}, &Cost{URLs: limit})
				spent.Add(int64(d.spend(limit)))
			})
		}
		start.Done()
		done.Wait()
		if n := spent.Load(); n != limit-before {
			t.Fatalf("%d URLs were handed out, want %d", n, limit-before)
		}
	}
}

// mixed is a source with URLs of a host that are counted ("c") or new ("n"), and its budget. Once they are gone it has
// nothing but new ones, which it leaves out.
type mixed struct {
	nothing
	urls   string
	refill Refill
	calls  *atomic.Int64
}

func (s mixed) Refill(context.Context, urlkey.HostKey, int) (Refill, error) {
	r := s.refill
	if s.calls.Add(1) > 1 {
		r.Spent = true
		return r, nil
	}
	for _, kind := range s.urls {
		r.URLs = append(r.URLs, Candidate{Rest: string(kind), Counted: kind == 'c'})
	}
	return r, nil
}

// TestCounted: what was requested before takes nothing of a budget of URLs, of a host or of a domain, whether a visit
// has one URL or several, and is visited also when nothing is left of it. What is new goes back to the source then, and
// the frontier asks again later.
func TestCounted(t *testing.T) {
	const used = 3
	for _, c := range []struct {
		urls    string
		left    int64
		visited string
		dropped int
	}{
		{"ncnc", 0, "cc", 2},
		{"ncnc", 1, "ncc", 1},
		{"cnnc", 1, "cnc", 1},
		{"ccnn", 2, "ccnn", 0},
		{"cccc", 0, "cccc", 0},
		{"nn", 0, "", 2},
	} {
		for _, ofDomain := range []bool{false, true} {
			for _, delay := range []time.Duration{-1, time.Millisecond} {
				got, dropped, over := visitMixed(t, c.urls, used, c.left, ofDomain, delay)
				if got != c.visited || dropped != c.dropped || over == 0 {
					t.Errorf("%s, %d left, domain %t, delay %s: visited %s, %d dropped, %d times over",
						c.urls, c.left, ofDomain, delay, got, dropped, over)
				}
			}
		}
	}
}

// visitMixed visits what a budget of URLs allows of a host, of which some are used and some are left. The first visit
// gives its last URL back, if it has several.
func visitMixed(
	t *testing.T, urls string, used, left int64, ofDomain bool, delay time.Duration,
) (visited string, dropped int, over uint64) {
	t.Helper()
	limit, spent := Cost{URLs: used + left}, Cost{URLs: used}
	r := Refill{HostLimit: limit, HostUsed: spent}
	if ofDomain {
		r = Refill{DomainLimit: limit, DomainUsed: spent}
	}
	var back atomic.Int64
	f := start(t, Options{
		Source: mixed{urls: urls, refill: r, calls: new(atomic.Int64)}, Delay: delay, AddressDelay: -1,
		OnDrop: func(_ urlkey.HostKey, c []Candidate) { back.Add(int64(len(c))) },
	}, 1)
	for first := true; ; first = false {
		f.await(t, "a visit or the end", func(s Stats) bool {
			return s.Pending == 0 && s.Refilling == 0 && (s.Ready > 0 || s.Queued == 0)
		})
		if f.Stats().Ready == 0 {
			break
		}
		v, err := f.Next(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		var out Outcome
		if first && len(v.URLs) > 1 {
			out.Left = 1
		}
		for _, c := range v.URLs[:len(v.URLs)-int(out.Left)] {
			visited += c.Rest
		}
		f.Done(v, out)
	}
	f.Wake("example,h0,)")
	f.await(t, "the last refill", func(s Stats) bool { return s.Pending == 0 && s.Refilling == 0 })
	if n := f.Stats().Queued; n > 0 {
		t.Errorf("%d URLs are still queued", n)
	}
	for began := time.Now(); int(back.Load())+len(visited) < len(urls) && time.Since(began) < time.Minute; {
		time.Sleep(time.Millisecond)
	}
	return visited, int(back.Load()), f.Stats().OverSpent
}
