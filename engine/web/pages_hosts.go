// SPDX-License-Identifier: Apache-2.0

package web

import (
	"context"
	"errors"
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/seine-crawler/seine/engine"
	"github.com/seine-crawler/seine/storage"
)

// hostsMost is the number of hosts that the list has, those with most URLs first.
const hostsMost = 500

// hostsView is the list of hosts.
type hostsView struct {
	Find     string
	Rows     []hostRow
	Late     bool
	Total    int // that were looked at
	Previous string
	Next     string
	Blocked  []string
}

type hostRow struct {
	engine.HostView
	Shown   string
	Fetched uint64
	Queued  uint64
	Gone    uint64
	Speed   string // bytes a second of the fetchers
}

// hostsPage lists hosts, those with most URLs first: GET /hosts?find=….
func (h *Handler) hostsPage(w http.ResponseWriter, r *http.Request) {
	p := &page{Room: "hosts", Title: "Hosts", base: h.o.Prefix}
	v := &hostsView{Find: strings.ToLower(strings.TrimSpace(r.URL.Query().Get("find")))}
	ctx, cancel := context.WithTimeout(r.Context(), listTime)
	defer cancel()
	filter := engine.HostFilter{Top: hostsMost}
	if v.Find != "" {
		filter.Top = 0
	}
	window, n := windowOf(r), 0
	at := func(page int) string { return p.Path("/hosts", "find", v.Find, "page", page) }
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
		if n++; n <= window.skip {
			continue
		}
		if len(v.Rows) == rowsShown {
			v.Next = at(window.page + 1)
			break
		}
		v.Rows = append(v.Rows, rowOf(host))
	}
	if window.page > 1 {
		v.Previous = at(window.page - 1)
	}
	v.Blocked, _ = h.e.Blocked() // the list is worth showing without them
	p.Body = v
	h.show(w, http.StatusOK, "hosts", p)
}

func rowOf(host engine.HostView) hostRow {
	by := func(list ...storage.Status) (n uint64) {
		for _, s := range list {
			n += uint64(host.ByStatus[s])
		}
		return n
	}
	return hostRow{
		HostView: host, Shown: shownHost(host.Host),
		Fetched: by(storage.StatusFetched, storage.StatusNotModified, storage.StatusDuplicate, storage.StatusParseFailed),
		Queued:  by(storage.StatusUnfetched), Gone: by(storage.StatusGone),
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
	if err != nil {
		h.failed(w, r, p.Room, err)
		return
	}
	v := &hostPageView{HostStory: story, Shown: shownHost(story.Host)}
	if v.Now, err = h.e.HostNow(story.Host); err != nil {
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
	slices.SortStableFunc(list, func(a, b kindCount) int { return int(min(b.Count, 1<<40)) - int(min(a.Count, 1<<40)) })
	return list
}

func percent(part, whole uint64) float64 {
	if whole == 0 {
		return 0
	}
	return 100 * float64(part) / float64(whole)
}
