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

// URLFilter checks that a filter answers the same each time, from any goroutine, and that its
// reasons are short and do not hold the URL.
func URLFilter(t testing.TB, f policy.URLFilter, urls []string) {
	t.Helper()
	list := parsed(t, urls)
	first := make([]string, len(list))
	for i, u := range list {
		first[i] = f.Accept(u)
		if len(first[i]) > 40 || strings.Contains(first[i], u.String()) || len(u.Host()) > 3 && strings.Contains(first[i], u.Host()) {
			t.Errorf("%s is refused with %q: a reason is a short constant", u, first[i])
		}
	}
	together(func() {
		for i, u := range list {
			if again := f.Accept(u); again != first[i] {
				t.Errorf("%s: %q, and later %q", u, first[i], again)
			}
		}
	})
}

// URLNormalizer checks that a normalizer is idempotent and answers the same each time.
func URLNormalizer(t testing.TB, n policy.URLNormalizer, urls []string) {
	t.Helper()
	together(func() {
		for _, u := range parsed(t, urls) {
			once, err := n.Normalize(u)
			if err != nil {
				continue
			}
			if twice, err := n.Normalize(once); err != nil || twice != once {
				t.Errorf("%s becomes %s, and that %s (%v)", u, once, twice, err)
			}
		}
	})
}

// Scorer checks that scores are finite and not negative, and that the sum of links counts.
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
			for _, internal := range []bool{false, true} {
				good("Distribute", s.Distribute(policy.Page{Score: 2.5, Links: links, First: first}, internal))
			}
		}
	}
	if more, less := s.Update(1, 2), s.Update(1, 0); more < less {
		t.Errorf("links lower a score: %v, without them %v", more, less)
	}
}

// FetchSchedule checks that what was just fetched is not due at once, and is due at its fetch time.
func FetchSchedule(t testing.TB, s policy.FetchSchedule) {
	t.Helper()
	const now = 1_700_000_000_000
	for _, c := range []policy.Change{policy.ChangeUnknown, policy.ChangeModified, policy.ChangeNone} {
		for _, days := range []int64{0, 1, 100, 3000} {
			r := storage.Record{Status: storage.StatusFetched, Interval: policy.DefaultInterval}
			if days > 0 {
				r.ModifiedTime = now - days*86_400_000
			}
			s.Reschedule(&r, c, now)
			if r.FetchTime <= now || r.Interval == 0 || s.Due(&r, now) {
				t.Errorf("change %d, modified %d days ago: due again at once (%+v)", c, days, r)
			}
			if !s.Due(&r, r.FetchTime) {
				t.Errorf("change %d, modified %d days ago: not due at its fetch time", c, days)
			}
		}
	}
}
