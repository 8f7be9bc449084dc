// SPDX-License-Identifier: Apache-2.0

package visit

import (
	"sync"

	"github.com/seine-crawler/seine/engine/fetch/robots"
	"github.com/seine-crawler/seine/storage"
	"github.com/seine-crawler/seine/storage/urlkey"
)

// sitemaps gathers the Sitemap lines of robots.txt files until the next updatedb makes records of them. They are
// in memory only: robots.txt is in hostdb, and is read again when another process visits the host for the
// first time.
type sitemaps struct {
	mu   sync.Mutex
	seen map[urlkey.Key]bool // by this process; bounded by sitemapsMax
	next []urlkey.Key
}

// noteSitemaps takes the Sitemap lines of an authority's robots.txt.
func (h *Hosts) noteSitemaps(f *storage.HostFacts) {
	if h.env.Links == nil || f.RobotsStatus < 200 || f.RobotsStatus >= 300 || len(f.Robots) == 0 {
		return
	}
	lines := robots.Parse(f.Robots).Sitemaps()
	s := &h.sitemaps
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, line := range lines[:min(len(lines), sitemapsOfHost)] {
		u, err := urlkey.Parse(line)
		if err == nil {
			u, err = h.env.Links.Normalize(u)
		}
		if err != nil || s.seen[u.Key()] || len(s.seen) >= sitemapsMax {
			continue
		}
		if s.seen == nil {
			s.seen = map[urlkey.Key]bool{}
		}
		s.seen[u.Key()] = true
		s.next = append(s.next, u.Key())
	}
}

// Sitemaps returns the sitemaps that were found since the last call.
func (h *Hosts) Sitemaps() []urlkey.Key {
	s := &h.sitemaps
	s.mu.Lock()
	defer s.mu.Unlock()
	next := s.next
	s.next = nil
	return next
}
