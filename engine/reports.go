// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"iter"

	"github.com/seine-crawler/seine/engine/internal/inspect"
	"github.com/seine-crawler/seine/storage/urlkey"
)

// Report streams the first limit rows of a report, 0: all. Hosts, domains and types come with the most URLs first (all
// hosts, and all domains: in key order), complete with the most unfetched URLs first (all: in key order), failures,
// statuses and protocols with the most frequent first, traps with closed prefixes first, seeds in key order.
//
// Hosts, domains, suffixes, tlds, protocols and complete are views of hostdb: they cost some microseconds a host. The
// others read whole ranges: crawldb, and a parse record for each URL that failed; for types all captures.
func (i *Inspector) Report(ctx context.Context, kind ReportKind, limit int) iter.Seq2[ReportRow, error] {
	rows := i.report(ctx, kind, limit)
	if limit <= 0 {
		return rows
	}
	return func(yield func(ReportRow, error) bool) {
		n := 0
		for r, err := range rows {
			if !yield(r, err) {
				return
			}
			if n++; n == limit {
				return
			}
		}
	}
}

func (i *Inspector) report(ctx context.Context, kind ReportKind, limit int) iter.Seq2[ReportRow, error] {
	switch kind {
	case ReportSeeds:
		return stream(ctx, i, func(ctx context.Context) (iter.Seq2[inspect.Record, error], error) {
			return i.in.Seeds(ctx), nil
		}, i.viewSeedRow)
	case ReportHosts:
		return stream(ctx, i, func(ctx context.Context) (iter.Seq2[inspect.Host, error], error) {
			if limit <= 0 {
				return i.in.Hosts(ctx, ""), nil
			}
			list, err := i.in.TopHosts(ctx, limit, nil)
			return each(list...), err
		}, viewHostRow)
	case ReportDomains:
		return listed(ctx, i, func(ctx context.Context) ([]inspect.HostSum, error) {
			return i.in.Domains(ctx, limit)
		}, viewGroupRow)
	case ReportSuffixes:
		return listed(ctx, i, func(ctx context.Context) ([]inspect.HostSum, error) {
			return i.in.HostSums(ctx, urlkey.HostKey.PublicSuffix)
		}, viewGroupRow)
	case ReportTLDs:
		return listed(ctx, i, func(ctx context.Context) ([]inspect.HostSum, error) {
			return i.in.HostSums(ctx, urlkey.HostKey.TLD)
		}, viewGroupRow)
	case ReportProtocols:
		return listed(ctx, i, i.in.Protocols, viewProtocolRow)
	case ReportComplete:
		return stream(ctx, i, func(ctx context.Context) (iter.Seq2[inspect.Host, error], error) {
			if limit <= 0 {
				return i.in.Hosts(ctx, ""), nil
			}
			list, err := i.in.TopHosts(ctx, limit, HostUnfetched.counter())
			return each(list...), err
		}, viewCompleteRow)
	case ReportTypes:
		return listed(ctx, i, i.in.MediaTypes, viewTypeRow)
	case ReportStatuses:
		return listed(ctx, i, i.in.Answers, viewStatusRow)
	case ReportFailures:
		return listed(ctx, i, i.in.FailureKinds, viewFailureRow)
	case ReportTraps:
		return listed(ctx, i, i.in.Traps, viewTrapRow)
	}
	return func(yield func(ReportRow, error) bool) { yield(nil, unknownReport(kind)) }
}

// listed streams the views of a list that a call makes.
func listed[S any](
	ctx context.Context, i *Inspector, list func(context.Context) ([]S, error), view func(S) (ReportRow, error),
) iter.Seq2[ReportRow, error] {
	return stream(ctx, i, func(ctx context.Context) (iter.Seq2[S, error], error) {
		all, err := list(ctx)
		return each(all...), err
	}, view)
}

// viewSeedRow looks up the host of a seed.
func (i *Inspector) viewSeedRow(r inspect.Record) (ReportRow, error) {
	v, err := viewRecord(r)
	if err != nil {
		return nil, err
	}
	row := SeedRow{
		URL: v.URL, Status: v.Status, HTTPStatus: v.HTTPStatus, Failure: v.Failure, Redirect: v.Redirect,
		LastFetch: v.LastFetch,
	}
	host, err := i.in.Host(urlkey.HostKey(urlkey.HostKeyOf([]byte(r.Key))))
	row.HostURLs, row.HostPages = host.URLs(), pagesOf(&host.Counts)
	return row, err
}
