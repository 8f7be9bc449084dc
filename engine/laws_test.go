// SPDX-License-Identifier: Apache-2.0

package engine_test

import (
	"bytes"
	"context"
	"testing"
	"time"

	"github.com/seine-crawler/seine/engine"
	"github.com/seine-crawler/seine/engine/parse"
	"github.com/seine-crawler/seine/engine/policy"
	"github.com/seine-crawler/seine/storage"
)

// onlyIntervals is a schedule that sets the interval and leaves the rest to others, who do not do it; and the status,
// which is not its business.
type onlyIntervals struct{ policy.FixedSchedule }

func (onlyIntervals) Reschedule(r *storage.Record, _ policy.Change, _ int64) {
	r.Interval, r.Status = 3600, storage.StatusGone
}

// TestScheduleLeavesDue: a page that a schedule leaves due at the time of its fetch is due after its interval, in a
// crawl and in the phases alike. Otherwise a crawl would not end.
func TestScheduleLeavesDue(t *testing.T) {
	t.Parallel()
	s := newNames(t, map[string]string{
		"a.test/": `<a href="/p">p</a> <a href="/moved">moved</a>`, "a.test/p": "A page.", "a.test/moved": "-> /p",
	})
	for way, run := range bothWays {
		o := s.options(dataDir(t))
		o.Schedule = onlyIntervals{}
		s.again("", 0)
		run(t, o, s.seeds("a.test/"))
		s.wantRequests(t, map[string]int{"a.test/": 1, "a.test/p": 1, "a.test/moved": 1})
		e := open(t, o)
		for path, status := range map[string]storage.Status{
			"": storage.StatusFetched, "p": storage.StatusFetched, "moved": storage.StatusRedirPerm,
		} {
			r, err := e.Inspect().Record(s.spell("HOST:a.test/" + path))
			if err != nil || r.Status != status || r.FetchTime.Sub(r.LastFetch) != time.Hour {
				t.Errorf("%s: %v, %v; want %s", way, r, err, status)
			}
		}
		mustClose(t, e)
	}
}

// TestParseFilterText: a parse filter may replace the text alone, which other fields of the page have offsets in.
func TestParseFilterText(t *testing.T) {
	t.Parallel()
	s := newNames(t, map[string]string{
		"a.test/": `<title>Log</title><nav>Home</nav><article><h1>The log of the keeper</h1>
			<p>A storm came at night. <span data-nosnippet>The wages of the keeper.</span> No ship was lost.</article>`,
	})
	for name, c := range map[string]struct {
		filter  parse.FilterFunc
		snippet string
	}{
		"shorter": {func(_ *parse.Input, p *parse.Page) error {
			p.Text = append(p.Text[:0], "Keeper."...)
			return nil
		}, ""},
		"longer": {func(_ *parse.Input, p *parse.Page) error {
			p.Text = append([]byte("Seen by the keeper: "), p.Text...)
			return nil
		}, ""},
		"as long": {func(_ *parse.Input, p *parse.Page) error {
			p.Text = bytes.ToUpper(p.Text)
			return nil
		}, "A STORM CAME AT NIGHT. NO SHIP WAS LOST."},
	} {
		o := s.options(dataDir(t))
		next := parse.FilterFunc(func(_ *parse.Input, p *parse.Page) error {
			p.AppendHeadings(nil)
			p.AppendContent(nil)
			return nil
		})
		o.Parsers.Filters = []parse.Filter{c.filter, next}
		e := open(t, o)
		if _, err := e.Crawl(context.Background(), engine.CrawlOptions{Inject: s.seeds("a.test/")}); err != nil {
			t.Fatal(err)
		}
		found, err := e.Search(context.Background(), "keeper", engine.SearchOptions{Deadline: patient})
		if err != nil || len(found.Hits) != 1 || found.Hits[0].Snippet != c.snippet {
			t.Errorf("%s: %+v, %v; want the snippet %q", name, found.Hits, err, c.snippet)
		}
		mustClose(t, e)
	}
}
