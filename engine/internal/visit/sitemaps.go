// SPDX-License-Identifier: Apache-2.0

package visit

import (
	"slices"
	"sync"

	"github.com/zeebo/xxh3"

	"github.com/seine-crawler/seine/engine/fetch/robots"
	"github.com/seine-crawler/seine/engine/policy"
	"github.com/seine-crawler/seine/storage"
	"github.com/seine-crawler/seine/storage/urlkey"
)

// sitemaps collects the Sitemap lines of robots.txt files until the next updatedb makes records of them. They are in
// memory only: robots.txt is in hostdb, where an updatedb of a later process finds it (SitemapsOf), and where a later
// crawl finds it when it first visits the host.
type sitemaps struct {
	mu   sync.Mutex
	seen map[uint64]struct{} // hashes of those that were collected; beyond sitemapsSeen all are forgotten
	next []urlkey.Key        // bounded by sitemapsNext
	done int                 // how many were in next and are in crawldb
}

// note collects the Sitemap lines of an authority's robots.txt, normalized; with nil normalizers none.
func (s *sitemaps) note(authority urlkey.HostKey, f *storage.HostFacts, normalizers policy.URLNormalizers) {
	if normalizers == nil {
		return
	}
	keys := SitemapsOf(authority, f, normalizers)
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, key := range keys[:min(len(keys), sitemapsNext-len(s.next))] {
		hash := xxh3.HashString(string(key))
		if _, known := s.seen[hash]; known {
			continue
		}
		if s.seen == nil || len(s.seen) >= sitemapsSeen {
			s.seen = map[uint64]struct{}{}
		}
		s.seen[hash] = struct{}{}
		s.next = append(s.next, key)
	}
}

// SitemapsOf returns the keys of the sitemaps that an authority's robots.txt names, normalized. The authority is a key
// of storage.AuthorityKey. A name that is no complete URL is relative to that of the robots.txt.
func SitemapsOf(
	authority urlkey.HostKey, f *storage.HostFacts, normalizers policy.URLNormalizers,
) (keys []urlkey.Key) {
	if f.RobotsStatus < 200 || f.RobotsStatus >= 300 || len(f.Robots) == 0 {
		return nil
	}
	host, scheme := storage.SplitAuthorityKey(authority)
	base, err := urlkey.Parse(scheme + "://" + host.String() + "/robots.txt")
	if err != nil {
		return nil
	}
	lines := robots.Parse(f.Robots).Sitemaps()
	for _, line := range lines[:min(len(lines), sitemapsOfHost)] {
		u, err := base.Resolve(line)
		if err == nil && u != base {
			u, err = normalizers.Normalize(u)
		}
		if err == nil && u != base {
			keys = append(keys, u.Key())
		}
	}
	return keys
}

// found returns what was found, but for what an earlier call returned and is done with.
func (s *sitemaps) found() (keys []urlkey.Key, done func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	end := s.done + len(s.next)
	return slices.Clip(s.next), func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.next = s.next[max(0, end-s.done):]
		s.done = max(s.done, end)
	}
}
