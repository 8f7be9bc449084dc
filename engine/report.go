// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/seine-crawler/seine/engine/internal/phases"
	"github.com/seine-crawler/seine/engine/internal/segment"
)

// Report says what a phase did: InjectReport, GenerateReport, FetchReport, SealReport, UpdateReport, InvertReport,
// LinkRankReport, DedupReport, IndexReport, RecrawlReport, DeleteReport, PurgeReport, CrawlReport or one of Upkeep. All
// have JSON field names. Counts are of this run of the phase; Took is its time, in JSON as seconds under "seconds".
type Report interface {
	// String is one line of counts and time, without a line feed.
	String() string
}

// Duration is a time.Duration that JSON has as a number of seconds.
type Duration time.Duration

// Seconds returns the duration in seconds.
func (d Duration) Seconds() float64 { return time.Duration(d).Seconds() }

// String is that of time.Duration.
func (d Duration) String() string { return time.Duration(d).String() }

// MarshalJSON writes a number of seconds.
func (d Duration) MarshalJSON() ([]byte, error) {
	b := strconv.AppendInt(nil, int64(d)/int64(time.Second), 10)
	if d < 0 && b[0] != '-' {
		b = append([]byte{'-'}, b...)
	}
	if rest := int64(d) % int64(time.Second); rest != 0 {
		b = append(b, strings.TrimRight(fmt.Sprintf(".%09d", max(rest, -rest)), "0")...)
	}
	return b, nil
}

// UnmarshalJSON reads a number of seconds. What MarshalJSON wrote gives the same duration.
func (d *Duration) UnmarshalJSON(b []byte) error {
	if exact, err := time.ParseDuration(string(b) + "s"); err == nil {
		*d = Duration(exact)
		return nil
	}
	seconds, err := strconv.ParseFloat(string(b), 64) // with an exponent
	if err != nil {
		return fmt.Errorf("reading a duration: %q is not a number of seconds", b)
	}
	*d = Duration(math.Round(seconds * float64(time.Second)))
	return nil
}

// Milliseconds is a time.Duration that JSON has as a whole number of milliseconds, under a name that ends in _ms.
type Milliseconds time.Duration

// String is that of time.Duration.
func (d Milliseconds) String() string { return time.Duration(d).String() }

// MarshalJSON writes a number of milliseconds.
func (d Milliseconds) MarshalJSON() ([]byte, error) {
	return strconv.AppendInt(nil, time.Duration(d).Milliseconds(), 10), nil
}

// UnmarshalJSON reads a number of milliseconds.
func (d *Milliseconds) UnmarshalJSON(b []byte) error {
	ms, err := strconv.ParseInt(string(b), 10, 64)
	if err != nil {
		return fmt.Errorf("reading a duration: %q is not a number of milliseconds", b)
	}
	*d = Milliseconds(time.Duration(ms) * time.Millisecond)
	return nil
}

// milliseconds makes Milliseconds of a stored number of them.
func milliseconds[N uint32 | uint64](ms N) Milliseconds {
	return Milliseconds(time.Duration(ms) * time.Millisecond)
}

// InjectReport counts what became of seed lines.
type InjectReport struct {
	Lines     uint64   `json:"lines"`              // without comments and empty lines
	New       uint64   `json:"new"`                // records that were made
	Known     uint64   `json:"known"`              // records that stayed as they were, but are of depth 0 now
	Changed   uint64   `json:"changed"`            // records that Overwrite or Update changed
	Merged    uint64   `json:"merged"`             // lines with the same URL as a later one
	Filtered  uint64   `json:"filtered"`           // lines whose URL a filter refused
	Malformed uint64   `json:"malformed"`          // lines that are no seed
	Assumed   uint64   `json:"assumed,omitempty"`  // lines without a scheme: https is tried first, then http
	Examples  []string `json:"examples,omitempty"` // the first lines that were filtered or are malformed, and why
	Took      Duration `json:"seconds"`
}

func injectReport(in phases.Injected) InjectReport {
	return InjectReport{
		Lines: in.Lines, New: in.New, Known: in.Known, Changed: in.Changed, Merged: in.Merged, Filtered: in.Filtered,
		Malformed: in.Malformed, Assumed: in.Assumed, Examples: in.Examples,
	}
}

func (r InjectReport) String() string {
	s := fmt.Sprintf("inject: %d new, %d known, %d changed of %d lines (%d merged, %d filtered, %d malformed) in %.2fs",
		r.New, r.Known, r.Changed, r.Lines, r.Merged, r.Filtered, r.Malformed, r.Took.Seconds())
	if len(r.Examples) > 0 {
		s += "; not injected: " + strings.Join(r.Examples, "; ")
	}
	return s
}

// GenerateReport says what fetchlists hold.
type GenerateReport struct {
	Segment  uint32 `json:"segment"`  // that has the first fetchlist; 0: it was a dry run
	Selected uint64 `json:"selected"` // URLs in the fetchlists
	Hosts    uint64 `json:"hosts"`    // of these
	Due      uint64 `json:"due"`      // URLs that could be chosen, before the bounds of fetchlists
	// More says that there are more than Due: of a host with many more than MaxPerHost, only the best are looked at.
	More     bool     `json:"more,omitempty"`
	Segments []uint32 `json:"segments,omitempty"` // all of them
	// Held counts URLs that are due, were looked at and are left out, by reason: "top", "max_per_host",
	// "max_per_domain", "max_per_address", "min_score", "interval", "status", "in_fetchlist" (of a segment that
	// is not finished), "budget" (more than that of a host or domain still allows), or the reason of a filter or the
	// scope.
	Held map[string]uint64 `json:"held,omitempty"`
	// Unread counts hosts with more URLs that are due, which were not read and so are in no other count: "budget" (of
	// the host or its domain, which is used up: of pages, for new ones), "scope", "blocked", "depth" (these URLs are
	// deeper than the crawl goes), "top" (their scores are worse than those of all that was chosen).
	Unread map[string]uint64 `json:"unread_hosts,omitempty"`
	Took   Duration          `json:"seconds"`
}

func generateReport(g phases.Generated) GenerateReport {
	return GenerateReport{
		Segment: g.Segment, Selected: g.Selected, Hosts: g.Hosts, Due: g.Due, More: g.More, Segments: g.Segments,
		Held: g.Held, Unread: g.Unread,
	}
}

func (r GenerateReport) String() string {
	due := fmt.Sprint(r.Due)
	if r.More {
		due = "at least " + due
	}
	where := fmt.Sprintf("segment %d", r.Segment)
	switch n := len(r.Segments); {
	case n == 0:
		where = "dry run"
	case n > 1:
		where = fmt.Sprintf("segments %d to %d", r.Segments[0], r.Segments[n-1])
	}
	s := fmt.Sprintf("generate: %s, %d of %s due URLs on %d hosts in %.2fs",
		where, r.Selected, due, r.Hosts, r.Took.Seconds())
	return s + byReason("; held back: ", r.Held) + byReason("; hosts with more that was not read: ", r.Unread)
}

// byReason lists counts, "" if there are none.
func byReason(title string, counts map[string]uint64) string {
	var list []string
	for _, reason := range slices.Sorted(maps.Keys(counts)) {
		list = append(list, fmt.Sprintf("%d by %s", counts[reason], reason))
	}
	if len(list) == 0 {
		return ""
	}
	return title + strings.Join(list, ", ")
}

// SealReport says what a sealed segment holds.
type SealReport struct {
	Segment uint32   `json:"segment"`
	Pages   uint64   `json:"pages"`      // outcomes of fetches, failures included
	Links   uint64   `json:"links"`      // outlinks
	Bytes   uint64   `json:"bytes"`      // received: heads, framing and TLS included
	Torn    int64    `json:"torn_bytes"` // bytes of incomplete records, cut off the WARC files after a crash
	Took    Duration `json:"seconds"`
}

func (r SealReport) String() string {
	return fmt.Sprintf("parse: segment %d, %d pages, %d links, %d bytes in %.2fs",
		r.Segment, r.Pages, r.Links, r.Bytes, r.Took.Seconds())
}

// UpdateReport counts what updatedb changed.
type UpdateReport struct {
	Segment  uint32            `json:"segment"`
	Outcomes uint64            `json:"outcomes"`           // records that a fetch changed
	New      uint64            `json:"new"`                // records that were made
	Linked   uint64            `json:"linked"`             // known URLs that pages of the segment link to
	Filtered map[string]uint64 `json:"filtered,omitempty"` // links that were refused for good, by reason
	// Withheld counts URLs that the scope or a live filter refuses for now, Readmitted those that were withheld
	// before and are permitted now; these are among New.
	Withheld   uint64   `json:"withheld,omitempty"`
	Readmitted uint64   `json:"readmitted,omitempty"`
	Took       Duration `json:"seconds"`
}

func updateReport(number uint32, u phases.Updated) UpdateReport {
	return UpdateReport{
		Segment: number, Outcomes: u.Outcomes, New: u.New, Linked: u.Linked, Filtered: u.Filtered,
		Withheld: u.Withheld, Readmitted: u.Readmitted.New,
	}
}

func (r UpdateReport) String() string {
	var filtered uint64
	for _, n := range r.Filtered {
		filtered += n
	}
	return fmt.Sprintf("updatedb: segment %d, %d outcomes, %d new URLs, %d known ones linked, %d links filtered "+
		"in %.2fs",
		r.Segment, r.Outcomes, r.New, r.Linked, filtered, r.Took.Seconds())
}

// InvertReport counts what invertlinks wrote.
type InvertReport struct {
	Segment uint32   `json:"segment"`
	Targets uint64   `json:"targets"`          // URLs that pages of the segment link to
	Inlinks uint64   `json:"inlinks"`          // distinct links
	Purged  uint64   `json:"purged,omitempty"` // records that Options.PurgeGone and PurgeOrphans removed
	Took    Duration `json:"seconds"`
}

func (r InvertReport) String() string {
	s := fmt.Sprintf("invertlinks: segment %d, %d inlinks of %d targets in %.2fs",
		r.Segment, r.Inlinks, r.Targets, r.Took.Seconds())
	if r.Purged > 0 {
		s += fmt.Sprintf("; %d records purged", r.Purged)
	}
	return s
}

// DedupReport counts what dedup decided.
type DedupReport struct {
	Groups   uint64   `json:"groups"`   // signatures that several URLs share
	Marked   uint64   `json:"marked"`   // pages that became db_duplicate
	Restored uint64   `json:"restored"` // pages that are no longer db_duplicate
	Deleted  uint64   `json:"deleted"`  // documents that left the index
	Near     uint64   `json:"near"`     // fingerprints that got or lost a page, and were grouped again
	Closed   int      `json:"closed"`   // parts of sites that were closed as traps: see Options.TrapDuplicates
	Took     Duration `json:"seconds"`
}

func dedupReport(d phases.Deduped) DedupReport {
	return DedupReport{
		Groups: d.Groups, Marked: d.Marked, Restored: d.Restored, Deleted: d.Deleted, Near: d.Near, Closed: d.Closed,
	}
}

func (r DedupReport) String() string {
	return fmt.Sprintf("dedup: %d groups of equal pages, %d marked, %d restored, %d left the index, "+
		"%d compared with near-duplicates in %.2fs",
		r.Groups, r.Marked, r.Restored, r.Deleted, r.Near, r.Took.Seconds())
}

// IndexReport counts what index did.
type IndexReport struct {
	Segments  []uint32 `json:"segments"`   // that are indexed now
	Added     uint64   `json:"added"`      // documents of URLs that had none
	Refreshed uint64   `json:"refreshed"`  // documents that replaced another: page or anchors changed
	Deleted   uint64   `json:"deleted"`    // documents of pages that have nothing to index any more, or are denied
	Denied    uint64   `json:"denied"`     // of Deleted, those that a filter file denies
	Skipped   uint64   `json:"skipped"`    // URLs with nothing to index: redirect, gone, duplicate, noindex, not text
	TextBytes uint64   `json:"text_bytes"` // of those that were read: not where new anchors alone came
	Took      Duration `json:"seconds"`    // without merging and sending

	Merged  int          `json:"merged,omitempty"`  // index segments that were merged into others, by Engine.Index
	Writers []SendReport `json:"writers,omitempty"` // of a call of Engine.Index
}

func (r IndexReport) String() string {
	return fmt.Sprintf("index: %d segments, %d documents added, %d refreshed, %d deleted (%d of them denied), "+
		"%d skipped, %d bytes of text in %.2fs%s%s",
		len(r.Segments), r.Added, r.Refreshed, r.Deleted, r.Denied, r.Skipped, r.TextBytes, r.Took.Seconds(),
		r.merged(), sendLines(r.Writers))
}

// add adds what another goroutine counted.
func (r *IndexReport) add(other *IndexReport) {
	r.Added += other.Added
	r.Refreshed += other.Refreshed
	r.Deleted += other.Deleted
	r.Denied += other.Denied
	r.Skipped += other.Skipped
	r.TextBytes += other.TextBytes
}

func (r IndexReport) merged() string {
	if r.Merged == 0 {
		return ""
	}
	return fmt.Sprintf(", %d index segments merged", r.Merged)
}

// SendReport counts what one index writer got.
type SendReport struct {
	Writer  string `json:"writer"`  // its name
	Sent    uint64 `json:"sent"`    // documents, new or changed
	Deleted uint64 `json:"deleted"` // documents
	Refused uint64 `json:"refused"` // changes that the other engine will never take as they are
	// Failed says that the rest waits for the next run, and why; "": all is sent.
	Failed string   `json:"failed,omitempty"`
	Took   Duration `json:"seconds"`
}

func (r SendReport) String() string {
	s := fmt.Sprintf("sent to %s: %d documents, %d deletions, %d refused in %.2fs",
		r.Writer, r.Sent, r.Deleted, r.Refused, r.Took.Seconds())
	if r.Failed != "" {
		s += "; the rest waits: " + r.Failed
	}
	return s
}

// sendLines are reports as lines that follow another.
func sendLines(list []SendReport) (s string) {
	for _, r := range list {
		s += "\n" + r.String()
	}
	return s
}

// FetchReport counts the outcomes of fetches that are on disk. Each is in exactly one of Fetched, NotModified,
// Redirected, RobotsDenied and Failed.
type FetchReport struct {
	Segment      uint32 `json:"segment,omitempty"` // 0 in a CrawlReport
	Fetched      uint64 `json:"fetched"`           // pages
	Failed       uint64 `json:"failed"`
	Gone         uint64 `json:"gone"`          // of Failed, gone for good (404, 410 …): not tried again
	NotModified  uint64 `json:"not_modified"`  // unchanged since the last fetch
	Redirected   uint64 `json:"redirected"`    // answered with a redirect
	RobotsDenied uint64 `json:"robots_denied"` // not requested
	// CrawlDelay is the part of RobotsDenied whose robots.txt demands a longer delay than Options.MaxCrawlDelay.
	CrawlDelay uint64 `json:"crawl_delay,omitempty"`
	// Bytes were received, for robots.txt and for what has no outcome too: heads, framing and TLS included.
	Bytes uint64 `json:"bytes"`
	// Replayed counts requests that were sent again after the host's delay, because their kept connection was closed.
	Replayed uint64            `json:"replayed,omitempty"`
	Failures map[string]uint64 `json:"failures,omitempty"` // Failed by kind
	Took     Duration          `json:"seconds"`
	Cause    Cause             `json:"cause"` // why it ended, and what it left
}

func fetchReport(number uint32, c segment.Counts) FetchReport {
	return FetchReport{
		Segment: number, Fetched: c.Fetched, Failed: c.Failed, Gone: c.Gone, NotModified: c.NotModified,
		Redirected: c.Redirected, RobotsDenied: c.RobotsDenied, CrawlDelay: c.CrawlDelay, Bytes: c.Bytes,
		Replayed: c.Replayed, Failures: c.Failures,
	}
}

// Attempts returns the number of outcomes.
func (r FetchReport) Attempts() uint64 {
	return r.Fetched + r.Failed + r.NotModified + r.Redirected + r.RobotsDenied
}

// NothingFetched reports whether a fetch was to request something and nothing came of it: the cause says why.
func (r FetchReport) NothingFetched() bool {
	return r.Attempts() == 0 && r.Cause.Kind != CauseInterrupted && r.Cause.Kind != CauseDone &&
		r.Cause.Kind != CauseNothingDue
}

func (r FetchReport) String() string {
	s := fmt.Sprintf("fetch: segment %d, %d fetched, %d failed (%d gone), %d not modified, %d redirected, "+
		"%d denied by robots, %d bytes in %.2fs",
		r.Segment, r.Fetched, r.Failed, r.Gone, r.NotModified, r.Redirected, r.RobotsDenied, r.Bytes, r.Took.Seconds())
	return s + r.replayed()
}

// replayed is the end of a line about r; "" if no request was sent again.
func (r FetchReport) replayed() string {
	if r.Replayed == 0 {
		return ""
	}
	return fmt.Sprintf("; %d requests sent again, their connections were closed", r.Replayed)
}

// CrawlReport counts what one crawl did: what `seine crawl --json` prints.
type CrawlReport struct {
	FetchReport
	Discovered     uint64     `json:"discovered"`       // URLs that became crawldb records, seeds included
	Duplicates     uint64     `json:"duplicates"`       // pages marked db_duplicate, less those restored
	Indexed        uint64     `json:"indexed"`          // documents added, less those that left the index
	Documents      uint64     `json:"documents"`        // in the index, at the end
	Denied         uint64     `json:"denied,omitempty"` // documents that left the index: a filter file denies them now
	PagesPerSecond float64    `json:"pages_per_second"` // Fetched by Took
	CPUSeconds     float64    `json:"cpu_seconds"`      // of the process, user and system
	CPUByStage     StageCPU   `json:"cpu_by_stage"`     // parts of CPUSeconds
	Segments       uint64     `json:"segments"`         // that were filled
	HostsAsleep    uint64     `json:"hosts_asleep"`     // at the end, after failures
	Stopped        StopReason `json:"stopped"`
	// Draining is the part of Took after the last request ended, well or not, or a visit began: waiting for hosts, then
	// bringing what was fetched into crawldb, linkdb and the index. It is 0 if nothing but fetchlists of Generate was
	// visited.
	Draining Duration `json:"draining_seconds"`

	Writers []SendReport `json:"writers,omitempty"` // since the start of the crawl
}

func (r CrawlReport) String() string {
	indexed := fmt.Sprintf("%d indexed", r.Indexed)
	if r.Documents != r.Indexed {
		indexed += fmt.Sprintf(" (%d documents in the index)", r.Documents)
	}
	if r.Denied > 0 {
		indexed += fmt.Sprintf(", %d denied ones left the index", r.Denied)
	}
	return fmt.Sprintf("crawl: %d fetched, %d failed (%d gone), %d not modified, %d redirected, %d denied by robots; "+
		"%d discovered, %d duplicates, %s; %d segments in %.2fs, %.0f pages/s (%s)",
		r.Fetched, r.Failed, r.Gone, r.NotModified, r.Redirected, r.RobotsDenied,
		r.Discovered, r.Duplicates, indexed, r.Segments, r.Took.Seconds(), r.PagesPerSecond,
		r.Stopped) + r.replayed() + sendLines(r.Writers)
}

// NothingFetched reports whether the crawl was to fetch something and got no page: the cause says why. It is false
// where nothing was due within the budgets, and where the crawl was interrupted.
func (r CrawlReport) NothingFetched() bool {
	switch r.Cause.Kind {
	case CauseNothingDue, CauseBudget, CauseInterrupted:
		return false
	}
	return r.Fetched+r.NotModified == 0
}
