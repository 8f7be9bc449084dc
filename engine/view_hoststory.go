// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/seine-crawler/seine/engine/internal/admission"
	"github.com/seine-crawler/seine/engine/internal/inspect"
	"github.com/seine-crawler/seine/storage/urlkey"
)

// HostStory is everything that a data directory has of one host. What a running crawl does with it at this moment is in
// Inspector.HostNow.
type HostStory struct {
	HostView
	Domain string `json:"domain"` // registered domain
	// RobotsRules are the robots.txt files as stored, RobotsAgent is the product token that selects their group.
	RobotsRules []RobotsText `json:"robots_rules,omitempty"`
	RobotsAgent string       `json:"robots_agent,omitempty"`
	// Delay is the time between two requests, and DelayBy says whose it is: "crawl", "section" of the host in the
	// settings, or "robots.txt".
	Delay   Duration `json:"delay_seconds"`
	DelayBy string   `json:"delay_by"`
	// PausedUntil is when the host may be visited again; zero: now. FailedVisits and Throttles (429, 503) are those in
	// a row.
	PausedUntil  time.Time    `json:"paused_until,omitzero"`
	FailedVisits uint16       `json:"failed_visits,omitempty"`
	Throttles    uint16       `json:"throttles,omitempty"`
	Response     Milliseconds `json:"response_ms,omitzero"` // of a visit of late
	// Waits says why URLs that are due are not fetched yet, in the words of `seine check url`.
	Waits []string `json:"waits,omitempty"`
	// Failures counts, by kind, the URLs whose last fetch brought no page; LastFailures are the newest of these, at
	// most 20. FailuresPartial: the host has more than 200,000 URLs, and only the first of these count.
	Failures        map[string]uint64 `json:"failures,omitempty"`
	FailuresPartial bool              `json:"failures_partial,omitempty"`
	LastFailures    []RecordView      `json:"last_failures,omitempty"`
	Budgets         []BudgetView      `json:"budgets,omitempty"` // those that have a limit
	Closed          []string          `json:"closed_prefixes,omitempty"`
}

// RobotsText is the robots.txt of one scheme of a host, as stored.
type RobotsText struct {
	Scheme string `json:"scheme"`
	Text   string `json:"text"` // bytes that are not UTF-8 are replaced
}

// BudgetView is a budget of a host or of a registered domain, and what is used of it. Limits that are 0 do not exist.
type BudgetView struct {
	Of       string   `json:"of"` // the host or the domain
	Pages    int64    `json:"pages"`
	MaxPages int64    `json:"max_pages,omitempty"`
	Bytes    int64    `json:"bytes"`
	MaxBytes int64    `json:"max_bytes,omitempty"`
	Took     Duration `json:"seconds"` // of fetchers
	MaxTook  Duration `json:"max_seconds,omitzero"`
}

// String is the budget on one line: what is used, and of how much.
func (b BudgetView) String() string {
	var parts []string
	if b.MaxPages > 0 {
		parts = append(parts, fmt.Sprintf("%d of %d pages", b.Pages, b.MaxPages))
	}
	if b.MaxBytes > 0 {
		parts = append(parts, fmt.Sprintf("%d of %d bytes", b.Bytes, b.MaxBytes))
	}
	if b.MaxTook > 0 {
		parts = append(parts, fmt.Sprintf("%s of %s of fetch time", b.Took, b.MaxTook))
	}
	return b.Of + ": " + strings.Join(parts, ", ")
}

// String tells the story for people, on many lines.
func (h HostStory) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n", h.HostView)
	row := func(name, format string, args ...any) {
		fmt.Fprintf(&b, "  %-10s %s\n", name, strings.Map(printableOrTab, fmt.Sprintf(format, args...)))
	}
	row("domain", "%s", h.Domain)
	row("delay", "%s (%s)", h.Delay, h.DelayBy)
	if h.Response > 0 {
		row("answers", "in %s", h.Response)
	}
	if h.Latency.Answers > 0 {
		row("latency", "%s of %d answers", h.Latency, h.Latency.Answers)
	}
	if !h.NextDue.IsZero() {
		row("next due", "%s", timeText(h.NextDue))
	}
	for _, why := range h.Waits {
		row("waits", "%s", why)
	}
	for _, budget := range h.Budgets {
		row("budget", "%s", budget)
	}
	for _, prefix := range h.Closed {
		row("closed", "%s shows the same pages under ever new URLs", prefix)
	}
	for _, kind := range slices.Sorted(maps.Keys(h.Failures)) {
		row("failed", "%s %d", kind, h.Failures[kind])
	}
	for _, r := range h.LastFailures {
		row("last", "%s\t%s\t%s", timeText(r.LastFetch), r.answer(), r.URL)
	}
	for _, r := range h.RobotsRules {
		fmt.Fprintf(&b, "%s://%s/robots.txt as %s reads it:\n", r.Scheme, h.Host, orDash(h.RobotsAgent))
		for line := range strings.Lines(r.Text) {
			fmt.Fprintf(&b, "  | %s\n", strings.Map(onePrintable, strings.TrimRight(line, "\r\n")))
		}
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// viewHostStory makes a view of a story. crawlDelay is that of the crawl.
func (o *Options) viewHostStory(s *inspect.HostStory, crawlDelay time.Duration) (HostStory, error) {
	host, err := viewHost(s.Host)
	if err != nil {
		return HostStory{}, err
	}
	v := HostStory{
		HostView: host, Domain: s.Key.Domain(), RobotsAgent: o.agentOf(s.Key), PausedUntil: timeOf(s.State.NextFetch),
		FailedVisits: s.State.Failures, Throttles: s.State.Throttles, Response: milliseconds(s.State.ResponseMS),
		Failures: s.Failures, FailuresPartial: s.Partial, Closed: s.Closed,
	}
	v.Delay, v.DelayBy = o.delayOf(s, crawlDelay)
	for _, a := range s.Authorities {
		if len(a.Facts.Robots) > 0 {
			text := strings.ToValidUTF8(string(a.Facts.Robots), "\ufffd")
			v.RobotsRules = append(v.RobotsRules, RobotsText{a.Scheme, text})
		}
	}
	for _, r := range s.Newest {
		record, err := viewRecord(r)
		if err != nil {
			return v, err
		}
		v.LastFailures = append(v.LastFailures, record)
	}
	v.Budgets = appendBudget(v.Budgets, v.Host, s.Own)
	v.Budgets = appendBudget(v.Budgets, v.Domain, s.Domain)
	return v, nil
}

func appendBudget(list []BudgetView, of string, b admission.Budget) []BudgetView {
	if b.Limit == (admission.Cost{}) {
		return list
	}
	return append(list, BudgetView{
		Of: of, Pages: b.Used.URLs, MaxPages: b.Limit.URLs, Bytes: b.Used.Bytes, MaxBytes: b.Limit.Bytes,
		Took: Duration(b.Used.Time), MaxTook: Duration(b.Limit.Time),
	})
}

// delayOf returns the time between two requests to a host, and whose it is.
func (o *Options) delayOf(s *inspect.HostStory, crawlDelay time.Duration) (Duration, string) {
	delay, by := crawlDelay, "crawl" // negative: none
	if o.HostPolicy != nil {
		if set := o.HostPolicy.Settings(s.Key); set != nil && set.Delay != 0 {
			delay, by = set.Delay, "section"
		}
	}
	most := o.frontierCrawlDelay()
	if most == 0 {
		most = crawlDelayUsual
	}
	robots := min(time.Duration(s.State.CrawlDelayMS)*time.Millisecond, most)
	if delay = max(delay, 0); robots > delay {
		delay, by = robots, "robots.txt"
	}
	return Duration(delay), by
}

// rootOf is the URL of a host's first page, in a scheme that is known of it.
func rootOf(s *inspect.HostStory) (urlkey.URL, error) {
	scheme := "https"
	if len(s.Authorities) > 0 {
		scheme = s.Authorities[len(s.Authorities)-1].Scheme
	}
	return urlkey.Parse(scheme + "://" + s.Key.String() + "/")
}
