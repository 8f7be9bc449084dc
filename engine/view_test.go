// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"encoding/json"
	"fmt"
	"math"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/seine-crawler/seine/engine/internal/admission"
	"github.com/seine-crawler/seine/engine/internal/inspect"
	"github.com/seine-crawler/seine/engine/policy"
	"github.com/seine-crawler/seine/storage"
	"github.com/seine-crawler/seine/storage/urlkey"
	"github.com/seine-crawler/seine/storage/warc"
)

// viewCase is a view with its two texts. back is a new view of the same type, to read the JSON into.
type viewCase struct {
	view       fmt.Stringer
	text, json string
	back       any
}

const viewTime = 1_767_323_045_006 // 2026-01-02T03:04:05.006Z

func viewCases(t *testing.T) []viewCase {
	t.Helper()
	must := func(v fmt.Stringer, err error) fmt.Stringer {
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
	return []viewCase{
		{
			must(viewRecord(inspect.Record{Key: "com,a,)/?x=1&y=2 http", Record: storage.Record{
				Status: storage.StatusFetched, FetchTime: viewTime, Interval: 60, Score: 1.5, HTTPStatus: 200, Depth: 2,
				Signature: storage.Signature{0xab}, Segment: 3,
			}})),
			"http://a.com/?x=1&y=2\tdb_fetched\thttp 200\t-\tscore 1.5\tdepth 2\tretries 0\tinterval 60s\t" +
				"due 2026-01-02T03:04:05.006Z\tfetched - in 0s\tsignature ab000000000000000000000000000000",
			`{"url":"http://a.com/?x=1&y=2","status":"db_fetched","fetch_time":"2026-01-02T03:04:05.006Z",` +
				`"interval":60,"retries":0,"score":1.5,"depth":2,` +
				`"signature":"ab000000000000000000000000000000","http_status":200,"segment":3}`,
			new(RecordView),
		},
		{
			must(viewHost(inspect.Host{
				Key: "com,a,)", Counts: storage.HostCounts{
					ByStatus: [storage.StatusCount]uint32{storage.StatusGone: 1, storage.StatusFetched: 2},
					Bytes:    7, TookMS: 1500,
				},
				Authorities: []inspect.Authority{{Scheme: "https", Facts: storage.HostFacts{
					RobotsStatus: 200, RobotsFetched: viewTime, RobotsExpires: viewTime + 1000, Robots: []byte("abc"),
				}}},
			})),
			"a.com\t3 URLs\tdb_fetched 2\tdb_gone 1\t7 bytes in 1.5s\trobots.txt (https) 200, 3 bytes, " +
				"until 2026-01-02T03:04:06.006Z",
			`{"host":"a.com","urls":3,"by_status":{"db_fetched":2,"db_gone":1},"bytes":7,"took_ms":1500,` +
				`"robots":[{"scheme":"https","status":200,"fetched":"2026-01-02T03:04:05.006Z",` +
				`"expires":"2026-01-02T03:04:06.006Z","bytes":3}]}`,
			new(HostView),
		},
		{
			must(viewLink(inspect.Link{
				To: "com,a,)/b http", Inlink: storage.Inlink{From: "com,a,)/ http", Anchor: "a\x1b[1m<b>"},
			})),
			"http://a.com/b\thttp://a.com/\ta [1m<b>",
			`{"to":"http://a.com/b","from":"http://a.com/","anchor":"a\u001b[1m<b>"}`, new(InlinkView),
		},
		{
			must(viewSegment(storage.Segment{
				Number: 2, State: storage.SegmentSealed, Batch: true, Created: time.UnixMilli(viewTime).UTC(),
				WARC: []storage.WARCFile{{Name: "f", Size: 9, Records: 1}}, Counts: storage.SegmentCounts{Fetched: 5},
			})),
			"2\tsealed\t2026-01-02T03:04:05.006Z\t0 generated, 5 fetched, 0 failed (0 gone), 0 redirected, " +
				"0 not modified, 0 denied by robots, 0 links, 0 bytes",
			`{"segment":2,"state":"sealed","batch":true,"created":"2026-01-02T03:04:05.006Z","warc":[{"name":"f",` +
				`"start":0,"size":9,"records":1}],` +
				`"counts":{"generated":0,"fetched":5,"failed":0,"redirected":0,"gone":0,` +
				`"not_modified":0,"robots_denied":0,"links":0,"bytes":0}}`,
			new(SegmentView),
		},
		{
			must(viewParse(inspect.ParseRecord{
				Segment: 2, Key: "com,a,)/ http", Outcome: &storage.FetchOutcome{
					Status: storage.FetchSuccess, HTTPStatus: 200, Time: viewTime, Redirect: "com,a,)/b http",
					MediaType: "text/html", Bytes: 8, TookMS: 12, Preferences: "A: b\nC: d",
					Location: warc.Location{File: "f", Offset: 3, Length: 4},
					Outlinks: []storage.Outlink{{Key: "com,a,)/c http", Anchor: "c", NoFollow: true}},
				},
				Text: &storage.ParseText{Title: "A & B"},
			})),
			"http://a.com/\tfetch_success\thttp 200\t2026-01-02T03:04:05.006Z\t8 bytes\ttext/html\t1 links\tA & B\t" +
				"http://a.com/b\tA: b; C: d",
			`{"url":"http://a.com/","segment":2,"status":"fetch_success","http_status":200,` +
				`"time":"2026-01-02T03:04:05.006Z","redirect":"http://a.com/b","media_type":"text/html","bytes":8,` +
				`"refresh":"temporary","took_ms":12,"preferences":["A: b","C: d"],` +
				`"warc":"f@3+4","title":"A & B","outlinks":[` +
				`{"url":"http://a.com/c","anchor":"c","nofollow":true}]}`,
			new(ParseView),
		},
		{
			VerifyReport{
				Files: 1, Bytes: 9, Records: 4, Captures: 2, Torn: 3, Problems: 30,
				Took:  Duration(1500 * time.Millisecond),
				Kinds: []ProblemsFound{{Kind: "WARC file", Count: 30, Found: []string{"bad"}}},
			},
			"verify: 1 WARC file, 4 records, 2 captures read, 0 documents indexed, 30 problems in 1.50s\n" +
				"WARC file: 30 problems\n  bad\n  and 29 more; --json lists them\n" +
				"the next crawl cuts off 3 bytes that a crash left at the ends of WARC files",
			`{"files":1,"bytes":9,"records":4,"captures":2,"documents":0,"torn_bytes":3,"problems":30,` +
				`"kinds":[{"kind":"WARC file","count":30,"found":["bad"]}],"seconds":1.5}`,
			new(VerifyReport),
		},
	}
}

// TestViews: texts and JSON are an interface: scripts read them. JSON can be read back.
func TestViews(t *testing.T) {
	for _, c := range viewCases(t) {
		if got := c.view.String(); got != c.text {
			t.Errorf("text\n got %q\nwant %q", got, c.text)
		}
		var b strings.Builder
		enc := json.NewEncoder(&b)
		enc.SetEscapeHTML(false)
		if err := enc.Encode(c.view); err != nil || b.String() != c.json+"\n" {
			t.Errorf("JSON %v\n got %swant %s", err, b.String(), c.json)
		}
		if err := json.Unmarshal([]byte(b.String()), c.back); err != nil {
			t.Error(err)
		}
		if got := reflect.ValueOf(c.back).Elem().Interface(); !reflect.DeepEqual(got, c.view) {
			t.Errorf("read back\n got %#v\nwant %#v", got, c.view)
		}
	}
}

// TestStatsText: the layout is that of Nutch.
func TestStatsText(t *testing.T) {
	s := inspect.Stats{
		URLs: 3, ShortestInterval: 60, LongestInterval: 2_592_000, AvgInterval: 90_061.5, EarliestFetch: viewTime,
		AvgFetch: viewTime, LatestFetch: viewTime + 500, MinScore: 1, AvgScore: 2, MaxScore: 4,
		Scores: []float64{1, 1, 4},
		Hosts:  []inspect.HostStatus{{Host: "com,b,)"}, {Host: "com,a,)"}},

		Failures: map[string]uint64{"robots_denied": 2, "http_404": 7},
	}
	s.Retries[0], s.Retries[2] = 2, 1
	s.Status[storage.StatusFetched] = 3
	s.Hosts[0].Status[storage.StatusFetched], s.Hosts[1].Status[storage.StatusFetched] = 1, 2
	got := viewStats(&s, true).String()
	for _, want := range []string{
		"TOTAL urls:\t3\nshortest fetch interval:\t0 days, 00:01:00\navg fetch interval:\t1 days, 01:01:01\n" +
			"longest fetch interval:\t30 days, 00:00:00\nearliest fetch time:\t2026-01-02T03:04:05.006Z\n" +
			"avg of fetch times:\t2026-01-02T03:04:05.006Z\nlatest fetch time:\t2026-01-02T03:04:05.506Z\n" +
			"retry 0:\t2\nretry 2:\t1\nscore quantile 0.01:\t1\n",
		"\nscore quantile 0.99:\t4\nmin score:\t1\navg score:\t2\nmax score:\t4\n" +
			"status 2 (db_fetched):\t3\n   a.com :\t2\n   b.com :\t1\n" +
			"failure http_404:\t7\nfailure robots_denied:\t2\n",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("%s\nlacks\n%s", got, want)
		}
	}
	text, err := json.Marshal(viewStats(&s, false))
	if err != nil || !strings.Contains(string(text), `"avg_interval":90061.5,`) ||
		strings.Contains(string(text), "hosts") {
		t.Errorf("%s, %v", text, err)
	}
	if got := viewStats(&inspect.Stats{}, false).String(); !strings.Contains(got, "earliest fetch time:\t\n") {
		t.Error(got)
	}
}

// TestTimeOf: any time of a record can be written as JSON.
func TestTimeOf(t *testing.T) {
	for _, ms := range []int64{math.MinInt64, year0, -1, 1, viewTime, year9999, math.MaxInt64} {
		if _, err := json.Marshal(timeOf(ms)); err != nil || timeOf(ms).IsZero() {
			t.Errorf("%d: %v, %v", ms, timeOf(ms), err)
		}
	}
	if !timeOf(0).IsZero() || timeText(timeOf(0)) != "" {
		t.Error("0 is not the zero time")
	}
}

func TestURLChecker(t *testing.T) {
	refuse := policy.URLFilterFunc(func(u urlkey.URL) string { return strings.TrimPrefix(u.Path(), "/") })
	k := NewURLChecker(Options{
		Filters: policy.URLFilters{refuse}, NormalizerScopes: policy.NormalizerScopes{policy.NormalizeOutlink: nil},
	})
	for _, c := range []struct {
		url       string
		scope     policy.NormalizerScope
		canonical string
		reason    string
	}{
		{"HTTP://A.example:80/?utm_source=x", policy.NormalizeInject, "http://a.example/", ""},
		{"HTTP://A.example:80/?utm_source=x", policy.NormalizeOutlink, "http://a.example/?utm_source=x", ""},
		{"http://a.example/zip", "", "http://a.example/zip", "zip"},
	} {
		got := k.Check(c.url, c.scope)
		if got.Canonical != c.canonical || got.Reason != c.reason || got.Accepted != (c.reason == "") ||
			got.Known != nil {
			t.Errorf("%+v", got)
		}
	}
	if c := k.Check("mailto:a@b", ""); c.Accepted || c.Canonical != "" || c.Reason == "" {
		t.Errorf("%+v", c)
	}
}

// TestURLCheckText: what `seine check url` prints, with everything that may delay a URL.
func TestURLCheckText(t *testing.T) {
	c, u := newURLCheck(&Options{}, "http://www.a.com/", policy.NormalizeInject)
	x := inspect.Explanation{
		Verdict: admission.Verdict{Reason: "rules", Rule: "urls.txt: line 1: -a"},
		Known:   true, Record: storage.Record{Status: storage.StatusUnfetched, FetchTime: viewTime},
		Unreachable: true, RobotsExpires: viewTime, PausedUntil: viewTime, Failures: 2,
		Host: admission.Budget{Limit: admission.Cost{URLs: 5, Bytes: 10}, Used: admission.Cost{URLs: 5, Bytes: 9}},
		Domain: admission.Budget{
			Limit: admission.Cost{Bytes: 10, Time: time.Second},
			Used:  admission.Cost{URLs: 9, Bytes: 12, Time: 1500 * time.Millisecond},
		},
	}
	c.decide(x.Verdict)
	o := &Options{HostPolicy: ownPages{}}
	c.Known = o.viewKnown(u, &x)
	want := `http://www.a.com/
  canonical  http://www.a.com/
  key        com,a,www,)/ http
  host       www.a.com
  crawldb    db_unfetched, due 2026-01-02T03:04:05.006Z
  robots     unreachable
  waits      robots.txt is unreachable: it is requested again after 2026-01-02T03:04:05.006Z
  waits      the host is paused until 2026-01-02T03:04:05.006Z, after 2 failed visits in a row
  waits      www.a.com has used 5 of 5 pages (max-pages in its section)
  waits      a.com has used 12 of 10 bytes (setting domain-bytes)
  waits      a.com has used 1s of fetch time (setting domain-time)
  refused: rules (urls.txt: line 1: -a)`
	if got := c.String(); got != want {
		t.Errorf("%s", got)
	}
	o.Now = func() time.Time { return timeOf(viewTime) }
	const again = "robots.txt is unreachable: it is requested again before the next fetch"
	late := o.viewKnown(u, &inspect.Explanation{Unreachable: true, RobotsExpires: viewTime})
	if late.Waits[0] != again {
		t.Errorf("what is known of robots.txt has expired: %q", late.Waits)
	}
	c, u = newURLCheck(&Options{}, "http://b.com/", policy.NormalizeInject)
	c.Known = o.viewKnown(u, &inspect.Explanation{Robots: admission.RobotsAllowed})
	c.decide(admission.Verdict{})
	if got := c.String(); !strings.Contains(got, "crawldb    not known\n  robots     allowed\n  accepted") {
		t.Error(got)
	}
	text, err := json.Marshal(c.Known)
	if string(text) != `{"status":"","robots":"allowed"}` || err != nil {
		t.Errorf("%s, %v", text, err)
	}
}

// ownPages gives every host a budget of pages of its own.
type ownPages struct{}

func (ownPages) Settings(urlkey.HostKey) *policy.HostSettings {
	return &policy.HostSettings{MaxPages: 5}
}

// TestBlocked: an address or a port that the client refuses is named, with the flag that permits it.
func TestBlocked(t *testing.T) {
	for url, want := range map[string]string{
		"http://10.0.0.1/":       "10.0.0.1 has a private or special address: --allow-private permits it",
		"http://[::1]/":          "[::1] has a private or special address: --allow-private permits it",
		"http://a.example:8080/": "a.example:8080 has a port other than 80 and 443: --allow-private permits it",
		"https://a.example/":     "",
	} {
		c := NewURLChecker(Options{}).Check(url, "")
		if c.Blocked != want || (want != "") != strings.Contains(c.String(), "blocked") {
			t.Errorf("%s: %s", url, c)
		}
		if c := NewURLChecker(Options{AllowPrivate: true}).Check(url, ""); c.Blocked != "" {
			t.Errorf("%s: %s", url, c)
		}
	}
}

func TestCheckFile(t *testing.T) {
	const page = `<title>A page</title><meta property="article:published_time" content="2026-01-02T03:04:05Z">
<meta http-equiv=refresh content="3;url=/next"><p>Some text. <a href="x?utm_source=y">there</a> <a href="z.zip">no</a>`
	c, err := CheckFile(Options{}, strings.NewReader(page), "dir/page.html", "", "")
	if err != nil {
		t.Fatal(err)
	}
	if c.URL != "http://localhost/page.html" || c.MediaType != "text/html" || c.Title != "A page" ||
		c.RefreshAfter != Duration(3*time.Second) || c.Published.Year() != 2026 {
		t.Errorf("%+v", c)
	}
	for _, want := range []string{
		"published    2026-01-02T03:04:05Z\n", "refresh      http://localhost/next\n",
		"http://localhost/x  \"there\"\n", "http://localhost/z.zip  \"no\"  refused: suffix\n",
	} {
		if !strings.Contains(c.String(), want) {
			t.Errorf("%s\nlacks %s", c, want)
		}
	}
	text, err := json.Marshal(c)
	for _, want := range []string{`"refresh_seconds":3,`, `"published":"2026-01-02T03:04:05Z",`} {
		if err != nil || !strings.Contains(string(text), want) || strings.Contains(string(text), `"modified"`) {
			t.Errorf("%s, %v", text, err)
		}
	}
	c, err = CheckFile(Options{}, strings.NewReader("a,b"), "x", "http://a.example/dir/", "text/plain; charset=utf-8")
	if err != nil || c.URL != "http://a.example/dir/" || c.Text != "a,b" {
		t.Errorf("%+v, %v", c, err)
	}
	_, err = CheckFile(Options{}, zeros{}, "endless", "", "")
	if err == nil || !strings.Contains(err.Error(), "endless") {
		t.Errorf("an endless file: %v", err)
	}
}

// zeros never ends.
type zeros struct{}

func (zeros) Read(p []byte) (int, error) { return len(p), nil }
