// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/seine-crawler/seine/engine/internal/inspect"
	"github.com/seine-crawler/seine/storage"
)

// ReportKind is one of the reports that operators of crawls live by, as Heritrix has them.
type ReportKind string

// The reports, with the type of their rows.
const (
	ReportSeeds    ReportKind = "seeds"    // SeedRow: what became of each seed
	ReportHosts    ReportKind = "hosts"    // HostRow: the hosts with the most URLs
	ReportTypes    ReportKind = "types"    // TypeRow: what was captured, by media type
	ReportStatuses ReportKind = "statuses" // StatusRow: what servers answered, or why they did not
	ReportFailures ReportKind = "failures" // FailureRow: why URLs have no page
	ReportTraps    ReportKind = "traps"    // TrapRow: places that show the same pages under many URLs
)

// ReportKinds returns all kinds.
func ReportKinds() []ReportKind {
	return []ReportKind{ReportSeeds, ReportHosts, ReportTypes, ReportStatuses, ReportFailures, ReportTraps}
}

// ReportRow is a row of a report: a SeedRow, HostRow, TypeRow, StatusRow, FailureRow or TrapRow, and not a pointer.
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
}

// TypeRow is a media type in numbers.
type TypeRow struct {
	MediaType string `json:"media_type"` // "": unknown
	URLs      uint64 `json:"urls"`       // whose newest capture with content has the type
	Captures  uint64 `json:"captures"`
	Bytes     uint64 `json:"bytes"` // that their WARC records take, compressed
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
			"next_due"},
		ReportTypes:    {"media_type", "urls", "captures", "bytes"},
		ReportStatuses: {"answer", "meaning", "urls"},
		ReportFailures: {"failure", "urls", "hosts", "retried", "gone", "newest", "newest_url"},
		ReportTraps:    {"prefix", "closed", "urls", "pages", "duplicates"},
	}[kind]
}

// ReadReportRow reads a row of a report that was written as JSON.
func ReadReportRow(kind ReportKind, text []byte) (ReportRow, error) {
	switch kind {
	case ReportSeeds:
		return readRow[SeedRow](text)
	case ReportHosts:
		return readRow[HostRow](text)
	case ReportTypes:
		return readRow[TypeRow](text)
	case ReportStatuses:
		return readRow[StatusRow](text)
	case ReportFailures:
		return readRow[FailureRow](text)
	case ReportTraps:
		return readRow[TrapRow](text)
	}
	return nil, unknownReport(kind)
}

func readRow[T ReportRow](text []byte) (ReportRow, error) {
	var row T
	err := json.Unmarshal(text, &row)
	return row, err
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
		numberText(uint64(time.Duration(r.Took).Milliseconds())), timeText(r.NextDue)}
}

func (r TypeRow) String() string { return rowText(r) }

// Cells implements ReportRow.
func (r TypeRow) Cells() []string {
	return []string{r.MediaType, numberText(r.URLs), numberText(r.Captures), numberText(r.Bytes)}
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

// pagesOf counts the fetched pages of a host.
func pagesOf(c *storage.HostCounts) uint64 {
	return uint64(c.ByStatus[storage.StatusFetched]) + uint64(c.ByStatus[storage.StatusNotModified]) +
		uint64(c.ByStatus[storage.StatusDuplicate])
}

func viewHostRow(h inspect.Host) (ReportRow, error) {
	by := &h.Counts.ByStatus
	return HostRow{
		Host: h.Key.String(), URLs: h.URLs(), Pages: pagesOf(&h.Counts), Unfetched: uint64(by[storage.StatusUnfetched]),
		Redirected: uint64(by[storage.StatusRedirTemp]) + uint64(by[storage.StatusRedirPerm]),
		Gone:       uint64(by[storage.StatusGone]), Duplicates: uint64(by[storage.StatusDuplicate]),
		Bytes: h.Counts.Bytes, Took: milliseconds(h.Counts.TookMS), NextDue: timeOf(h.Counts.NextDue),
	}, nil
}

func viewTypeRow(m inspect.MediaType) (ReportRow, error) {
	return TypeRow{MediaType: m.Name, URLs: m.URLs, Captures: m.Captures, Bytes: m.Bytes}, nil
}

func viewStatusRow(a inspect.Answer) (ReportRow, error) {
	row := StatusRow{Answer: a.Name, URLs: a.URLs}
	if code, ok := strings.CutPrefix(a.Name, "http_"); ok {
		if n, err := strconv.Atoi(code); err == nil {
			row.Meaning = http.StatusText(n)
		}
	}
	return row, nil
}

func viewFailureRow(k inspect.FailureKind) (ReportRow, error) {
	return FailureRow{
		Failure: k.Name, URLs: k.URLs, Hosts: k.Hosts, Retried: k.Retried, Gone: k.Gone,
		Newest: timeOf(k.Newest.LastFetch), Example: spelled(k.Newest.Key),
	}, nil
}

func viewTrapRow(t inspect.Trap) (ReportRow, error) {
	return TrapRow{Prefix: t.Prefix, Closed: t.Closed, URLs: t.URLs, Pages: t.Fetched, Duplicates: t.Duplicates}, nil
}
