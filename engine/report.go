// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"fmt"
	"strings"
	"time"
)

// Report says what a phase did. Each phase returns its own type, whose fields are JSON.
type Report interface {
	// String is one line of counts and time.
	String() string
}

// Took is how long a phase ran, in seconds of wall time.
type Took float64

func since(start time.Time) Took { return Took(time.Since(start).Seconds()) }

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
	Seconds   Took     `json:"seconds"`
}

func (r InjectReport) String() string {
	s := fmt.Sprintf("inject: %d new, %d known, %d changed of %d lines (%d merged, %d filtered, %d malformed) in %.2fs",
		r.New, r.Known, r.Changed, r.Lines, r.Merged, r.Filtered, r.Malformed, r.Seconds)
	if len(r.Examples) > 0 {
		s += "; malformed: " + strings.Join(r.Examples, "; ")
	}
	return s
}

// GenerateReport says what a fetchlist holds.
type GenerateReport struct {
	Segment  uint32 `json:"segment"`
	Selected uint64 `json:"selected"`
	Hosts    uint64 `json:"hosts"`
	Due      uint64 `json:"due"` // due and wanted, before top N and per-host limits
	Seconds  Took   `json:"seconds"`
}

func (r GenerateReport) String() string {
	return fmt.Sprintf("generate: segment %d, %d of %d due URLs on %d hosts in %.2fs", r.Segment, r.Selected, r.Due, r.Hosts, r.Seconds)
}

// SealReport says what a sealed segment holds.
type SealReport struct {
	Segment uint32 `json:"segment"`
	Pages   uint64 `json:"pages"`
	Links   uint64 `json:"links"`
	Bytes   uint64 `json:"bytes"`
	Torn    int64  `json:"torn_bytes"` // cut from the ends of WARC files that a crash had torn
	Seconds Took   `json:"seconds"`
}

func (r SealReport) String() string {
	return fmt.Sprintf("parse: segment %d, %d pages, %d links, %d bytes in %.2fs", r.Segment, r.Pages, r.Links, r.Bytes, r.Seconds)
}

// UpdateReport counts what updatedb changed.
type UpdateReport struct {
	Segment  uint32            `json:"segment"`
	Outcomes uint64            `json:"outcomes"`
	New      uint64            `json:"new"`
	Linked   uint64            `json:"linked"` // known URLs that were linked to
	Filtered map[string]uint64 `json:"filtered,omitempty"`
	Seconds  Took              `json:"seconds"`
}

func (r UpdateReport) String() string {
	var filtered uint64
	for _, n := range r.Filtered {
		filtered += n
	}
	return fmt.Sprintf("updatedb: segment %d, %d outcomes, %d new URLs, %d known ones linked, %d links filtered in %.2fs",
		r.Segment, r.Outcomes, r.New, r.Linked, filtered, r.Seconds)
}

// InvertReport counts what invertlinks wrote.
type InvertReport struct {
	Segment uint32 `json:"segment"`
	Targets uint64 `json:"targets"`
	Inlinks uint64 `json:"inlinks"`
	Seconds Took   `json:"seconds"`
}

func (r InvertReport) String() string {
	return fmt.Sprintf("invertlinks: segment %d, %d inlinks of %d targets in %.2fs", r.Segment, r.Inlinks, r.Targets, r.Seconds)
}

// DedupReport counts what dedup decided.
type DedupReport struct {
	Groups   uint64 `json:"groups"` // signatures shared by several URLs
	Marked   uint64 `json:"marked"` // became db_duplicate
	Restored uint64 `json:"restored"`
	Deleted  uint64 `json:"deleted"` // left the index
	Closed   int    `json:"closed"`  // prefixes that were found to be traps
	Seconds  Took   `json:"seconds"`
}

func (r DedupReport) String() string {
	return fmt.Sprintf("dedup: %d groups of equal pages, %d marked, %d restored, %d left the index in %.2fs",
		r.Groups, r.Marked, r.Restored, r.Deleted, r.Seconds)
}

// IndexReport counts what index did.
type IndexReport struct {
	Segments  []uint32 `json:"segments"`
	Added     uint64   `json:"added"`
	Refreshed uint64   `json:"refreshed"` // indexed again because their anchors changed
	Deleted   uint64   `json:"deleted"`
	Skipped   uint64   `json:"skipped"` // nothing to index: redirect, gone, duplicate, noindex, not text
	TextBytes uint64   `json:"text_bytes"`
	Seconds   Took     `json:"seconds"`
}

func (r IndexReport) String() string {
	return fmt.Sprintf("index: %d segments, %d documents added, %d refreshed, %d deleted, %d skipped, %d bytes of text in %.2fs",
		len(r.Segments), r.Added, r.Refreshed, r.Deleted, r.Skipped, r.TextBytes, r.Seconds)
}

// FetchReport counts the outcomes of fetches. Every attempt is in exactly one of Fetched,
// NotModified, Redirected, RobotsDenied and Failed; Gone tells how many of Failed are gone for
// good (404 and the like) rather than to be tried again.
type FetchReport struct {
	Segment      uint32            `json:"segment,omitempty"`
	Fetched      uint64            `json:"fetched"`
	Failed       uint64            `json:"failed"`
	Gone         uint64            `json:"gone"`
	NotModified  uint64            `json:"not_modified"`
	Redirected   uint64            `json:"redirected"`
	RobotsDenied uint64            `json:"robots_denied"`
	Bytes        uint64            `json:"bytes"`
	Failures     map[string]uint64 `json:"failures,omitempty"`
	Seconds      Took              `json:"seconds"`
}

// Attempts is the number of outcomes.
func (r FetchReport) Attempts() uint64 {
	return r.Fetched + r.Failed + r.NotModified + r.Redirected + r.RobotsDenied
}

func (r FetchReport) String() string {
	return fmt.Sprintf("fetch: segment %d, %d fetched, %d failed (%d gone), %d not modified, %d redirected, %d denied by robots, %d bytes in %.2fs",
		r.Segment, r.Fetched, r.Failed, r.Gone, r.NotModified, r.Redirected, r.RobotsDenied, r.Bytes, r.Seconds)
}

// CrawlReport is what `seine crawl --json` prints when it ends.
type CrawlReport struct {
	FetchReport
	Discovered     uint64   `json:"discovered"` // URLs that became records, seeds included
	Duplicates     uint64   `json:"duplicates"` // pages marked db_duplicate
	Indexed        uint64   `json:"indexed"`
	PagesPerSecond float64  `json:"pages_per_second"`
	CPUSeconds     float64  `json:"cpu_seconds"`
	CPUByStage     StageCPU `json:"cpu_by_stage"`
	Segments       uint64   `json:"segments"`
	HostsAsleep    uint64   `json:"hosts_asleep"`
	Stopped        string   `json:"stopped"` // why the crawl ended: "done", "max-pages", "max-bytes", "max-time", "interrupted"
}

func (r CrawlReport) String() string {
	s := fmt.Sprintf("crawl: %d fetched, %d failed (%d gone), %d not modified, %d redirected, %d denied by robots; %d discovered, %d duplicates, %d indexed; %d segments in %.2fs, %.0f pages/s, %.2f CPU s: %s (%s)",
		r.Fetched, r.Failed, r.Gone, r.NotModified, r.Redirected, r.RobotsDenied, r.Discovered, r.Duplicates, r.Indexed, r.Segments, r.Seconds, r.PagesPerSecond, r.CPUSeconds, r.CPUByStage, r.Stopped)
	if r.HostsAsleep > 0 {
		s += fmt.Sprintf("; %d hosts do not answer and are left alone for now", r.HostsAsleep)
	}
	return s
}
