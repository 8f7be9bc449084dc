// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"net/http"
	"strconv"
	"strings"

	"github.com/seine-crawler/seine/engine/internal/inspect"
	"github.com/seine-crawler/seine/storage"
)

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
		Errors: errorsOf(&h.Counts), Score: h.Counts.Score, P50: quantile(&h.Counts.Latency, .5),
		P90: quantile(&h.Counts.Latency, .9), P99: quantile(&h.Counts.Latency, .99),
	}, nil
}

// errorsOf counts the fetches of a host that brought no page.
func errorsOf(c *storage.HostCounts) (n uint64) {
	for _, m := range c.Errors {
		n += uint64(m)
	}
	return n
}

func viewGroupRow(s inspect.HostSum) (ReportRow, error) {
	by := &s.ByStatus
	return GroupRow{
		Name: s.Name, Hosts: s.Hosts, URLs: s.URLs,
		Pages:   by[storage.StatusFetched] + by[storage.StatusNotModified] + by[storage.StatusDuplicate],
		Fetched: s.URLs - by[storage.StatusUnfetched], Unfetched: by[storage.StatusUnfetched],
		Errors: s.Errors, Bytes: s.Bytes, Took: milliseconds(s.TookMS),
	}, nil
}

func viewProtocolRow(p inspect.Protocol) (ReportRow, error) {
	return ProtocolRow{p.Protocol.Scheme(), p.Protocol.Version(), p.Hosts, p.Answers}, nil
}

func viewCompleteRow(h inspect.Host) (ReportRow, error) {
	row := CompleteRow{
		Host: h.Key.String(), URLs: h.URLs(), Unfetched: uint64(h.Counts.ByStatus[storage.StatusUnfetched]),
	}
	if row.Fetched = row.URLs - row.Unfetched; row.URLs > 0 {
		row.Percent = 100 * float64(row.Fetched) / float64(row.URLs)
	}
	return row, nil
}

func viewTypeRow(m inspect.MediaType) (ReportRow, error) {
	return TypeRow{MediaType: m.Name, URLs: m.URLs, Captures: m.Captures, WARCBytes: m.Bytes}, nil
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
