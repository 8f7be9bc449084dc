// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"strings"

	"github.com/seine-crawler/seine/engine/internal/admission"
	"github.com/seine-crawler/seine/engine/internal/inspect"
	"github.com/seine-crawler/seine/engine/internal/phases"
	"github.com/seine-crawler/seine/engine/policy"
	"github.com/seine-crawler/seine/storage"
	"github.com/seine-crawler/seine/storage/urlkey"
)

// Inspector looks inside a data directory: it reads and changes nothing. Engine.Inspect makes one. Any goroutine may
// use it, also while a crawl runs.
//
// A stream (iter.Seq2) is read while you range over it, on your goroutine; you may range over it again. If an error
// ends it, the last element has the error and no value. The error wraps the context's if the context ended, and
// ErrClosed after Engine.Close. Close ends streams at their next step and waits for that, so do not call it inside a
// loop over one.
type Inspector struct {
	in *inspect.Inspect
	g  *guard
	o  *Options // normalizers
	w  *work

	live *settings
	*sights
}

// Inspect returns an Inspector of the data directory. It costs nothing, and works until Close.
func (e *Engine) Inspect() *Inspector {
	return &Inspector{
		in: e.w.inspect, g: &e.guard, o: &e.w.o, w: e.w, live: &e.w.live, sights: &e.sights,
	}
}

// ReadOnly reports whether the engine was opened with Options.ReadOnly, so that all that writes fails.
func (i *Inspector) ReadOnly() bool { return i.o.ReadOnly }

// enter admits a call. Its context ends with ctx and with Close.
func (i *Inspector) enter(ctx context.Context) (inner context.Context, leave func(), err error) {
	left, err := i.g.enter()
	if err != nil {
		return nil, nil, err
	}
	inner, cancel := i.g.within(ctx)
	return inner, func() {
		cancel()
		left()
	}, nil
}

// parse parses a URL that a person gives. Without a scheme it is the one with https, as Inject has it, unless crawldb
// has only the one with http, or was led there.
func (i *Inspector) parse(raw string) (urlkey.URL, error) {
	u, assumed, err := phases.ParseSeed(raw)
	if err != nil || !assumed {
		return u, err
	}
	plain, err := urlkey.Parse("http" + strings.TrimPrefix(u.String(), "https"))
	if err != nil {
		return u, nil
	}
	_, err = i.in.Record(plain)
	if errors.Is(err, ErrNotFound) {
		return u, nil
	} else if err != nil {
		return u, err
	}
	r, err := i.in.Record(u)
	if errors.Is(err, ErrNotFound) || err == nil && r.SchemeAssumed() && r.LastFetch != 0 {
		return plain, nil
	}
	return u, err
}

// Record returns the record of one URL. Where crawldb has none, the error wraps ErrNotFound and says why.
func (i *Inspector) Record(url string) (RecordView, error) {
	leave, err := i.g.enter()
	if err != nil {
		return RecordView{}, err
	}
	defer leave()
	u, err := i.parse(url)
	if err != nil {
		return RecordView{}, err
	}
	r, err := i.in.Record(u)
	if err != nil {
		return RecordView{}, err
	}
	return viewRecord(r)
}

// Records streams the chosen records in key order.
func (i *Inspector) Records(ctx context.Context, f RecordFilter) iter.Seq2[RecordView, error] {
	return stream(ctx, i, func(ctx context.Context) (iter.Seq2[inspect.Record, error], error) {
		chosen := inspect.Filter(f)
		if f.After != "" {
			u, err := urlkey.Parse(f.After)
			if err != nil {
				return nil, err
			}
			chosen.After = string(u.Key())
		}
		return i.in.Records(ctx, chosen), nil
	}, viewRecord)
}

// TopRecords returns the n records with the highest scores, best first. It holds all of them in memory.
func (i *Inspector) TopRecords(ctx context.Context, n int) ([]RecordView, error) {
	inner, leave, err := i.enter(ctx)
	if err != nil {
		return nil, err
	}
	defer leave()
	list, err := i.in.TopRecords(inner, n)
	if err != nil {
		return nil, i.g.ended(ctx, err)
	}
	views := make([]RecordView, len(list))
	for k, r := range list {
		if views[k], err = viewRecord(r); err != nil {
			return nil, err
		}
	}
	return views, nil
}

// Stats sums up crawldb. It reads all of it, in 0.2 µs a record if the blocks are cached. perHost adds counts by status
// for each host, and needs memory for every host.
func (i *Inspector) Stats(ctx context.Context, perHost bool) (CrawldbStats, error) {
	inner, leave, err := i.enter(ctx)
	if err != nil {
		return CrawldbStats{}, err
	}
	defer leave()
	s, err := i.in.Stats(inner, perHost)
	if err != nil {
		return CrawldbStats{}, i.g.ended(ctx, err)
	}
	return viewStats(&s, perHost), nil
}

// Hosts streams the chosen hosts. If hostdb does not have the host of the filter, the error wraps ErrNotFound.
func (i *Inspector) Hosts(ctx context.Context, f HostFilter) iter.Seq2[HostView, error] {
	return stream(ctx, i, func(ctx context.Context) (iter.Seq2[inspect.Host, error], error) {
		if err := f.validate(); err != nil {
			return nil, err
		}
		switch {
		case f.Host != "":
			key, err := urlkey.ParseHost(f.Host)
			if err != nil {
				return nil, err
			}
			h, err := i.in.Host(key)
			return each(h), err
		case f.Top > 0:
			list, err := i.in.TopHosts(ctx, f.Top, f.By.counter())
			return each(list...), err
		}
		var after urlkey.HostKey
		if f.After != "" {
			var err error
			if after, err = urlkey.ParseHost(f.After); err != nil {
				return nil, err
			}
		}
		return i.in.Hosts(ctx, after), nil
	}, viewHost)
}

// Ports returns the names of the first hosts that hostdb has with the name of a host and a port: localhost:8000 for
// localhost. It is empty where that has a port itself.
func (i *Inspector) Ports(host string) ([]string, error) {
	leave, err := i.g.enter()
	if err != nil {
		return nil, err
	}
	defer leave()
	key, err := urlkey.ParseHost(host)
	if err != nil {
		return nil, err
	}
	return i.in.Ports(key), nil
}

// Inlinks streams up to limit links to a URL, as the newest versions of the linking pages have them; limit 0 or less
// means all. A page that is gone or redirects by now has those of its last content, as in Nutch.
func (i *Inspector) Inlinks(ctx context.Context, url string, limit int) iter.Seq2[InlinkView, error] {
	return stream(ctx, i, func(ctx context.Context) (iter.Seq2[inspect.Link, error], error) {
		u, err := i.parse(url)
		if err != nil {
			return nil, err
		}
		return i.in.Inlinks(ctx, u, limit), nil
	}, viewLink)
}

// LinkingPages counts the pages that link to each of some URLs. Where linkdb has merged all that it knows of a URL into
// one row, it has their number too, which may be above limit. Elsewhere pages are counted whose links Inlinks streams,
// up to limit of each URL; limit 0 or less means all. A URL whose links cannot be counted has what was counted before
// its error, and the others all of theirs.
func (i *Inspector) LinkingPages(ctx context.Context, urls []string, limit int) (counts []int, err error) {
	inner, leave, err := i.enter(ctx)
	if err != nil {
		return make([]int, len(urls)), err
	}
	defer leave()
	var parsed []urlkey.URL
	var places []int // of these in urls
	for at, url := range urls {
		u, wrong := i.parse(url)
		if err = errors.Join(err, wrong); wrong == nil {
			parsed, places = append(parsed, u), append(places, at)
		}
	}
	counts = make([]int, len(urls))
	some, failed := i.in.LinkingPages(inner, parsed, limit)
	for n, at := range places {
		counts[at] = some[n]
	}
	return counts, errors.Join(err, i.g.ended(ctx, failed))
}

// LinkCounts counts the pages that link to a URL, and their hosts and domains.
func (i *Inspector) LinkCounts(ctx context.Context, url string) (LinkCounts, error) {
	inner, leave, err := i.enter(ctx)
	if err != nil {
		return LinkCounts{}, err
	}
	defer leave()
	u, err := i.parse(url)
	if err != nil {
		return LinkCounts{}, err
	}
	c, err := i.in.LinkCounts(inner, u)
	return LinkCounts(c), i.g.ended(ctx, err)
}

// Links streams all of linkdb, by target, as Inlinks does the links to one URL.
func (i *Inspector) Links(ctx context.Context) iter.Seq2[InlinkView, error] {
	return stream(ctx, i, func(ctx context.Context) (iter.Seq2[inspect.Link, error], error) {
		return i.in.Links(ctx), nil
	}, viewLink)
}

// Segments streams all segments in order of number.
func (i *Inspector) Segments(ctx context.Context) iter.Seq2[SegmentView, error] {
	return stream(ctx, i, func(ctx context.Context) (iter.Seq2[storage.Segment, error], error) {
		return i.in.Segments(ctx), nil
	}, viewSegment)
}

// Segment returns one segment. Where there is none of this number, the error wraps ErrNotFound.
func (i *Inspector) Segment(number uint32) (SegmentView, error) {
	leave, err := i.g.enter()
	if err != nil {
		return SegmentView{}, err
	}
	defer leave()
	s, err := i.in.Segment(number)
	if err != nil {
		return SegmentView{}, err
	}
	return viewSegment(s)
}

// ParseRecords streams the parse records of a segment in key order, or the one of a URL in it; url "" means all.
// Segment 0 means the newest that has some or, with a URL, the segment that has the URL's newest parse record. Of one
// URL there is also what a segment will have of it that is fetched now. If there is no parse record, the error wraps
// ErrNotFound and says why.
func (i *Inspector) ParseRecords(ctx context.Context, segment uint32, url string) iter.Seq2[ParseView, error] {
	return stream(ctx, i, func(ctx context.Context) (iter.Seq2[inspect.ParseRecord, error], error) {
		var u urlkey.URL
		if url != "" {
			var err error
			if u, err = i.parse(url); err != nil {
				return nil, err
			}
		}
		return i.in.ParseRecords(ctx, segment, u), nil
	}, viewParse)
}

// Check says what the crawl makes of a URL: whether it may be crawled and why not, with its record, its host's state
// and its budgets. scope says where the URL comes from. Check sends nothing. A text that is no URL gives a check with a
// Reason, not an error.
func (i *Inspector) Check(url string, scope policy.NormalizerScope) (URLCheck, error) {
	leave, err := i.g.enter()
	if err != nil {
		return URLCheck{}, err
	}
	defer leave()
	return i.check(url, scope)
}

// check is Check inside a call.
func (i *Inspector) check(url string, scope policy.NormalizerScope) (URLCheck, error) {
	c, u := newURLCheck(i.o, url, scope)
	if u.IsZero() {
		return c, nil
	}
	x, err := i.in.Explain(u)
	if err != nil {
		return c, fmt.Errorf("checking %s: %w", u, err)
	}
	c.decide(x.Verdict)
	if c.Reason == admission.ReasonRobots {
		c.Reason = x.Denied
	}
	c.Known = i.o.viewKnown(u, &x)
	if x.Record.LastFetch == 0 { // else a run with other settings has reached it
		c.Blocked = i.o.blocked(u)
	}
	return c, nil
}

// Processors returns Options.Processors, or what it is by default.
func (i *Inspector) Processors() int { return i.w.o.Processors }

// ExportCDXJ writes one CDXJ line for each capture, sorted, as replay tools read them. The captures of segments that
// are fetched now are among them, as in Captures; these are read and parsed first, as when they were stored. What was
// written before an error stays written.
func (i *Inspector) ExportCDXJ(ctx context.Context, w io.Writer) error {
	inner, leave, err := i.enter(ctx)
	if err != nil {
		return err
	}
	defer leave()
	return i.g.ended(ctx, i.in.ExportCDXJ(inner, w))
}

// Verify reads everything and follows every cross-reference: the store and its tables, every byte of every WARC file,
// from each capture to its record and back, and the index. Damage is a problem in the report. An error means that
// Verify could not finish, because of ctx or of the machine; the report then covers what it checked. The function
// Verify does the same for a directory that Open may refuse.
func (i *Inspector) Verify(ctx context.Context) (VerifyReport, error) {
	inner, leave, err := i.enter(ctx)
	if err != nil {
		return VerifyReport{}, err
	}
	defer leave()
	v, err := i.in.Verify(inner, nil)
	return viewVerified(&v), advised(i.g.ended(ctx, err))
}

// stream makes views of what a stream of the room yields. Each iteration calls open.
func stream[S, T any](
	ctx context.Context, i *Inspector,
	open func(ctx context.Context) (iter.Seq2[S, error], error), view func(S) (T, error),
) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		var none T
		inner, leave, err := i.enter(ctx)
		if err != nil {
			yield(none, err)
			return
		}
		defer leave()
		seq, err := open(inner)
		if err != nil {
			yield(none, i.g.ended(ctx, err))
			return
		}
		for s, err := range seq {
			v := none
			if err == nil {
				err = inner.Err() // at each step: the loop's body may be slow
			}
			if err == nil {
				v, err = view(s)
			}
			if err != nil {
				yield(none, i.g.ended(ctx, err))
				return
			}
			if !yield(v, nil) {
				return
			}
		}
	}
}

// each streams a list.
func each[S any](list ...S) iter.Seq2[S, error] {
	return func(yield func(S, error) bool) {
		for _, s := range list {
			if !yield(s, nil) {
				return
			}
		}
	}
}
