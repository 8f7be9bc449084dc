// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/seine-crawler/seine/storage"
)

// ReportKind is one of the reports that operators of crawls live by, as Heritrix has them.
type ReportKind string

// The reports, with the type of their rows.
const (
	ReportSeeds     ReportKind = "seeds"     // SeedRow: what became of each seed
	ReportHosts     ReportKind = "hosts"     // HostRow: the hosts with the most URLs
	ReportDomains   ReportKind = "domains"   // GroupRow: hosts by registered domain
	ReportSuffixes  ReportKind = "suffixes"  // GroupRow: hosts by public suffix
	ReportTLDs      ReportKind = "tlds"      // GroupRow: hosts by top-level domain
	ReportProtocols ReportKind = "protocols" // ProtocolRow: by what servers answered
	ReportComplete  ReportKind = "complete"  // CompleteRow: how much of each host is fetched
	ReportTypes     ReportKind = "types"     // TypeRow: what was captured, by media type
	ReportStatuses  ReportKind = "statuses"  // StatusRow: what servers answered, or why they did not
	ReportFailures  ReportKind = "failures"  // FailureRow: why URLs have no page
	ReportTraps     ReportKind = "traps"     // TrapRow: places that show the same pages under many URLs
)

// ReportKinds returns all kinds.
func ReportKinds() []ReportKind {
	return []ReportKind{
		ReportSeeds, ReportHosts, ReportDomains, ReportSuffixes, ReportTLDs, ReportProtocols, ReportComplete,
		ReportTypes, ReportStatuses, ReportFailures, ReportTraps,
	}
}

// ReportRow is a row of a report: a SeedRow, HostRow, GroupRow, ProtocolRow, CompleteRow, TypeRow, StatusRow,
// FailureRow or TrapRow, and not a pointer.
type ReportRow interface {
	// String is the row on one line, its cells separated by tabs.
	String() string
	// Cells are the fields as texts, for a table; ReportColumns has their names.
	Cells() []string
}

// SeedRow is a seed and what became of it.
type SeedRow struct {
	URL        string         `json:"url"`
	Status     storage.Status `json:"status"`
	HTTPStatus uint16         `json:"http_status"` // 0: no answer
	Failure    string         `json:"failure,omitempty"`
	Redirect   string         `json:"redirect,omitempty"`
	LastFetch  time.Time      `json:"last_fetch,omitzero"`
	HostURLs   uint64         `json:"host_urls"`  // of the seed's host, in crawldb
	HostPages  uint64         `json:"host_pages"` // of these, that were fetched
}

// HostRow is a host in numbers.
type HostRow struct {
	Host       string       `json:"host"`
	URLs       uint64       `json:"urls"`
	Pages      uint64       `json:"pages"`      // that were fetched, duplicates among them
	Unfetched  uint64       `json:"unfetched"`  // not fetched yet, or failed and to be tried again
	Redirected uint64       `json:"redirected"` // URLs
	Gone       uint64       `json:"gone"`
	Duplicates uint64       `json:"duplicates"`
	Bytes      uint64       `json:"bytes"`   // received so far
	Took       Milliseconds `json:"took_ms"` // by fetchers so far
	NextDue    time.Time    `json:"next_due,omitzero"`
	Errors     uint64       `json:"errors"` // fetches so far that brought no page
	Score      float64      `json:"score"`  // sum of the scores of its URLs
	// P50, P90 and P99 are quantiles of the time to an answer: see LatencyView.
	P50 Milliseconds `json:"p50_ms"`
	P90 Milliseconds `json:"p90_ms"`
	P99 Milliseconds `json:"p99_ms"`
}

// GroupRow sums up the hosts that have a name in common: a registered domain, a public suffix or a top-level domain.
// (Nutch: domainstats counts what Pages does, crawlcomplete by domain what Fetched and Unfetched do.)
type GroupRow struct {
	Name      string       `json:"name"` // "": addresses
	Hosts     uint64       `json:"hosts"`
	URLs      uint64       `json:"urls"`
	Pages     uint64       `json:"pages"` // that were fetched, duplicates among them
	Fetched   uint64       `json:"fetched"`
	Unfetched uint64       `json:"unfetched"`
	Errors    uint64       `json:"errors"`  // fetches so far that brought no page
	Bytes     uint64       `json:"bytes"`   // received so far
	Took      Milliseconds `json:"took_ms"` // by fetchers so far
}

// ProtocolRow counts the answers that came by a protocol.
type ProtocolRow struct {
	Protocol string `json:"protocol"` // "http" or "https"
	Version  string `json:"version"`  // of HTTP: "1.0" or "1.1"
	Hosts    uint64 `json:"hosts"`    // that answered so
	Answers  uint64 `json:"answers"`  // so far
}

// CompleteRow says how much of a host is fetched. (Nutch: crawlcomplete.)
type CompleteRow struct {
	Host      string  `json:"host"`
	URLs      uint64  `json:"urls"`
	Fetched   uint64  `json:"fetched"`   // URLs of any other status than db_unfetched: whatever came of the fetch
	Unfetched uint64  `json:"unfetched"` // never fetched, or to be tried again
	Percent   float64 `json:"percent"`   // of URLs that are fetched
}

// TypeRow is a media type in numbers. What an earlier process left in an open segment counts once that is sealed or
// fetched on.
type TypeRow struct {
	MediaType string `json:"media_type"` // "": unknown
	URLs      uint64 `json:"urls"`       // whose newest capture with content has the type
	Captures  uint64 `json:"captures"`
	WARCBytes uint64 `json:"warc_bytes"` // that their records take in WARC files, compressed
}

// StatusRow counts the URLs whose last fetch ended in one way.
type StatusRow struct {
	Answer  string `json:"answer"` // "http_200", or the failure: "robots_denied"
	Meaning string `json:"meaning,omitempty"`
	URLs    uint64 `json:"urls"`
}

// FailureRow counts the URLs that have no page for one reason.
type FailureRow struct {
	Failure string    `json:"failure"` // "http_404", "robots_denied" …
	URLs    uint64    `json:"urls"`
	Hosts   uint64    `json:"hosts"`
	Retried uint64    `json:"retried"`    // of the URLs: are requested again soon
	Gone    uint64    `json:"gone"`       // of the URLs: are given up until they are due again
	Newest  time.Time `json:"newest"`     // when the last of them failed
	Example string    `json:"newest_url"` // the URL that failed then
}

// TrapRow is a place that shows the same pages under many URLs.
type TrapRow struct {
	Prefix     string `json:"prefix"` // of URLs, without scheme
	Closed     bool   `json:"closed"` // its other URLs are refused; else it is a host half of whose pages are copies
	URLs       uint64 `json:"urls"`   // in crawldb
	Pages      uint64 `json:"pages"`  // of these, that were fetched
	Duplicates uint64 `json:"duplicates"`
}

// ReportColumns are the names of what the Cells of a report's rows are.
func ReportColumns(kind ReportKind) []string {
	return map[ReportKind][]string{
		ReportSeeds: {"url", "status", "http_status", "failure", "redirect", "last_fetch", "host_urls", "host_pages"},
		ReportHosts: {"host", "urls", "pages", "unfetched", "redirected", "gone", "duplicates", "bytes", "took_ms",
			"next_due", "errors", "score", "p50_ms", "p90_ms", "p99_ms"},
		ReportDomains:   groupColumns(),
		ReportSuffixes:  groupColumns(),
		ReportTLDs:      groupColumns(),
		ReportProtocols: {"protocol", "version", "hosts", "answers"},
		ReportComplete:  {"host", "urls", "fetched", "unfetched", "percent"},
		ReportTypes:     {"media_type", "urls", "captures", "warc_bytes"},
		ReportStatuses:  {"answer", "meaning", "urls"},
		ReportFailures:  {"failure", "urls", "hosts", "retried", "gone", "newest", "newest_url"},
		ReportTraps:     {"prefix", "closed", "urls", "pages", "duplicates"},
	}[kind]
}

func groupColumns() []string {
	return []string{"name", "hosts", "urls", "pages", "fetched", "unfetched", "errors", "bytes", "took_ms"}
}

func unknownReport(kind ReportKind) error {
	return fmt.Errorf("there is no report %q: want one of %v", kind, ReportKinds())
}

// rowText is a row on one line.
func rowText(r ReportRow) string {
	cells := r.Cells()
	for i, c := range cells {
		cells[i] = orDash(strings.Map(onePrintable, c))
	}
	return strings.Join(cells, "\t")
}

func numberText[N uint16 | uint64](n N) string { return strconv.FormatUint(uint64(n), 10) }

func millisText(d Milliseconds) string { return numberText(uint64(time.Duration(d).Milliseconds())) }

// scoreText is a score to three decimals at most.
func scoreText(score float64) string {
	return strconv.FormatFloat(math.Round(score*1000)/1000, 'f', -1, 64)
}

func (r SeedRow) String() string { return rowText(r) }

// Cells implements ReportRow.
func (r SeedRow) Cells() []string {
	return []string{r.URL, r.Status.String(), numberText(r.HTTPStatus), r.Failure, r.Redirect, timeText(r.LastFetch),
		numberText(r.HostURLs), numberText(r.HostPages)}
}

func (r HostRow) String() string { return rowText(r) }

// Cells implements ReportRow.
func (r HostRow) Cells() []string {
	return []string{r.Host, numberText(r.URLs), numberText(r.Pages), numberText(r.Unfetched),
		numberText(r.Redirected), numberText(r.Gone), numberText(r.Duplicates), numberText(r.Bytes),
		millisText(r.Took), timeText(r.NextDue), numberText(r.Errors), scoreText(r.Score), millisText(r.P50),
		millisText(r.P90), millisText(r.P99)}
}

func (r GroupRow) String() string { return rowText(r) }

// Cells implements ReportRow.
func (r GroupRow) Cells() []string {
	return []string{r.Name, numberText(r.Hosts), numberText(r.URLs), numberText(r.Pages), numberText(r.Fetched),
		numberText(r.Unfetched), numberText(r.Errors), numberText(r.Bytes), millisText(r.Took)}
}

func (r ProtocolRow) String() string { return rowText(r) }

// Cells implements ReportRow.
func (r ProtocolRow) Cells() []string {
	return []string{r.Protocol, r.Version, numberText(r.Hosts), numberText(r.Answers)}
}

func (r CompleteRow) String() string { return rowText(r) }

// Cells implements ReportRow.
func (r CompleteRow) Cells() []string {
	return []string{r.Host, numberText(r.URLs), numberText(r.Fetched), numberText(r.Unfetched),
		strconv.FormatFloat(r.Percent, 'f', 1, 64)}
}

func (r TypeRow) String() string { return rowText(r) }

// Cells implements ReportRow.
func (r TypeRow) Cells() []string {
	return []string{r.MediaType, numberText(r.URLs), numberText(r.Captures), numberText(r.WARCBytes)}
}

func (r StatusRow) String() string { return rowText(r) }

// Cells implements ReportRow.
func (r StatusRow) Cells() []string { return []string{r.Answer, r.Meaning, numberText(r.URLs)} }

func (r FailureRow) String() string { return rowText(r) }

// Cells implements ReportRow.
func (r FailureRow) Cells() []string {
	return []string{r.Failure, numberText(r.URLs), numberText(r.Hosts), numberText(r.Retried), numberText(r.Gone),
		timeText(r.Newest), r.Example}
}

func (r TrapRow) String() string { return rowText(r) }

// Cells implements ReportRow.
func (r TrapRow) Cells() []string {
	return []string{r.Prefix, strconv.FormatBool(r.Closed), numberText(r.URLs), numberText(r.Pages),
		numberText(r.Duplicates)}
}
