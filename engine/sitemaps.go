// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"github.com/seine-crawler/seine/engine/internal/phases"
	"github.com/seine-crawler/seine/engine/internal/visit"
	"github.com/seine-crawler/seine/engine/policy"
	"github.com/seine-crawler/seine/storage"
	"github.com/seine-crawler/seine/storage/urlkey"
)

// sitemaps returns the sitemaps that were found in robots.txt files and that no call of done has removed. Those of the
// hosts of a segment that an earlier process may have fetched come from hostdb, where that has left them. Any goroutine
// may call it.
func (w *work) sitemaps(segment uint32) (keys []urlkey.Key, done func()) {
	done = func() {}
	if w.net.opened.Load() {
		keys, done = w.net.hosts.Sitemaps()
		if segment >= w.net.first {
			return keys, done
		}
	}
	if !w.o.Sitemaps {
		return keys, done
	}
	sc := w.store.Scan(storage.ParseLinks(segment), nil, nil)
	defer sc.Close()
	var facts storage.HostFacts
	for ok := sc.Next(); ok; {
		host := urlkey.HostKey(urlkey.HostKeyOf(sc.Key()))
		for _, scheme := range []string{"http", "https"} {
			authority := storage.AuthorityKey(host, scheme)
			known, err := w.store.HostFacts(authority, &facts)
			if err != nil {
				w.warn(wrapf(err, "sitemaps of %s", host))
			} else if known {
				keys = append(keys, visit.SitemapsOf(authority, &facts, w.o.normalizers(policy.NormalizeOutlink))...)
			}
		}
		ok = sc.SeekGE(phases.PrefixEnd([]byte(host)))
	}
	w.warn(wrapf(sc.Err(), "sitemaps of segment %d", segment))
	return keys, done
}
