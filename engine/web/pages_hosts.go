// SPDX-License-Identifier: Apache-2.0

package web

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/seine-crawler/seine/engine"
	"github.com/seine-crawler/seine/storage"
)

// hostsView is the list of hosts.
type hostsView struct {
	Find     string
	ByName   bool // the order is that of names, which has a next page; else those with the most of a number are first
	Columns  []column
	Rows     []hostRow
	Late     bool // the list ended early: it took too long
	More     bool
	First    string
	Previous string
	Next     string
	Blocked  []string
	Done     string // what a button did
}

type hostRow struct {
	engine.HostView
	Shown   string
	Fetched uint64
	Queued  uint64
	Gone    uint64
}

// hostColumns are the columns of the list of hosts, with their orders.
var hostColumns = []struct {
	name  string
	order engine.HostOrder
}{
	{"URLs", engine.HostURLs}, {"fetched", engine.HostFetched}, {"unfetched", engine.HostUnfetched},
	{"gone", engine.HostGone}, {"received", engine.HostBytes}, {"fetchers", engine.HostTook},
}

// byName is the order of hosts that has many pages.
const byName = "name"

// hostsPage lists hosts: GET /hosts?find=…&by=…&after=…&back=….
func (h *Handler) hostsPage(w http.ResponseWriter, r *http.Request) {
	p := &page{Room: "hosts", Title: "Hosts", base: h.o.Prefix}
	v := &hostsView{Done: doneText(r), Find: hostPart(r.URL.Query().Get("find"))}
	ctx, cancel := context.WithTimeout(r.Context(), listTime)
	defer cancel()
	query := r.URL.Query()
	by := engine.HostOrder(query.Get("by"))
	if v.ByName = v.Find != "" || by == byName; v.ByName {
		by = byName
	} else if !slices.Contains(engine.HostOrders(), by) {
		by = engine.HostURLs
	}
	trail := trailOf(query)
	filter := engine.HostFilter{Top: rowsShown + 1, By: by}
	if v.ByName {
		filter = engine.HostFilter{After: trail.After}
	}
	at := func(more ...any) string { return p.Path("/hosts", append(more, "find", v.Find, "by", byName)...) }
	v.Columns = columnsOf(p, by)
	for host, err := range h.e.Inspect().Hosts(ctx, filter) {
		if v.Late = errors.Is(err, context.DeadlineExceeded); v.Late {
			break
		}
		if err != nil {
			h.failed(w, r, p.Room, err)
			return
		}
		if host.URLs == 0 || !strings.Contains(host.Host, v.Find) && !strings.Contains(shownHost(host.Host), v.Find) {
			continue
		}
		if n := len(v.Rows); n == rowsShown {
			if v.More = true; v.ByName {
				v.Next = at(trail.next(v.Rows[n-1].Host)...)
			}
			break
		}
		v.Rows = append(v.Rows, rowOf(host))
	}
	if v.Late {
		h.addNamed(r.Context(), v)
	}
	if previous, known := trail.previous(); known && v.ByName {
		v.Previous = at(previous...)
	}
	if trail.After != "" && v.ByName {
		v.First = at()
	}
	v.Blocked, _ = h.e.Inspect().Blocked() // the list is worth showing without them
	p.Body = v
	h.show(w, http.StatusOK, "hosts", p)
}

// addNamed adds the host that has just the name that somebody looks for: its place in a long list may not be reached in
// time.
func (h *Handler) addNamed(ctx context.Context, v *hostsView) {
	if v.Find == "" || slices.ContainsFunc(v.Rows, func(row hostRow) bool { return row.Host == v.Find }) {
		return
	}
	for host, err := range h.e.Inspect().Hosts(ctx, engine.HostFilter{Host: v.Find}) {
		if err == nil && host.URLs > 0 { // else there is none of this name
			v.Rows = append(v.Rows, rowOf(host))
		}
	}
}

// hostPart is the part of a host name that somebody looks for: of a URL, complete or without its scheme, its host.
func hostPart(find string) string {
	find = strings.ToLower(clean(find, queryMax))
	scheme, rest, whole := strings.Cut(find, "://")
	if whole {
		find = rest
	}
	if end := strings.IndexAny(find, "/?#"); end > 0 {
		find = find[:end]
	}
	find = find[strings.LastIndexByte(find, '@')+1:]
	switch scheme {
	case "http":
		return strings.TrimSuffix(find, ":80")
	case "https":
		return strings.TrimSuffix(find, ":443")
	}
	return find
}

// columnsOf are the heads of the list of hosts, each with the way to its order.
func columnsOf(p *page, by engine.HostOrder) []column {
	list := []column{{Name: "Host", Address: p.Path("/hosts", "by", byName)}}
	if by == byName {
		list[0].Sort = "ascending"
	}
	for _, c := range hostColumns {
		head := column{Name: c.name, Number: true, Address: p.Path("/hosts", "by", string(c.order))}
		if c.order == engine.HostURLs {
			head.Address = p.Path("/hosts")
		}
		if c.order == by {
			head.Sort = "descending"
		}
		list = append(list, head)
	}
	return append(list, column{Name: "next due"}, column{Name: "robots.txt"})
}

func rowOf(host engine.HostView) hostRow {
	by := func(order engine.HostOrder) (n uint64) {
		for _, s := range order.Statuses() {
			n += uint64(host.ByStatus[s])
		}
		return n
	}
	return hostRow{
		HostView: host, Shown: shownHost(host.Host),
		Fetched: by(engine.HostFetched), Queued: by(engine.HostUnfetched), Gone: by(engine.HostGone),
	}
}

// hostPageView is the story of a host, with what a running crawl does with it.
type hostPageView struct {
	engine.HostStory
	Now      engine.HostNow
	Shown    string
	Statuses []statusCount
	Kinds    []kindCount
	Records  []recordRow // of LastFailures

	Permitted bool
	Done      string // what a button did
}

type statusCount struct {
	Status  storage.Status
	Count   uint64
	Percent float64
}

type kindCount struct {
	Kind    string
	Count   uint64
	Percent float64
}

// hostPage tells the story of a host: GET /host?host=….
func (h *Handler) hostPage(w http.ResponseWriter, r *http.Request) {
	p := &page{Room: "hosts", base: h.o.Prefix, Scripts: []string{"live.js"}}
	name := strings.TrimSpace(r.URL.Query().Get("host"))
	story, err := h.e.Inspect().HostStory(r.Context(), name)
	if errors.Is(err, engine.ErrNotFound) {
		h.noHost(w, r, p, name)
		return
	}
	if err != nil {
		h.failed(w, r, p.Room, err)
		return
	}
	v := &hostPageView{HostStory: story, Shown: shownHost(story.Host), Permitted: h.permitted(r), Done: doneText(r)}
	if v.Now, err = h.e.Inspect().HostNow(story.Host); err != nil {
		h.failed(w, r, p.Room, err)
		return
	}
	for _, s := range slices.Sorted(maps.Keys(story.ByStatus)) {
		n := uint64(story.ByStatus[s])
		v.Statuses = append(v.Statuses, statusCount{s, n, percent(n, story.URLs)})
	}
	v.Kinds = kindsOf(story.Failures)
	for _, record := range story.LastFailures {
		v.Records = append(v.Records, recordRow{record, shownURL(record.URL)})
	}
	p.Title, p.Body = v.Shown, v
	h.show(w, http.StatusOK, "host", p)
}

// noHost answers for a host that is not known: where it is known with one port only, that is meant.
func (h *Handler) noHost(w http.ResponseWriter, r *http.Request, p *page, name string) {
	ports, _ := h.e.Inspect().Ports(name) // else it is not known at all
	if len(ports) == 1 {
		http.Redirect(w, r, p.Path("/host", "host", ports[0]), http.StatusSeeOther)
		return
	}
	help := "The list of hosts finds it by a part of its name. Where its URLs have a port, so does its name: " +
		"example.org:8080."
	if len(ports) > 1 {
		help = "It is known with a port: " + strings.Join(ports, ", ") + "."
	}
	h.fail(w, http.StatusNotFound, p.Room, "No host "+name+" is known.", help)
}

// kindsOf sorts counts, the largest first.
func kindsOf(counts map[string]uint64) []kindCount {
	var list []kindCount
	total := uint64(0)
	for _, n := range counts {
		total += n
	}
	for _, kind := range slices.Sorted(maps.Keys(counts)) {
		list = append(list, kindCount{kind, counts[kind], percent(counts[kind], total)})
	}
	slices.SortStableFunc(list, func(a, b kindCount) int { return cmp.Compare(b.Count, a.Count) })
	return list
}

func percent(part, whole uint64) float64 {
	if whole == 0 {
		return 0
	}
	return 100 * float64(part) / float64(whole)
}

// hostStates say where a host is in the schedule of a running crawl, as titles.
var hostStates = map[engine.HostState]string{
	engine.HostAbsent:   "Not being crawled",
	engine.HostDormant:  "Nothing to fetch",
	engine.HostRefill:   "Its URLs are being chosen",
	engine.HostWaiting:  "Waits for its delay",
	engine.HostTurn:     "Waits for a host at the same address",
	engine.HostReady:    "Ready",
	engine.HostInFlight: "Being visited",
	engine.HostAsleep:   "Asleep: it failed too often",
	engine.HostResting:  "Rests for long",
}

// budgetText says on one line what is used of a budget, and of how much.
func budgetText(b engine.BudgetView) string {
	var parts []string
	if b.MaxPages > 0 {
		parts = append(parts, numberText(b.Pages)+" of "+numberText(b.MaxPages)+" pages")
	}
	if b.MaxBytes > 0 {
		parts = append(parts, byteText(b.Bytes)+" of "+byteText(b.MaxBytes))
	}
	if b.MaxTook > 0 {
		took, most := time.Duration(b.Took), time.Duration(b.MaxTook)
		parts = append(parts, spanText(took)+" of "+spanText(most)+" of fetchers")
	}
	return clean(shownHost(b.Of), hostShown) + ": " + strings.Join(parts, ", ")
}
