// SPDX-License-Identifier: Apache-2.0

package engine_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"testing"
	"time"

	"github.com/seine-crawler/seine/engine"
	"github.com/seine-crawler/seine/engine/fetch"
	"github.com/seine-crawler/seine/storage"
)

// protocolFunc makes a function a fetch.Protocol.
type protocolFunc func(req *fetch.Request) *fetch.Response

func (f protocolFunc) Fetch(_ context.Context, req *fetch.Request) *fetch.Response { return f(req) }

// TestProtocol: a transport of an embedder's own says what it has to say, head and body, and no more. Its pages are
// fetched once, at the time when they are; redirects, codings and delays count; a response that is none is a failure of
// its URL alone.
func TestProtocol(t *testing.T) {
	t.Parallel()
	var coded bytes.Buffer
	z := gzip.NewWriter(&coded)
	z.Write([]byte(`<title>Nets</title><p>A mesh. <a href="/moved">1</a> <a href="/none">2</a> <a href="/cut">3</a>`))
	z.Close()
	pages := map[string]fetch.Response{
		"/": {
			Head: []byte("HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Encoding: gzip\r\n\r\n"),
			Body: coded.Bytes(),
		},
		"/moved": {Head: []byte("HTTP/1.1 301 Moved\r\nLocation: /knots\r\n\r\n")},
		"/knots": {
			Status: 500, // the head has the last word, as it has when the WARC is read back
			Head:   []byte("HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n\r\n"), Body: []byte("Sheet bend."),
		},
		"/none": {},
		"/cut": {
			Head: []byte("HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n\r\n"), Body: []byte("Half a mesh"),
			Truncated: "unexpected EOF",
		},
		"/robots.txt": {Head: []byte("HTTP/1.1 404 Not Found\r\n\r\n")},
	}
	asked := map[string]int{} // one host: one request at a time
	var last time.Time
	o := siteOptions(t)
	o.NoIndex, o.Delay = false, 20*time.Millisecond
	o.Protocol = protocolFunc(func(req *fetch.Request) *fetch.Response {
		now := time.Now()
		if now.Sub(last) < o.Delay/2 {
			t.Errorf("%s is requested %s after the request before it", req.URL, now.Sub(last))
		}
		last = now
		asked[req.URL.Path()]++
		r := pages[req.URL.Path()]
		return &r
	})
	begun := time.Now()
	e := open(t, o)
	defer mustClose(t, e)
	c := crawlFrom("http://nets.test/")
	c.Limits = engine.Limits{MaxPages: 20}
	c.Patience = time.Millisecond
	r, err := e.Crawl(context.Background(), c)
	if err != nil || r.Stopped != engine.StopDone {
		t.Fatal(r, err)
	}
	want := map[string]storage.Status{
		"/": storage.StatusFetched, "/moved": storage.StatusRedirPerm, "/knots": storage.StatusFetched,
		"/none": storage.StatusUnfetched, "/cut": storage.StatusFetched,
	}
	for path, status := range want {
		record, err := e.Inspect().Record("http://nets.test" + path)
		if err != nil || record.Status != status {
			t.Errorf("%s: %v, %v; want %s", path, record, err, status)
		}
		if status != storage.StatusUnfetched && (asked[path] != 1 || record.FetchTime.Before(begun)) {
			t.Errorf("%s: requested %d times, due again %s", path, asked[path], record.FetchTime)
		}
	}
	if found, err := e.Search(context.Background(), "mesh", engine.SearchOptions{}); err != nil || found.Total != 2 {
		t.Errorf("%+v, %v", found, err)
	}
	verify(t, e)
}

// endlessProtocol answers requests for pages and for robots.txt when their contexts end, like a transport without a
// bound of its own whose server sends nothing.
type endlessProtocol struct{}

func (endlessProtocol) Fetch(ctx context.Context, _ *fetch.Request) *fetch.Response {
	<-ctx.Done()
	return &fetch.Response{Failure: fetch.FailReset, Err: ctx.Err()}
}

// TestProtocolTimeout: FetchTimeout bounds the fetches of an embedder's transport too. Without a bound, a server that
// does not answer keeps a crawl from its end.
func TestProtocolTimeout(t *testing.T) {
	t.Parallel()
	o := siteOptions(t)
	o.Protocol, o.FetchTimeout = endlessProtocol{}, time.Millisecond
	e := open(t, o)
	defer mustClose(t, e)
	c := crawlFrom("http://nets.test/")
	c.Patience = time.Millisecond
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute) // so that it ends without the bound too
	defer cancel()
	if r, err := e.Crawl(ctx, c); err != nil || r.Stopped != engine.StopDone {
		t.Error(r, err)
	}
}
