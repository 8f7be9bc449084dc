// SPDX-License-Identifier: Apache-2.0

package simweb

import (
	"cmp"
	"context"
	"slices"
)

// Ref names a page of a Web by its numbers.
type Ref struct{ Host, Number int }

// WalkOptions say where a walk starts and what it follows. A walk follows what a polite crawler follows: links of pages
// that answer 200, and redirects, to everything that robots.txt allows.
type WalkOptions struct {
	Seeds []Ref
	// Keep reports whether a host is in scope; nil: all are. It is called on the goroutine of Walk.
	Keep func(host int) bool
	// FollowNoFollow also follows links that are marked nofollow, by themselves or by their page.
	FollowNoFollow bool
	// Sitemaps adds the pages that the sitemap of each visited host lists.
	Sitemaps bool
}

// Visit is a page on a walk. It is valid until the callback returns.
type Visit struct {
	Ref
	Hops     int // links and redirects from the nearest seed
	Kind     Kind
	Status   int
	Denied   bool // by robots.txt; Status is what the page would have answered
	NoIndex  bool
	Original int    // of duplicates and near-duplicates; else Number
	To       []Edge // followed or not; each target once, in order of host and number
}

// Edge is a link or a redirect to a page.
type Edge struct {
	Ref
	Followed bool // false: nofollow, or out of scope
}

// Walk visits every page that can be reached from the seeds, once, nearest first. fn is called on the goroutine of the
// caller. Walk returns fn's first error, or the error of ctx. It keeps a bit for each page of the hosts that it
// reached, and 12 bytes for each page that is known and not yet visited.
func (w *Web) Walk(ctx context.Context, o WalkOptions, fn func(v *Visit) error) error {
	k := walk{w: w, o: o, seen: map[int][]uint64{}}
	for _, s := range o.Seeds {
		k.add(s, 0)
	}
	var v Visit
	for len(k.queue) > 0 {
		if err := ctx.Err(); err != nil {
			return err
		}
		next := k.queue[0]
		k.queue = k.queue[1:]
		k.visit(&v, next)
		if err := fn(&v); err != nil {
			return err
		}
	}
	return nil
}

type queued struct{ host, number, hops int32 }

type walk struct {
	w     *Web
	o     WalkOptions
	seen  map[int][]uint64 // by host: a bit for each page
	queue []queued
	refs  []ref
}

func (k *walk) inScope(host int) bool { return k.o.Keep == nil || k.o.Keep(host) }

func (k *walk) add(p Ref, hops int) {
	if !k.inScope(p.Host) {
		return
	}
	bits, known := k.seen[p.Host]
	if !known {
		bits = make([]uint64, k.w.Pages(p.Host)/64+1)
		k.seen[p.Host] = bits
	}
	if bits[p.Number/64]>>(p.Number%64)&1 == 0 {
		bits[p.Number/64] |= 1 << (p.Number % 64)
		k.queue = append(k.queue, queued{int32(p.Host), int32(p.Number), int32(hops)})
	}
	if !known && k.o.Sitemaps && k.w.hasSitemap(p.Host) && k.w.robotsMode(p.Host) != robotsBroken {
		h := k.w.host(p.Host)
		for n := range h.pages {
			if d := k.w.draw(&h, n); d.status == 200 && !d.forbidden {
				k.add(Ref{p.Host, n}, hops+1)
			}
		}
	}
}

// visit fills v and queues the pages that it leads to.
func (k *walk) visit(v *Visit, q queued) {
	h := k.w.host(int(q.host))
	d := k.w.draw(&h, int(q.number))
	*v = Visit{
		Ref: Ref{int(q.host), int(q.number)}, Hops: int(q.hops), Kind: d.kind, Status: int(d.status),
		Denied: k.w.denied(&h, int(q.number), &d), Original: int(q.number), To: v.To[:0],
	}
	if v.Denied {
		return
	}
	switch d.kind {
	case KindMissing, KindError:
		return
	case KindRedirect:
		host, page := k.w.redirect(&h, v.Number)
		v.To = append(v.To, Edge{Ref{host, page}, k.inScope(host)})
	default:
		c := k.w.content(&h, v.Number, &d)
		v.Original, v.NoIndex = c.textPage, c.draw.noIndex
		_, links, _ := k.w.degree(&h, c.textPage)
		k.refs = k.w.appendRefs(k.refs[:0], &h, c.page, links)
		for _, l := range k.refs {
			followed := k.o.FollowNoFollow || !l.noFollow && !c.draw.noFollow
			v.To = append(v.To, Edge{Ref{int(l.host), int(l.page)}, followed && k.inScope(int(l.host))})
		}
		v.To = mergeEdges(v.To)
	}
	for _, e := range v.To {
		if e.Followed {
			k.add(e.Ref, v.Hops+1)
		}
	}
}

// mergeEdges sorts edges and keeps one to each page, which is followed if one of them is.
func mergeEdges(edges []Edge) []Edge {
	slices.SortFunc(edges, func(a, b Edge) int {
		return cmp.Or(cmp.Compare(a.Host, b.Host), cmp.Compare(a.Number, b.Number))
	})
	out := edges[:0]
	for _, e := range edges {
		if n := len(out); n > 0 && out[n-1].Ref == e.Ref {
			out[n-1].Followed = out[n-1].Followed || e.Followed
			continue
		}
		out = append(out, e)
	}
	return out
}

// Truth is what a polite crawl from some seeds must find, as sets of URLs.
type Truth struct {
	Fetched    map[string]bool   // answer 200
	Redirected map[string]bool   // 301, 302
	Gone       map[string]bool   // 404, 410
	Failed     map[string]bool   // 5xx
	Denied     map[string]bool   // by robots.txt; never requested
	NoIndex    map[string]bool   // of Fetched
	Duplicate  map[string]string // of Fetched: an exact duplicate and the page whose bytes it has
	Edges      int               // links and redirects followed, each pair of pages once
	Broken     int               // of these: to what is gone
}

// Truth walks the web from the first pages of the hosts in seeds and keeps every URL. It is for webs of up to some
// hundred thousand pages; use Walk for larger ones. keep reports whether a host is in scope; nil: all are.
func (w *Web) Truth(seeds []int, keep func(host int) bool) Truth {
	t := Truth{
		Fetched: map[string]bool{}, Redirected: map[string]bool{}, Gone: map[string]bool{}, Failed: map[string]bool{},
		Denied: map[string]bool{}, NoIndex: map[string]bool{}, Duplicate: map[string]string{},
	}
	o := WalkOptions{Keep: keep}
	for _, h := range seeds {
		o.Seeds = append(o.Seeds, Ref{h, 0})
	}
	err := w.Walk(context.Background(), o, func(v *Visit) error {
		t.add(w, v)
		return nil
	})
	if err != nil {
		panic("BUG: simweb: a walk without a deadline failed: " + err.Error())
	}
	return t
}

func (t *Truth) add(w *Web, v *Visit) {
	u := w.URL(v.Host, v.Number)
	switch {
	case v.Denied:
		t.Denied[u] = true
	case v.Kind == KindRedirect:
		t.Redirected[u] = true
	case v.Kind == KindMissing:
		t.Gone[u] = true
	case v.Kind == KindError:
		t.Failed[u] = true
	default:
		t.Fetched[u] = true
		if v.NoIndex {
			t.NoIndex[u] = true
		}
		if v.Kind == KindDuplicate {
			t.Duplicate[u] = w.URL(v.Host, v.Original)
		}
	}
	for _, e := range v.To {
		if !e.Followed {
			continue
		}
		t.Edges++
		if w.isGone(e.Ref) {
			t.Broken++
		}
	}
}
