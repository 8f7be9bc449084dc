// SPDX-License-Identifier: Apache-2.0

package simweb

import (
	"errors"
	"runtime"
	"sync"
	"sync/atomic"
	"time"
)

// Prerendered is a Web whose pages are made beforehand and kept: a request costs a look-up and a copy. It is for
// benchmarks of clients that fetch faster than a Web can make pages, and takes as much memory as the pages have bytes.
// Prerender makes one; it is safe for concurrent use.
type Prerendered struct {
	*Web
	maxBytes int64
	pages    []map[string]*kept // by host and target; nil: made on request
}

// kept is the response to a target.
type kept struct {
	status      int
	contentType string
	location    []byte
	etag        uint64
	modified    time.Time
	body        []byte
	gzip        []byte // body, when the server compresses
	wait        time.Duration
}

// Prerender returns a site that keeps up to maxBytes of a web's pages, host by host; the others are made on request.
// Serve renders them, which takes some microseconds a page. A web whose pages change (Params.ChangeEvery) is an error.
func Prerender(w *Web, maxBytes int64) (*Prerendered, error) {
	if w.p.ChangeEvery > 0 {
		return nil, errors.New("synthetic web: pages that change cannot be rendered beforehand")
	}
	return &Prerendered{Web: w, maxBytes: maxBytes}, nil
}

func (p *Prerendered) render() {
	var buf []byte
	left := p.maxBytes
	for host := range p.Hosts() {
		pages := make(map[string]*kept, p.Pages(host))
		h := p.host(host)
		for n := range h.pages {
			d := p.draw(&h, n)
			target := p.appendPath(nil, &h, n, &d, false)
			r := response{body: buf[:0]}
			p.Web.answer(&request{host: host, target: target, now: epoch}, &r)
			buf = r.body
			if left -= int64(len(r.body)); left < 0 {
				return
			}
			pages[string(target)] = &kept{
				r.status, r.contentType, r.location, r.etag, r.modified, append([]byte(nil), r.body...), nil,
				r.wait,
			}
		}
		p.pages = append(p.pages, pages)
	}
}

// compress compresses the pages that are kept, on all processors.
func (p *Prerendered) compress() {
	var next atomic.Int64
	var wg sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		wg.Go(func() {
			for host := next.Add(1) - 1; host < int64(len(p.pages)); host = next.Add(1) - 1 {
				for _, k := range p.pages[host] {
					k.gzip = appendGzip(nil, k.body)
				}
			}
		})
	}
	wg.Wait()
}

func (p *Prerendered) answer(q *request, r *response) {
	if q.host >= len(p.pages) {
		p.Web.answer(q, r)
		return
	}
	k := p.pages[q.host][string(q.target)]
	if k == nil { // robots.txt, sitemaps, and pages that do not exist
		p.Web.answer(q, r)
		return
	}
	r.status, r.contentType, r.etag, r.modified, r.wait = k.status, k.contentType, k.etag, k.modified, k.wait
	r.location = append(r.location[:0], k.location...)
	switch {
	case k.etag != 0 && r.unchanged(q):
	case q.gzip && len(k.gzip) > 0:
		r.body, r.gzip = append(r.body, k.gzip...), true
	default:
		r.body = append(r.body, k.body...)
	}
}

// onPort renders the pages, whose links name the port.
func (p *Prerendered) onPort(port int) Site {
	out := &Prerendered{Web: p.withPort(port), maxBytes: p.maxBytes}
	out.render()
	return out
}
