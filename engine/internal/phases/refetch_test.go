// SPDX-License-Identifier: Apache-2.0

package phases

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/seine-crawler/seine/engine/internal/admission"
	"github.com/seine-crawler/seine/engine/policy"
	"github.com/seine-crawler/seine/storage"
	"github.com/seine-crawler/seine/storage/urlkey"
)

// TestVoteOnce: whatever the outcomes of a page's fetches, and whenever somebody has it recrawled in between, its
// links, or the target of its redirect, get its one vote with the first fetch that finds them.
func TestVoteOnce(t *testing.T) {
	outcomes := map[string]page{
		"content": {content: 1, links: []string{hostA + "x"}},
		"retry":   {status: storage.FetchRetry},
		"gone":    {status: storage.FetchGone},
		"moved":   {status: storage.FetchRedirTemp, redirect: hostA + "y"},
		"304":     {status: storage.FetchNotModified},
	}
	checkFew(t, func(t *rapid.T) {
		w := newWorld(t, admission.Options{})
		defer w.close()
		w.inject(hostA)
		voted := ""
		for n := range rapid.IntRange(1, 8).Draw(t, "fetches") {
			kinds := []string{"content", "content", "moved", "retry", "retry", "gone", "304"}
			kind := rapid.SampledFrom(kinds).Draw(t, "what")
			if kind == "304" && voted != "content" { // there is nothing yet that could be confirmed
				kind = "retry"
			}
			p := outcomes[kind]
			p.url, p.at = hostA, int64(n+1)
			w.update(p)
			if voted == "" && (kind == "content" || kind == "moved") {
				voted = kind
			}
			if rapid.Bool().Draw(t, "recrawl") {
				if _, err := w.p.Recrawl(context.Background(), w.targets("a.test")); err != nil {
					t.Fatal(err)
				}
			}
			records := w.records()
			for of, to := range map[string]string{"content": hostA + "x", "moved": hostA + "y"} {
				want := map[bool]float64{true: 1}[of == voted]
				if got := records[w.key(to)].Score; got != want {
					t.Fatalf("after fetch %d, %s, %s has %v, want %v", n+1, kind, to, got, want)
				}
			}
		}
		w.check()
	})
}

// TestVoteOfRedirect: a page that redirects casts its one vote for the target; it has none left for another target, nor
// for links when it has content one day, and none for a target when its links had it.
func TestVoteOfRedirect(t *testing.T) {
	const moved, again, linked = hostA + "moved", hostA + "again", hostA + "linked"
	for _, status := range []storage.FetchStatus{storage.FetchRedirTemp, storage.FetchRedirPerm} {
		first, second := page{status: status, redirect: moved}, page{status: status, redirect: again}
		content := page{content: 1, links: []string{linked}}
		for _, c := range []struct {
			fetches []page
			voted   string
		}{
			{[]page{first, first, second}, moved}, {[]page{first, content, content}, moved},
			{[]page{content, first, content}, linked},
		} {
			w := newWorld(t, admission.Options{})
			w.inject(hostA)
			for n, p := range c.fetches {
				p.url, p.at = hostA, int64(n+1)
				w.update(p)
			}
			records := w.records()
			for _, to := range []string{moved, again, linked} {
				want := map[bool]float64{true: 1}[to == c.voted]
				if got := records[w.key(to)].Score; got != want {
					t.Errorf("%v: %s has %v, want %v", c.fetches, to, got, want)
				}
			}
			w.check()
			w.close()
		}
	}
}

// TestTruncatedThenFailure: fetches that brought a part of a page are not failures, so what fails after them has all of
// its attempts; and the whole content that came before all of it stays.
func TestTruncatedThenFailure(t *testing.T) {
	const day = 86_400_000
	cut := storage.FetchOutcome{Status: storage.FetchSuccess, Truncated: "disconnect"}
	failure := storage.FetchOutcome{Status: storage.FetchRetry, HTTPStatus: 503}
	for _, status := range []storage.Status{
		storage.StatusFetched, storage.StatusNotModified, storage.StatusDuplicate,
	} {
		r := storage.Record{
			Status: status, Segment: 1, Signature: storage.Signature{1}, Interval: policy.DefaultInterval,
			ETag: "whole",
		}
		for n, step := range []struct {
			outcome storage.FetchOutcome
			status  storage.Status
			retries uint8
		}{
			{cut, status, 1}, {cut, status, 2},
			{failure, storage.StatusUnfetched, 1}, {failure, storage.StatusUnfetched, 2},
			{failure, storage.StatusGone, 3},
		} {
			o := step.outcome
			o.Time = int64(n+1) * day
			transition(&r, &o, uint32(n+2), policy.FixedSchedule{}, policy.DefaultMaxInterval)
			if r.Status != step.status || r.Retries != step.retries || r.Segment != 1 || r.ETag != "whole" {
				t.Fatalf("%s, step %d: %+v", status, n, r)
			}
			if r.Status != storage.StatusGone && r.FetchTime != o.Time+day {
				t.Errorf("%s, step %d: due after %d ms", status, n, r.FetchTime-o.Time)
			}
		}
	}
}

// TestSectionInterval: the interval that a host's own settings demand holds from the first fetch on, whatever the
// schedule, also where only a part of a page came; what is gone comes less and less often, and what comes back is as
// before.
func TestSectionInterval(t *testing.T) {
	hosts := policy.HostPolicyFunc(func(h urlkey.HostKey) *policy.HostSettings {
		switch h {
		case "test,a,)":
			return &policy.HostSettings{Interval: time.Hour}
		case "test,b,)":
			return &policy.HostSettings{Interval: 1000 * 24 * time.Hour}
		}
		return nil
	})
	const other, third = hostB, "https://c.test/"
	const hour, day = 3600, 86400
	const longest = policy.DefaultMaxInterval + 30*day
	tooLong := &storage.FetchOutcome{Status: storage.FetchParseFailed, Truncated: truncatedByLength}
	for _, schedule := range []policy.FetchSchedule{policy.FixedSchedule{}, policy.AdaptiveSchedule{}} {
		w := newWorld(t, admission.Options{Scope: policy.ScopeAny, Hosts: hosts})
		defer w.close()
		w.schedule = schedule
		w.restart()
		w.p.maxInterval = longest
		w.inject(hostA, other, third)
		for n, step := range []struct {
			url     string
			status  storage.FetchStatus
			content byte
			want    int64 // seconds
			outcome *storage.FetchOutcome
		}{
			{url: hostA, content: 1, want: hour},
			{url: hostA, content: 1, want: hour},
			{url: hostA, content: 2, want: hour},
			{url: hostA, status: storage.FetchNotModified, want: hour},
			{url: hostA, outcome: tooLong, want: hour},
			{url: hostA, status: storage.FetchRetry, want: day},
			{url: hostA, status: storage.FetchGone, want: hour * 3 / 2},
			{url: hostA, status: storage.FetchGone, want: hour * 9 / 4},
			{url: hostA, content: 3, want: hour},
			{url: hostA, status: storage.FetchRedirPerm, want: hour},
			{url: other, content: 1, want: longest}, // no more than the maximum
			{url: third, content: 1, want: policy.DefaultInterval},
		} {
			at := int64(n+1) * 10 * day * 1000
			w.update(page{url: step.url, status: step.status, content: step.content, at: at, outcome: step.outcome})
			r := w.records()[w.key(step.url)]
			if got := (r.FetchTime - firstMS - at) / 1000; got != step.want {
				t.Errorf("%T, step %d, %s of %s: due after %d s, want %d",
					schedule, n, step.status, step.url, got, step.want)
			}
		}
		w.check()
	}
}

// TestRefetchWrites: the second fetch of a page writes what it changes, not a record for each of its links again.
func TestRefetchWrites(t *testing.T) {
	w := newWorld(t, admission.Options{})
	defer w.close()
	w.inject(hostA)
	const links = 500
	p := page{url: hostA, content: 1}
	for n := range links {
		p.links = append(p.links, fmt.Sprintf("%slinked-%d", hostA, n))
	}
	written := func(at int64) uint64 {
		p.at = at
		segment := w.seal(p)
		before, err := w.store.Counters()
		if err != nil {
			t.Fatal(err)
		}
		if _, err := w.p.UpdateDB(context.Background(), segment); err != nil {
			t.Fatal(err)
		}
		after, err := w.store.Counters()
		if err != nil {
			t.Fatal(err)
		}
		return after.UserBytes - before.UserBytes
	}
	first := written(1)
	linked := w.records()[w.key(hostA+"linked-7")]
	if second := written(2); first < links*20 || second > first/20 {
		t.Errorf("the first fetch wrote %d bytes, the second %d", first, second)
	}
	if again := w.records()[w.key(hostA+"linked-7")]; again.Score != linked.Score || linked.Score == 0 {
		t.Errorf("a link had the score %v and has %v", linked.Score, again.Score)
	}
	w.check()
}

// TestUpdateOlder: of two segments in which a page was fetched the newer fetch counts, whichever is updated first, with
// its content, or with that of the older one if it brought none; and both have cost something.
func TestUpdateOlder(t *testing.T) {
	const first, second = hostA + "first", hostA + "second"
	for name, c := range map[string]struct {
		newer   page
		content uint32 // the segment with the content that counts, and its links
	}{
		"other content": {page{content: 2, links: []string{second}}, 2},
		"gone":          {page{status: storage.FetchGone}, 1},
		"a failure":     {page{status: storage.FetchRetry}, 1},
		"a redirect":    {page{redirect: second}, 1},
	} {
		for _, newerFirst := range []bool{false, true} {
			w := newWorld(t, admission.Options{})
			w.inject(hostA)
			w.now += msPerDay
			c.newer.url, c.newer.at, c.newer.took = hostA, 2, 3
			segments := []uint32{
				w.seal(page{url: hostA, content: 1, at: 1, took: 4, links: []string{first}}), w.seal(c.newer),
			}
			if newerFirst {
				slices.Reverse(segments)
			}
			for _, n := range segments {
				if _, err := w.p.UpdateDB(t.Context(), n); err != nil {
					t.Fatal(err)
				}
				if _, err := w.p.InvertLinks(t.Context(), n); err != nil {
					t.Fatal(err)
				}
			}
			if _, err := w.p.MergeLinks(t.Context(), 0, nil); err != nil {
				t.Fatal(err)
			}
			key := w.key(hostA)
			r, alone := w.records()[key], storage.Record{}
			transition(&alone, &storage.FetchOutcome{Status: c.newer.outcomeStatus(), Time: firstMS + 2}, 2,
				policy.FixedSchedule{}, policy.DefaultMaxInterval)
			if r.Status != alone.Status || r.LastFetch != firstMS+2 || r.FetchTime != alone.FetchTime ||
				r.Retries != alone.Retries || r.Segment != c.content || uint32(r.Signature[0]) != c.content {
				t.Errorf("%s, newer first %t: %+v", name, newerFirst, r)
			}
			var counts storage.HostCounts
			if _, err := w.store.HostCounts(key.HostKey(), &counts); err != nil || counts.TookMS != 7 {
				t.Errorf("%s, newer first %t: %d ms, %v", name, newerFirst, counts.TookMS, err)
			}
			to := w.key([]string{first, second}[c.content-1])
			if links, _ := w.linkdb(); !maps.Equal(links, map[storedLink]bool{{to, key, c.content}: true}) {
				t.Errorf("%s, newer first %t: links %v", name, newerFirst, links)
			}
			w.check()
			w.close()
		}
	}
}

// outcomeStatus is the status of a page's outcome.
func (p *page) outcomeStatus() storage.FetchStatus {
	switch {
	case p.status != 0:
		return p.status
	case p.redirect != "":
		return storage.FetchRedirPerm
	}
	return storage.FetchSuccess
}

// TestFailureFindsNothing: old content that was not to be found is not to be found while a fetch fails for the moment,
// or where one is forced; new content is, and so is what the server confirms. A part of a page is better than what was
// there before the page was gone.
func TestFailureFindsNothing(t *testing.T) {
	const retry = storage.FetchRetry
	for name, c := range map[string]struct {
		interval int // days
		then     storage.FetchOutcome
		before   string // after failures
	}{
		"content":        {30, storage.FetchOutcome{Status: storage.FetchNotModified}, ""},
		"gone":           {30, storage.FetchOutcome{Status: storage.FetchGone}, "db_gone"},
		"moved":          {30, storage.FetchOutcome{Status: storage.FetchRedirTemp}, "db_redir_temp"},
		"not parsed":     {30, storage.FetchOutcome{Status: storage.FetchParseFailed}, "db_parse_failed"},
		"moved, forced":  {100, storage.FetchOutcome{Status: storage.FetchRedirPerm}, "db_redir_perm"},
		"forced content": {100, storage.FetchOutcome{Status: storage.FetchNotModified}, ""},
	} {
		for _, last := range []storage.FetchOutcome{
			{Status: storage.FetchSuccess}, {Status: storage.FetchNotModified},
			{Status: storage.FetchSuccess, Truncated: "disconnect"},
		} {
			w := newWorld(t, admission.Options{})
			w.inject(hostA)
			w.update(page{url: hostA, content: 1})
			w.place(func(put func(string, storage.Record)) {
				r := w.records()[w.key(hostA)]
				r.Interval = uint32(c.interval) * 24 * 3600
				put(hostA, r)
			})
			outcomes := []storage.FetchOutcome{c.then, {Status: retry}, {Status: retry}}
			for i := range outcomes {
				w.update(page{url: hostA, outcome: &outcomes[i], at: int64(i + 1)})
			}
			r := w.records()[w.key(hostA)]
			if r.Status != storage.StatusUnfetched || r.Before() != c.before || r.Findable() != (c.before == "") {
				t.Errorf("%s: %+v", name, r)
			}
			w.update(page{url: hostA, outcome: &last, content: 2, at: 9})
			r = w.records()[w.key(hostA)]
			is := last.Status == storage.FetchSuccess && (last.Truncated == "" || c.before != "")
			if !r.Findable() || len(r.Meta) > 0 || (r.Segment == w.segment) != is {
				t.Errorf("%s, then %s %s: %+v", name, last.Status, last.Truncated, r)
			}
			w.check()
			w.close()
		}
	}
}
