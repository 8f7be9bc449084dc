// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/seine-crawler/seine/engine/fetch"
	"github.com/seine-crawler/seine/engine/internal/phases"
	"github.com/seine-crawler/seine/engine/internal/segment"
	"github.com/seine-crawler/seine/engine/internal/visit"
	"github.com/seine-crawler/seine/engine/parse"
	"github.com/seine-crawler/seine/storage"
	"github.com/seine-crawler/seine/storage/urlkey"
)

// CheckPage fetches a page, if its robots.txt allows it, and parses it. It follows no redirect and stores nothing;
// Options.Dir is ignored. The error wraps ErrRobots or ErrNoContact if the page may not be fetched, and the context's
// error if ctx ended.
func CheckPage(ctx context.Context, o Options, raw string) (c PageCheck, err error) {
	u, err := urlkey.Parse(raw)
	if err != nil {
		return PageCheck{}, err
	}
	e, err := openNowhere(o)
	if err != nil {
		return PageCheck{}, err
	}
	defer func() { err = errors.Join(err, e.Close()) }()
	w := e.w
	n, err := w.network()
	if err != nil {
		return PageCheck{}, err
	}
	alone := func(each func(urlkey.HostKey) error) error { return each(u.HostKey()) }
	if err := n.requireContact(ctx, &w.o, alone); err != nil {
		return PageCheck{}, err
	}
	leave, err := n.hosts.MayFetch(ctx, u)
	if t := n.hosts.TroubleOf(u.HostKey()); err != nil && t.Hosts > 0 {
		err = phases.WithText(err, "%s cannot be fetched: %s", u, troubleCause(t))
	}
	if err != nil {
		return PageCheck{}, err
	}
	select { // robots.txt was requested from the host just now
	case <-time.After(leave.Wait):
	case <-ctx.Done():
		return PageCheck{}, ctx.Err()
	}
	return w.checkFetch(ctx, u, leave)
}

// openNowhere opens a new data directory that is in memory only, and writes to nothing else either.
func openNowhere(o Options) (*Engine, error) {
	o.Dir, o.FS = "nowhere", storage.NewMemFS()
	o.MustExist, o.ReadOnly, o.NoIndex = false, false, true
	o.CrawlLog, o.IndexWriters = CrawlLogOptions{}, nil
	return Open(o)
}

// checkFetch fetches a page as robots.txt gives leave to, and parses it.
func (w *work) checkFetch(ctx context.Context, u urlkey.URL, leave visit.Leave) (PageCheck, error) {
	r := w.net.hosts.FetchAlone(ctx, u, leave.Wait)
	defer r.Release()
	if r.Failure != "" {
		return PageCheck{}, fmt.Errorf("fetching %s: %s: %w", u, r.Failure, r.Err)
	}
	body, truncated, err := r.Content()
	if err != nil && len(body) == 0 {
		return PageCheck{}, fmt.Errorf("decoding %s: %w", u, err)
	}
	more := segment.MoreOf(r, body, truncated, err)
	in := checkInput(u, r, body, truncated && more == nil, w.o.agentOf(u.HostKey()))
	in.More = more
	c := checkPage(&w.o, in, leave.Preferences, r)
	c.HTTPStatus = r.Status
	if to := r.Location(); to != "" {
		c.Refresh = to
	}
	return c, nil
}

// checkInput makes a parser's input of a response.
func checkInput(u urlkey.URL, r *fetch.Response, body []byte, truncated bool, agent string) *parse.Input {
	in := &parse.Input{URL: u, ContentType: r.ContentType(), Body: body, Agent: agent,
		ContentLanguage: string(r.Header("Content-Language")), Refresh: string(r.Header("Refresh")),
		Truncated: truncated || r.Truncated != ""}
	for _, v := range r.Values("X-Robots-Tag") {
		in.RobotsTag = append(in.RobotsTag, string(v))
	}
	for _, v := range r.Values("Link") {
		in.Link = append(in.Link, string(v))
	}
	return in
}
