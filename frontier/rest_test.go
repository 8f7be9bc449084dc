// SPDX-License-Identifier: Apache-2.0

package frontier

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seine-crawler/seine/storage/urlkey"
)

// restWorld is a source and its servers on a virtual clock. The host's name says how its server behaves: "dead" never
// answers, "busy" demands a pause of two hours each time, "dear" has no budget, "good" answers.
type restWorld struct {
	t     *testing.T
	each  int // URLs of a host
	hosts []urlkey.HostKey

	mu      sync.Mutex
	named   int
	left    map[urlkey.HostKey]int
	facts   map[urlkey.HostKey]HostState
	tried   map[urlkey.HostKey][]time.Time
	pages   int // of good hosts
	refills int
}

func newRestWorld(t *testing.T, each int, kinds map[string]int) *restWorld {
	w := &restWorld{t: t, each: each, left: map[urlkey.HostKey]int{}, facts: map[urlkey.HostKey]HostState{},
		tried: map[urlkey.HostKey][]time.Time{}}
	for _, kind := range []string{"busy", "dead", "dear", "good"} { // in this order they are named
		for i := range kinds[kind] {
			h := urlkey.HostKey(fmt.Sprintf("example,%s%d,)", kind, i))
			w.hosts, w.left[h] = append(w.hosts, h), each
		}
	}
	return w
}

func (w *restWorld) is(h urlkey.HostKey, kind string) bool { return strings.Contains(string(h), kind) }

func (w *restWorld) Refill(_ context.Context, h urlkey.HostKey, limit int) (Refill, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.refills++
	f := w.facts[h]
	r := Refill{NotBefore: f.NotBefore, Failures: f.Failures, Sleeps: f.Sleeps, Throttles: f.Throttles}
	if w.is(h, "dear") {
		r.HostLimit, r.HostUsed = Cost{URLs: 1}, Cost{URLs: 1}
	}
	for ; w.left[h] > 0 && len(r.URLs) < limit; w.left[h]-- {
		r.URLs = append(r.URLs, Candidate{Rest: "/"})
	}
	r.More = w.left[h] > 0
	return r, nil
}

func (w *restWorld) Hosts(_ context.Context, limit int) (hosts []urlkey.HostKey, _ error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for ; w.named < len(w.hosts) && len(hosts) < limit; w.named++ {
		if h := w.hosts[w.named]; w.left[h] > 0 {
			hosts = append(hosts, h)
		}
	}
	if len(hosts) == 0 {
		w.named = 0
	}
	return hosts, nil
}

func (w *restWorld) drop(h urlkey.HostKey, c []Candidate) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.left[h] += len(c)
}

func (w *restWorld) note(h urlkey.HostKey, s HostState) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.facts[h] = s
}

// fetch takes visits until the frontier is closed.
func (w *restWorld) fetch(f *Frontier) {
	for {
		v, err := f.Next(context.Background())
		if err != nil {
			return
		}
		time.Sleep(100 * time.Millisecond)
		w.mu.Lock()
		if not := w.facts[v.Host].NotBefore; time.Now().Before(not) {
			w.t.Errorf("%s is visited %s too early", v.Host, time.Until(not))
		}
		w.tried[v.Host] = append(w.tried[v.Host], time.Now())
		out := Outcome{Left: int32(len(v.URLs) - 1), ResponseTime: time.Millisecond}
		switch {
		case w.is(v.Host, "dead"):
			out.Kind, out.Left, out.RetryAfter = HostFailure, int32(len(v.URLs)), 2*time.Hour
		case w.is(v.Host, "busy"):
			out.Kind, out.Left, out.RetryAfter = Throttled, int32(len(v.URLs)), 2*time.Hour
		case w.is(v.Host, "dear"):
			w.t.Errorf("%s is visited beyond its budget", v.Host)
		default:
			w.pages++
		}
		w.mu.Unlock()
		f.Done(v, out)
	}
}

// TestRestingHosts: however many hosts must not be visited for long, the others have room, and each is visited again
// when its time has come. Stats counts those that were forgotten meanwhile.
func TestRestingHosts(t *testing.T) {
	const each = 20
	for name, kinds := range map[string]map[string]int{
		"asleep":      {"dead": 300, "good": 40},
		"throttled":   {"busy": 300, "good": 40},
		"over budget": {"dear": 300, "good": 40},
		"all":         {"dead": 100, "busy": 100, "dear": 100, "good": 40},
		"few":         {"dead": 10, "busy": 10, "good": 10},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newRestWorld(t, each, kinds)
				f, err := New(Options{Source: w, Delay: -1, AddressDelay: -1, MaxHosts: 256, MaxFailures: 1, Shards: 2,
					OnDrop: w.drop, OnHost: w.note})
				if err != nil {
					t.Fatal(err)
				}
				var wg sync.WaitGroup
				defer wg.Wait()
				defer f.Close()
				for range 8 {
					wg.Go(func() { w.fetch(f) })
				}
				f.WakeAll()
				time.Sleep(10 * time.Minute)
				synctest.Wait()
				s := f.Stats()
				if w.pages != kinds["good"]*each {
					t.Errorf("%d pages of %d good hosts: %+v", w.pages, kinds["good"], s)
				}
				if s.Asleep != kinds["dead"] || s.Throttled != kinds["busy"] || s.Soon() {
					t.Errorf("%d hosts are dead, %d throttled: %+v", kinds["dead"], kinds["busy"], s)
				}
				f.Wake(w.hosts...) // is not needed, and changes nothing
				time.Sleep(2*time.Hour + 2*time.Minute - 10*time.Minute)
				synctest.Wait()
				for _, h := range w.hosts {
					again := w.is(h, "dead") || w.is(h, "busy")
					if n := len(w.tried[h]); again && n != 2 {
						t.Errorf("%s was visited %d times in two hours", h, n)
					}
				}
				if s := f.Stats(); s.Asleep != kinds["dead"] || s.Throttled != kinds["busy"] || s.Hosts > 256 {
					t.Errorf("after two hours %d hosts are dead, %d throttled: %+v", kinds["dead"], kinds["busy"], s)
				}
			})
		})
	}
}
