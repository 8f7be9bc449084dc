// SPDX-License-Identifier: Apache-2.0

package policytest

import (
	"math"
	"strings"
	"sync"
	"testing"

	"github.com/seine-crawler/seine/engine/policy"
	"github.com/seine-crawler/seine/storage"
	"github.com/seine-crawler/seine/storage/urlkey"
)

// together calls fn from several goroutines at once.
func together(fn func()) {
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(fn)
	}
	wg.Wait()
}

func parsed(t testing.TB, urls []string) []urlkey.URL {
	t.Helper()
	list := make([]urlkey.URL, len(urls))
	for i, raw := range urls {
		u, err := urlkey.Parse(raw)
		if err != nil {
			t.Fatalf("policytest: %v", err)
		}
		list[i] = u
	}
	return list
}

// maxReason is the longest reason that still fits a table of counts, in bytes.
const maxReason = 40

// URLFilter checks that a filter gives the same answer each time and from any goroutine, and that its reasons are short
// and do not contain the URL.
func URLFilter(t testing.TB, f policy.URLFilter, urls []string) {
	t.Helper()
	list := parsed(t, urls)
	first := make([]string, len(list))
	for i, u := range list {
		reason := f.Accept(u)
		namesHost := len(u.Host()) > 3 && strings.Contains(reason, u.Host())
		if len(reason) > maxReason || strings.Contains(reason, u.String()) || namesHost {
			t.Errorf("%s is refused with %q: a reason is a short constant", u, reason)
		}
		first[i] = reason
	}
	together(func() {
		for i, u := range list {
			if again := f.Accept(u); again != first[i] {
				t.Errorf("%s: %q, and later %q", u, first[i], again)
			}
		}
	})
}

// HostFilter checks that a filter of hosts gives the same answer for a URL and for its host. It includes URLFilter.
func HostFilter(t testing.TB, f interface {
	policy.URLFilter
	policy.HostFilter
}, urls []string) {
	t.Helper()
	URLFilter(t, f, urls)
	for _, u := range parsed(t, urls) {
		if of, ofHost := f.Accept(u), f.AcceptHost(u.HostKey()); of != ofHost {
			t.Errorf("%s: %q for the URL, %q for its host", u, of, ofHost)
		}
	}
}

// LiveFilter checks that a filter that has not changed since it was made says so and keeps its fingerprint, that one
// that change changes reports it once and has another fingerprint, and that others may call it meanwhile. change makes
// the filter's rules differ, for example by writing its file.
func LiveFilter(t testing.TB, f policy.LiveFilter, urls []string, change func()) {
	t.Helper()
	URLFilter(t, f, urls)
	before := f.Fingerprint()
	if changed, err := f.Refresh(); changed || err != nil || f.Fingerprint() != before {
		t.Errorf("refreshed without a change: %t, %v, fingerprint %x, before %x", changed, err, f.Fingerprint(), before)
	}
	list := parsed(t, urls)
	var others sync.WaitGroup
	for range 2 {
		others.Go(func() {
			for _, u := range list {
				f.Accept(u)
				f.Explain(u)
				f.Fingerprint()
			}
		})
	}
	change()
	if changed, err := f.Refresh(); !changed || err != nil || f.Fingerprint() == before {
		t.Errorf("refreshed after a change: %t, %v, fingerprint %x, before %x", changed, err, f.Fingerprint(), before)
	}
	others.Wait()
	if changed, err := f.Refresh(); changed || err != nil {
		t.Errorf("refreshed again: %t, %v", changed, err)
	}
	URLFilter(t, f, urls)
}

// URLNormalizer checks that a normalizer is idempotent and gives the same answer each time.
func URLNormalizer(t testing.TB, n policy.URLNormalizer, urls []string) {
	t.Helper()
	together(func() {
		for _, u := range parsed(t, urls) {
			once, err := n.Normalize(u)
			if err != nil || once.IsZero() { // dropped
				continue
			}
			if twice, err := n.Normalize(once); err != nil || twice != once {
				t.Errorf("%s becomes %s, and that %s (%v)", u, once, twice, err)
			}
		}
	})
}

// Scorer checks that scores are finite and not negative, and that a greater sum of links gives no lower score. Those of
// a policy.DepthScorer must not grow with depth.
func Scorer(t testing.TB, s policy.Scorer) {
	t.Helper()
	good := func(name string, v float64) {
		if math.IsNaN(v) || math.IsInf(v, 0) || v < 0 {
			t.Errorf("%s: a score of %v", name, v)
		}
	}
	for _, given := range []float64{0, 0.5, 1, 1e6} {
		good("Inject", s.Inject(given))
	}
	for _, links := range []int{0, 1, 3, 2000} {
		for _, first := range []bool{false, true} {
			p := policy.Page{Score: 2.5, Links: links, First: first, Accepted: 3 * links, All: 4 * links}
			for _, l := range []policy.Link{
				{Times: 1}, {Internal: true, Times: 3}, {Redirect: true}, {Redirect: true, Times: 2},
				{Internal: true, Self: true, Times: 2}, {Times: 1, Refused: true},
			} {
				good("Distribute", s.Distribute(p, l))
			}
		}
	}
	if d, ok := s.(policy.DepthScorer); ok {
		before := math.Inf(1)
		for _, depth := range []uint16{0, 1, 2, 16, 17, 1000, math.MaxUint16} {
			score := d.AtDepth(depth)
			good("AtDepth", score)
			if score > before {
				t.Errorf("a score of %v at depth %d, %v at a lesser one", score, depth, before)
			}
			before = score
		}
	}
	if more, less := s.Update(1, 2), s.Update(1, 0); more < less {
		t.Errorf("links lower a score: %v, without them %v", more, less)
	}
}

// FetchSchedule checks that a page that was just fetched is not due at once but at its fetch time, and that no record
// is due before its fetch time, however far ahead that is.
func FetchSchedule(t testing.TB, s policy.FetchSchedule) {
	t.Helper()
	const now, day = 1_700_000_000_000, 86_400_000
	for _, c := range []policy.Change{policy.ChangeUnknown, policy.ChangeModified, policy.ChangeNone} {
		for _, days := range []int64{0, 1, 100, 3000} {
			r := storage.Record{Status: storage.StatusFetched, Interval: policy.DefaultInterval}
			if days > 0 {
				r.ModifiedTime = now - days*day
			}
			s.Reschedule(&r, c, now)
			if r.FetchTime <= now || r.Interval == 0 || s.Due(&r, now) {
				t.Errorf("change %d, modified %d days ago: due again at once (%+v)", c, days, r)
			}
			if s.Due(&r, r.FetchTime-1) {
				t.Errorf("change %d, modified %d days ago: due before its fetch time", c, days)
			}
			if !s.Due(&r, r.FetchTime) {
				t.Errorf("change %d, modified %d days ago: not due at its fetch time", c, days)
			}
		}
	}
	for _, days := range []int64{1, 100, 3000, 100_000} {
		r := storage.Record{Status: storage.StatusFetched, Interval: policy.DefaultInterval, FetchTime: now + days*day}
		if s.Due(&r, now) || s.Due(&r, r.FetchTime-1) {
			t.Errorf("fetch time %d days ahead: due before it", days)
		}
	}
}
