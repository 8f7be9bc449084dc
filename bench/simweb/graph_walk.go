// SPDX-License-Identifier: Apache-2.0

package simweb

import (
	"context"
	"fmt"
	"net/url"
)

func (g *Graph) walkURLs(ctx context.Context, seeds []string, fn func(v *SiteVisit) error) error {
	seen := make([]uint64, g.Nodes()/64+1)
	type queued struct{ node, hops int32 }
	var queue []queued
	add := func(node int, hops int32) {
		if seen[node/64]>>(node%64)&1 == 0 {
			seen[node/64] |= 1 << (node % 64)
			queue = append(queue, queued{int32(node), hops})
		}
	}
	for _, s := range seeds {
		node, ok := g.Find(s)
		if !ok {
			return fmt.Errorf("seed %s: this graph has no such page; its first is %s", s, g.URL(0))
		}
		add(node, 0)
	}
	var v SiteVisit
	for len(queue) > 0 {
		if err := ctx.Err(); err != nil {
			return err
		}
		q := queue[0]
		queue = queue[1:]
		v = SiteVisit{URL: g.URL(int(q.node)), Hops: int(q.hops), HTML: true, To: v.To[:0]}
		for _, to := range g.Links(int(q.node)) {
			v.To = append(v.To, g.URL(int(to)))
			add(int(to), q.hops+1)
		}
		if err := fn(&v); err != nil {
			return err
		}
	}
	return nil
}

// Find returns the node of a URL, which must be spelled as URL spells it; false if there is none.
func (g *Graph) Find(rawURL string) (int, bool) {
	u, err := url.Parse(rawURL)
	if err != nil {
		return 0, false
	}
	host := g.find([]byte(u.Hostname()))
	if host < 0 {
		return 0, false
	}
	node, ok := g.node(host, u.RequestURI())
	return node, ok && g.URL(node) == rawURL
}
