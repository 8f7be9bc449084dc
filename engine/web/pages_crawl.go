// SPDX-License-Identifier: Apache-2.0

package web

import (
	"cmp"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/seine-crawler/seine/engine"
	"github.com/seine-crawler/seine/storage"
)

// crawlView is the dashboard.
type crawlView struct {
	engine.Status
	Permitted bool
	Spans     []choice
	Axis      axis
	Charts    []chart
	Stages    []pipeStage
	Fetchers  []fetcherBar
	Idle      int // fetchers that do nothing
	All       int // fetchers
	URLs      []statusCount
	Failures  []kindCount
	Ranges    []rangeBar
	Stored    uint64 // bytes in the store and in WARC files
	Shares    []shareBar
	Done      string // what a button did

	CauseLevel engine.AlertLevel // of an alert that says what the cause says; "": none does
	Others     []engine.Alert    // that say something else
	Polite     int               // hosts that wait for their delay, without those that demanded a pause
	Empty      int               // hosts that have nothing to fetch, without those of which this is not known yet
}

// crawlState is the crawl in a few words, for the head of every page.
type crawlState struct {
	Text string
	Dot  string // class of the mark before the text: "run", "look", "broken", ""

	Running bool
}

type pipeStage struct {
	Name, Text, Detail, Link string
	Narrow                   bool // it is what holds the crawl up
}

type fetcherBar struct {
	Text    string
	Count   int
	Percent float64
}

type rangeBar struct {
	Name    string
	Bytes   uint64
	Percent float64
}

type shareBar struct {
	Name        string
	Used, Limit uint64
	Percent     float64
}

// stateOf says in a few words what a crawl does.
func stateOf(s *engine.Status) crawlState {
	broken := slices.ContainsFunc(s.Alerts, func(a engine.Alert) bool { return a.Level == engine.AlertBroken })
	p := s.Progress
	switch {
	case !s.Running && broken:
		return crawlState{"the last crawl failed", "broken", false}
	case !s.Running || p == nil:
		return crawlState{"no crawl is running", "", false}
	case s.Stopping:
		return crawlState{"stopping", "look", true}
	case p.Paused:
		return crawlState{"paused", "look", true}
	}
	rate := p.PagesPerSecond
	if s.Newest != nil {
		rate = s.Newest.PagesPerSecond
	}
	state := crawlState{"crawling " + rateText(rate) + " pages/s", "run", true}
	if p.Phase == "settling" {
		state.Text = "finishing: what was fetched is being indexed"
	}
	if broken {
		state.Dot = "broken"
	} else if len(s.Alerts) > 0 {
		state.Dot = "look"
	}
	return state
}

// fillHosts counts each host in memory once.
func (v *crawlView) fillHosts() {
	if g := v.Progress; g != nil {
		v.Polite = max(g.HostsWaiting-g.HostsThrottled, 0)
		v.Empty = max(g.HostsDormant-v.Refills, 0)
	}
}

// foldAlerts makes one of the cause and of an alert that says the same, or what helps in the same way.
func (v *crawlView) foldAlerts() {
	var c engine.Cause
	if v.Running && v.Progress != nil {
		c = v.Progress.Cause
	}
	for _, a := range v.Alerts {
		if c.Text != "" && (a.Text == c.Text || a.Help != "" && a.Help == c.Help) {
			if v.CauseLevel == "" { // the worst comes first
				v.CauseLevel = a.Level
			}
		} else {
			v.Others = append(v.Others, a)
		}
	}
}

// spans are the spans of time that charts show, by the value of the parameter.
var spans = []struct {
	name, text string
	span       time.Duration
}{{"", "10 minutes", 10 * time.Minute}, {"6h", "6 hours", 6 * time.Hour}, {"all", "all", 0}}

// crawlPage shows the dashboard: GET /crawl?span=….
func (h *Handler) crawlPage(w http.ResponseWriter, r *http.Request) {
	p := &page{Room: "crawl", Title: "Crawl", base: h.o.Prefix, Scripts: []string{"live.js", "charts.js"}}
	v := &crawlView{Permitted: h.permitted(r), Done: doneText(r)}
	var err error
	if v.Status, err = h.e.Inspect().Status(); err != nil {
		h.failed(w, r, p.Room, err)
		return
	}
	span := spans[0].span
	for _, s := range spans {
		present := s.name == r.URL.Query().Get("span")
		if present {
			span = s.span
		}
		v.Spans = append(v.Spans, choice{s.text, p.Path("/crawl", "span", s.name), present})
	}
	samples, err := h.e.Inspect().History(span)
	if err != nil {
		h.failed(w, r, p.Room, err)
		return
	}
	v.Axis = newAxis(samples, span, v.Time)
	p.State = stateOf(&v.Status)
	v.drawCharts(p)
	v.fillPipeline(p)
	v.fillCounts()
	v.fillHosts()
	v.foldAlerts()
	p.Body = v
	h.show(w, http.StatusOK, "crawl", p)
}

// drawCharts draws the charts, all on one axis of time.
func (v *crawlView) drawCharts(p *page) {
	a := &v.Axis
	if len(a.Steps) == 0 {
		return
	}
	bytes := func(n float64) string { return byteText(n) }
	perSecond := func(n float64) string { return byteText(n) + "/s" }
	one := func(f func(*engine.Sample) float64) series { return series{"", f} }
	add := func(c chart, unit, link string) {
		if c.Unit, c.Link = unit, link; strings.HasPrefix(unit, "B") {
			c.Unit, c.Suffix = "", unit // the values have it
		}
		v.Charts = append(v.Charts, c)
	}
	add(a.draw("Pages", 0, false, rateText, one(func(s *engine.Sample) float64 { return s.PagesPerSecond })),
		"pages/s", p.Path("/urls", "status", "db_fetched"))
	add(a.draw("Received", 0, false, perSecond, one(func(s *engine.Sample) float64 { return s.BytesPerSecond })),
		"B/s", p.Path("/report/types"))
	add(a.draw("Failures", 0, false, rateText, one(func(s *engine.Sample) float64 { return s.FailuresPerSecond })),
		"failures/s", p.Path("/report/failures"))
	add(a.draw("Processors by stage", 0, true, rateText, stagesOf(a)...), "processors", "")
	add(a.draw("Hosts", 0, false, countText,
		series{"waiting", func(s *engine.Sample) float64 { return s.HostsWaiting }},
		series{"ready", func(s *engine.Sample) float64 { return s.HostsReady }},
		series{"asleep", func(s *engine.Sample) float64 { return s.HostsAsleep }}), "waiting", p.Path("/hosts"))
	add(a.draw("Fetchers at work", 0, false, countText, one(func(s *engine.Sample) float64 { return s.Busy })),
		"fetchers", "")
	add(a.draw("Frontier", 0, false, countText, one(func(s *engine.Sample) float64 { return s.Queued })),
		"URLs", p.Path("/urls", "status", "db_unfetched"))
	add(a.draw("Memory", float64(v.Memory.LimitBytes), false, bytes,
		one(func(s *engine.Sample) float64 { return s.HeapBytes })), "B", "#memory")
	add(a.draw("Free on the disk", 0, false, bytes,
		one(func(s *engine.Sample) float64 { return s.DiskFreeBytes })), "B", "#disk")
}

// stagesOf are the stages that used a processor, as series.
func stagesOf(a *axis) []series {
	var names []string
	used := map[string]float64{}
	for _, step := range a.Steps {
		for _, s := range step {
			for _, stage := range s.CPU {
				if used[stage.Stage] += stage.Seconds * s.Seconds; !slices.Contains(names, stage.Stage) {
					names = append(names, stage.Stage)
				}
			}
		}
	}
	names = slices.DeleteFunc(names, func(name string) bool { return used[name] <= 0 })
	order := slices.Clone(names)
	slices.SortStableFunc(order, func(a, b string) int { return cmp.Compare(used[b], used[a]) })
	few := order[:min(len(order), stagesShown)]
	sum := func(s *engine.Sample, counts func(stage string) bool) (v float64) {
		for _, stage := range s.CPU {
			if counts(stage.Stage) {
				v += stage.Seconds
			}
		}
		return v
	}
	var list []series
	for _, name := range names {
		if slices.Contains(few, name) {
			is := func(stage string) bool { return stage == name }
			list = append(list, series{name, func(s *engine.Sample) float64 { return sum(s, is) }})
		}
	}
	if len(order) > len(few) {
		other := func(stage string) bool { return !slices.Contains(few, stage) }
		list = append(list, series{"others", func(s *engine.Sample) float64 { return sum(s, other) }})
	}
	return list
}

// stagesShown is the number of stages that have a line of their own.
const stagesShown = 5

func countText(v float64) string { return numberText(fmt.Sprintf("%.0f", v)) }

// narrow says which stage of the pipeline a cause is about.
var narrow = map[engine.CauseKind]string{
	engine.CausePoliteness: "frontier", engine.CauseThrottled: "frontier", engine.CauseBudget: "frontier",
	engine.CauseScope: "frontier", engine.CauseRobots: "frontier", engine.CauseFetchers: "fetchers",
	engine.CauseProcessors: "fetchers",
	engine.CauseDNS:        "fetchers", engine.CauseNetwork: "fetchers", engine.CauseSilent: "fetchers",
	engine.CauseNoAnswer: "fetchers", engine.CauseTLS: "fetchers", engine.CauseProxy: "fetchers",
	engine.CauseHTTP: "fetchers", engine.CauseDiskFull: "WARC", engine.CauseDiskSilent: "WARC",
	engine.CauseBacklog: "updatedb", engine.CauseWriter: "index",
}

// fillPipeline says how much is where on the way from seed to index.
func (v *crawlView) fillPipeline(p *page) {
	g := v.Progress
	if g == nil {
		g = &engine.Progress{}
	}
	for _, f := range v.Status.Fetchers {
		if v.All += f.Count; f.Doing == engine.DoingIdle || f.Doing == engine.DoingHeld {
			v.Idle += f.Count
		}
	}
	for _, f := range v.Status.Fetchers {
		if f.Count > 0 && v.All > 0 {
			v.Fetchers = append(v.Fetchers, fetcherBar{
				doingTexts[f.Doing], f.Count, percent(uint64(f.Count), uint64(v.All)),
			})
		}
	}
	behind := func(n int) string {
		if n == 0 {
			return "up to date"
		}
		return plural(n, "segment") + " behind"
	}
	seg := v.Store.Segments
	sealed, updated, linked := seg[storage.SegmentSealed], seg[storage.SegmentUpdated], seg[storage.SegmentLinked]
	v.Stages = []pipeStage{
		{"seeds", "", "what crawls begin with", p.Path("/report/seeds"), false},
		{"frontier", numberText(g.Queued), "URLs in memory", p.Path("/urls", "status", "db_unfetched"), false},
		{"fetchers", fmt.Sprintf("%d of %d", v.All-v.Idle, v.All), "at work", "#fetchers", false},
		{"WARC", byteText(v.Store.WARCBytes), plural(v.Store.WARCFiles, "file"), p.Path("/report/types"), false},
		{"updatedb", numberText(sealed), behind(sealed), p.Path("/segments"), false},
		{"linkdb", numberText(updated), behind(updated), p.Path("/segments"), false},
		{"index", numberText(v.Store.Documents), "documents, " + behind(linked), p.Path("/"), false},
	}
	for i := range v.Stages {
		v.Stages[i].Narrow = v.Running && narrow[g.Cause.Kind] == v.Stages[i].Name
	}
}

// doingTexts say in words what a fetcher does or waits for.
var doingTexts = map[engine.FetcherDoing]string{
	engine.DoingHeld: "held back", engine.DoingIdle: "no host may be visited",
	engine.DoingPrepare: "reads what is known", engine.DoingRobots: "robots.txt",
	engine.DoingRequest: "a request", engine.DoingDNS: "DNS", engine.DoingConnection: "room for a connection",
	engine.DoingConnect: "connecting", engine.DoingTLS: "TLS handshake", engine.DoingFirstByte: "the first byte",
	engine.DoingBody: "the body", engine.DoingMemory: "memory for the body", engine.DoingSlot: "its turn to parse",
	engine.DoingParse: "parsing", engine.DoingWrite: "writing", engine.DoingPage: "OnPage",
}

// fillCounts makes rows of what is counted.
func (v *crawlView) fillCounts() {
	total := uint64(0)
	for _, n := range v.Store.URLs {
		total += n
	}
	for _, s := range slices.Sorted(maps.Keys(v.Store.URLs)) {
		v.URLs = append(v.URLs, statusCount{s, v.Store.URLs[s], percent(v.Store.URLs[s], total)})
	}
	if v.Progress != nil {
		v.Failures = kindsOf(v.Progress.Failures)
	}
	for _, r := range v.Store.Ranges {
		v.Stored += r.Bytes
	}
	// Small writes are in the log until there are enough for a table: all of a small store may be there.
	log := engine.RangeBytes{Name: "log: not in tables yet", Bytes: v.Store.Tables.LogBytes}
	warc := engine.RangeBytes{Name: "WARC files", Bytes: v.Store.WARCBytes}
	v.Stored += log.Bytes + warc.Bytes
	for _, r := range append(slices.Clone(v.Store.Ranges), log, warc) {
		if r.Bytes > 0 {
			v.Ranges = append(v.Ranges, rangeBar{r.Name, r.Bytes, percent(r.Bytes, v.Stored)})
		}
	}
	slices.SortStableFunc(v.Ranges, func(a, b rangeBar) int { return cmp.Compare(b.Bytes, a.Bytes) })
	for _, s := range v.Memory.Shares {
		used, limit := uint64(max(s.UsedBytes, 0)), uint64(max(s.LimitBytes, 0))
		v.Shares = append(v.Shares, shareBar{s.Name, used, limit, min(percent(used, limit), 100)})
	}
}
