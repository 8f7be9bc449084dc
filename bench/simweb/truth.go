// SPDX-License-Identifier: Apache-2.0

package simweb

import "net/url"

// Truth is what a polite crawl from some seeds over all hosts must come to.
type Truth struct {
	Fetched    map[string]bool // URLs that answer 200
	Redirected map[string]bool
	Gone       map[string]bool
	Denied     map[string]bool // by robots.txt
	Edges      int             // links followed, each pair of pages once
}

// Truth walks the web from the first pages of the given hosts, following what a polite crawler
// follows: links without nofollow, redirects, within robots.txt. keep, if not nil, says which hosts
// are in scope.
func (w *Web) Truth(seeds []int, keep func(host int) bool) Truth {
	t := Truth{Fetched: map[string]bool{}, Redirected: map[string]bool{}, Gone: map[string]bool{}, Denied: map[string]bool{}}
	hosts := make(map[string]int, w.p.Hosts)
	for h := range w.p.Hosts {
		hosts[w.Host(h)] = h
	}
	seen := map[string]bool{}
	var queue []string
	add := func(raw string) {
		u, err := url.Parse(raw)
		if err != nil || seen[raw] || keep != nil && !keep(hosts[u.Hostname()]) {
			return
		}
		seen[raw] = true
		queue = append(queue, raw)
	}
	for _, h := range seeds {
		add(w.Root(h))
	}
	for len(queue) > 0 {
		raw := queue[0]
		queue = queue[1:]
		u, _ := url.Parse(raw)
		host := hosts[u.Hostname()]
		n, ok := w.number(host, u.Path)
		if !ok {
			t.Gone[raw] = true
			continue
		}
		p := w.Page(host, n)
		switch p.Kind {
		case KindPrivate:
			t.Denied[raw] = true
			continue
		case KindMissing:
			t.Gone[raw] = true
			continue
		case KindRedirect:
			t.Redirected[raw] = true
			add(p.Location)
			continue
		}
		t.Fetched[raw] = true
		for _, l := range p.Links {
			if !l.NoFollow {
				t.Edges++
				add(l.URL)
			}
		}
	}
	return t
}
