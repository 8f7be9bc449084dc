// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"fmt"
	"slices"
	"sync"

	"github.com/seine-crawler/seine/engine/fetch/robots"
	"github.com/seine-crawler/seine/engine/policy"
	"github.com/seine-crawler/seine/storage"
	"github.com/seine-crawler/seine/storage/urlkey"
)

// sitemaps gathers the Sitemap lines of robots.txt files, until the next updatedb makes records of those
// that the filters and the scope want. They are kept in memory only: robots.txt is in hostdb, and is read
// again when the host is visited for the first time by another process.
type sitemaps struct {
	mu   sync.Mutex
	seen map[urlkey.Key]bool // by this process; bounded by sitemapsMax
	next []urlkey.Key
}

// noteSitemaps takes the Sitemap lines of an authority's robots.txt.
func (e *Engine) noteSitemaps(f *storage.HostFacts) {
	if !e.o.Sitemaps || f.RobotsStatus < 200 || f.RobotsStatus >= 300 || len(f.Robots) == 0 {
		return
	}
	lines := robots.Parse(f.Robots).Sitemaps()
	s := &e.sitemaps
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, line := range lines[:min(len(lines), sitemapsOfHost)] {
		u, err := urlkey.Parse(line)
		if err == nil {
			u, err = e.o.normalizers(policy.NormalizeOutlink).Normalize(u)
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

// addSitemaps gives updatedb what was gathered: those that crawldb does not know get the score of a seed,
// so that they are fetched before the pages that they lead to.
func (u *update) addSitemaps() error {
	s := &u.e.sitemaps
	s.mu.Lock()
	keys := s.next
	s.next = nil
	s.mu.Unlock()
	slices.Sort(keys)
	for _, k := range keys {
		if reason := u.e.verdict(k); reason != "" {
			u.report.Filtered[reason]++
			continue
		}
		var r storage.Record
		if known, err := u.e.store.Record(k, &r); err != nil {
			return fmt.Errorf("sitemap %s: %w", k, err)
		} else if known {
			continue
		}
		u.value = appendInput(u.value[:0], input{link: true, score: u.e.o.Scorer.Inject(1)}, nil)
		if err := u.inputs.Add([]byte(k), u.value); err != nil {
			return err
		}
	}
	return nil
}
