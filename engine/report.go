// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/seine-crawler/seine/engine/internal/phases"
	"github.com/seine-crawler/seine/engine/internal/segment"
)

// Report says what a phase did. Each phase returns its own type, whose fields are JSON.
type Report interface {
	// String is one line of counts and time.
	String() string
}

// Duration is a time.Duration that JSON shows as a number of seconds.
type Duration time.Duration

// Seconds returns the duration in seconds.
func (d Duration) Seconds() float64 { return time.Duration(d).Seconds() }

// String is that of time.Duration.
func (d Duration) String() string { return time.Duration(d).String() }

// MarshalJSON writes a number of seconds.
func (d Duration) MarshalJSON() ([]byte, error) {
	return strconv.AppendFloat(nil, d.Seconds(), 'f', -1, 64), nil
}

// UnmarshalJSON reads a number of seconds.
func (d *Duration) UnmarshalJSON(b []byte) error {
	seconds, err := strconv.ParseFloat(string(b), 64)
	if err != nil {
		return fmt.Errorf("reading a duration: %q is not a number of seconds", b)
	}
	*d = Duration(seconds * float64(time.Second))
	return nil
}

// InjectReport counts what became of seed lines.
type InjectReport struct {
	Lines     uint64   `json:"lines"`
	New       uint64   `json:"new"`
	Known     uint64   `json:"known"`   // kept as they were
	Changed   uint64   `json:"changed"` // overwritten or updated, as asked
	Merged    uint64   `json:"merged"`  // lines with the same URL as a later one
	Filtered  uint64   `json:"filtered"`
	Malformed uint64   `json:"malformed"`
	Examples  []string `json:"examples,omitempty"` // the first malformed lines and what is wrong with them
	Took      Duration `json:"seconds"`
}

func injectReport(in phases.Injected) InjectReport {
	return InjectReport{Lines: in.Lines, New: in.New, Known: in.Known, Changed: in.Changed, Merged: in.Merged,
		Filtered: in.Filtered, Malformed: in.Malformed, Examples: in.Examples}
}

func (r InjectReport) String() string {
	s := fmt.Sprintf("inject: %d new, %d known, %d changed of %d lines (%d merged, %d filtered, %d malformed) in %.2fs",
		r.New, r.Known, r.Changed, r.Lines, r.Merged, r.Filtered, r.Malformed, r.Took.Seconds())
	if len(r.Examples) > 0 {
		s += "; malformed: " + strings.Join(r.Examples, "; ")
	}
	return s
}

// GenerateReport says what a fetchlist holds.
type GenerateReport struct {
	Segment  uint32   `json:"segment"`
	Selected uint64   `json:"selected"`
	Hosts    uint64   `json:"hosts"`
	Due      uint64   `json:"due"` // due and wanted, before top N and per-host limits
	Took     Duration `json:"seconds"`
}

func generateReport(g phases.Generated) GenerateReport {
	return GenerateReport{Segment: g.Segment, Selected: g.Selected, Hosts: g.Hosts, Due: g.Due}
}

func (r GenerateReport) String() string {
	return fmt.Sprintf("generate: segment %d, %d of %d due URLs on %d hosts in %.2fs", r.Segment, r.Selected, r.Due, r.Hosts, r.Took.Seconds())
}

// SealReport says what a sealed segment holds.
type SealReport struct {
	Segment uint32   `json:"segment"`
	Pages   uint64   `json:"pages"`
	Links   uint64   `json:"links"`
	Bytes   uint64   `json:"bytes"`
	Torn    int64    `json:"torn_bytes"` // cut from the ends of WARC files that a crash had torn
	Took    Duration `json:"seconds"`
}

func (r SealReport) String() string {
	return fmt.Sprintf("parse: segment %d, %d pages, %d links, %d bytes in %.2fs", r.Segment, r.Pages, r.Links, r.Bytes, r.Took.Seconds())
}

// UpdateReport counts what updatedb changed.
type UpdateReport struct {
	Segment  uint32            `json:"segment"`
	Outcomes uint64            `json:"outcomes"`
	New      uint64            `json:"new"`
	Linked   uint64            `json:"linked"`             // known URLs that were linked to
	Filtered map[string]uint64 `json:"filtered,omitempty"` // links refused, by reason
	// Withheld URLs are refused for now: outside the scope, or by a live filter. Readmitted ones were, and are among New.
	Withheld   uint64   `json:"withheld,omitempty"`
	Readmitted uint64   `json:"readmitted,omitempty"`
	Took       Duration `json:"seconds"`
}

func updateReport(number uint32, u phases.Updated) UpdateReport {
	return UpdateReport{Segment: number, Outcomes: u.Outcomes, New: u.New, Linked: u.Linked, Filtered: u.Filtered,
		Withheld: u.Withheld, Readmitted: u.Readmitted.New}
}

func (r UpdateReport) String() string {
	var filtered uint64
	for _, n := range r.Filtered {
		filtered += n
	}
	return fmt.Sprintf("updatedb: segment %d, %d outcomes, %d new URLs, %d known ones linked, %d links filtered in %.2fs",
		r.Segment, r.Outcomes, r.New, r.Linked, filtered, r.Took.Seconds())
}

// InvertReport counts what invertlinks wrote.
type InvertReport struct {
	Segment uint32   `json:"segment"`
	Targets uint64   `json:"targets"`
	Inlinks uint64   `json:"inlinks"`
	Took    Duration `json:"seconds"`
}

func (r InvertReport) String() string {
	return fmt.Sprintf("invertlinks: segment %d, %d inlinks of %d targets in %.2fs", r.Segment, r.Inlinks, r.Targets, r.Took.Seconds())
}

// DedupReport counts what dedup decided.
type DedupReport struct {
	Groups   uint64   `json:"groups"` // signatures shared by several URLs
	Marked   uint64   `json:"marked"` // became db_duplicate
	Restored uint64   `json:"restored"`
	Deleted  uint64   `json:"deleted"` // left the index
	Closed   int      `json:"closed"`  // prefixes that were found to be traps
	Took     Duration `json:"seconds"`
}

func dedupReport(d phases.Deduped) DedupReport {
	return DedupReport{Groups: d.Groups, Marked: d.Marked, Restored: d.Restored, Deleted: d.Deleted, Closed: d.Closed}
}

func (r DedupReport) String() string {
	return fmt.Sprintf("dedup: %d groups of equal pages, %d marked, %d restored, %d left the index in %.2fs",
		r.Groups, r.Marked, r.Restored, r.Deleted, r.Took.Seconds())
}

// IndexReport counts what index did.
type IndexReport struct {
	Segments  []uint32 `json:"segments"`
	Added     uint64   `json:"added"`
	Refreshed uint64   `json:"refreshed"` // indexed again because their anchors changed
	Deleted   uint64   `json:"deleted"`
	Skipped   uint64   `json:"skipped"` // nothing to index: redirect, gone, duplicate, noindex, not text
	TextBytes uint64   `json:"text_bytes"`
	Took      Duration `json:"seconds"`
}

func (r IndexReport) String() string {
	return fmt.Sprintf("index: %d segments, %d documents added, %d refreshed, %d deleted, %d skipped, %d bytes of text in %.2fs",
		len(r.Segments), r.Added, r.Refreshed, r.Deleted, r.Skipped, r.TextBytes, r.Took.Seconds())
}

// FetchReport counts the outcomes of fetches. Every attempt is in exactly one of Fetched, NotModified, Redirected,
// RobotsDenied and Failed; Gone tells how many of Failed are gone for good (404 and its like) rather than to be tried
// again.
type FetchReport struct {
	Segment      uint32            `json:"segment,omitempty"`
	Fetched      uint64            `json:"fetched"`
	Failed       uint64            `json:"failed"`
	Gone         uint64            `json:"gone"`
	NotModified  uint64            `json:"not_modified"`
	Redirected   uint64            `json:"redirected"`
	RobotsDenied uint64            `json:"robots_denied"`
	Bytes        uint64            `json:"bytes"` // of bodies, as received
	Failures     map[string]uint64 `json:"failures,omitempty"`
	Took         Duration          `json:"seconds"`
}

func fetchReport(number uint32, c segment.Counts) FetchReport {
	return FetchReport{Segment: number, Fetched: c.Fetched, Failed: c.Failed, Gone: c.Gone, NotModified: c.NotModified,
		Redirected: c.Redirected, RobotsDenied: c.RobotsDenied, Bytes: c.Bytes, Failures: c.Failures}
}

// Attempts is the number of outcomes.
func (r FetchReport) Attempts() uint64 {
	return r.Fetched + r.Failed + r.NotModified + r.Redirected + r.RobotsDenied
}

func (r FetchReport) String() string {
	return fmt.Sprintf("fetch: segment %d, %d fetched, %d failed (%d gone), %d not modified, %d redirected, %d denied by robots, %d bytes in %.2fs",
		r.Segment, r.Fetched, r.Failed, r.Gone, r.NotModified, r.Redirected, r.RobotsDenied, r.Bytes, r.Took.Seconds())
}

// CrawlReport is what `seine crawl --json` prints when it ends.
type CrawlReport struct {
	FetchReport
	Discovered     uint64     `json:"discovered"` // URLs that became records, seeds included
	Duplicates     uint64     `json:"duplicates"` // pages marked db_duplicate
	Indexed        uint64     `json:"indexed"`
	PagesPerSecond float64    `json:"pages_per_second"`
	CPUSeconds     float64    `json:"cpu_seconds"`
	CPUByStage     StageCPU   `json:"cpu_by_stage"`
	Segments       uint64     `json:"segments"`
	HostsAsleep    uint64     `json:"hosts_asleep"`
	Stopped        StopReason `json:"stopped"`
}

func (r CrawlReport) String() string {
	s := fmt.Sprintf("crawl: %d fetched, %d failed (%d gone), %d not modified, %d redirected, %d denied by robots; %d discovered, %d duplicates, %d indexed; %d segments in %.2fs, %.0f pages/s, %.2f CPU s: %s (%s)",
		r.Fetched, r.Failed, r.Gone, r.NotModified, r.Redirected, r.RobotsDenied, r.Discovered, r.Duplicates, r.Indexed, r.Segments, r.Took.Seconds(), r.PagesPerSecond, r.CPUSeconds, r.CPUByStage, r.Stopped)
	if r.HostsAsleep > 0 {
		s += fmt.Sprintf("; %d hosts do not answer and are left alone for now", r.HostsAsleep)
	}
	return s
}
