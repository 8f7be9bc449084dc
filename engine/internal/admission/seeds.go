// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"bytes"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/seine-crawler/seine/storage"
	"github.com/seine-crawler/seine/storage/urlkey"
)

// seedURLs sees to it that scopes which are narrower than hosts know all seeds, also those that came while no such
// scope was in use: rows of seedURLPrefix are written for the others only, since most crawls never need them. Who first
// asks such a scope looks for the seeds in crawldb; then they have rows, and seedURLsKey says so. Safe for concurrent
// use.
type seedURLs struct {
	store storage.Reader
	warn  func(error)
	whole atomic.Bool // the scopes have all seeds

	mu    sync.Mutex
	kept  bool         // meta has seedURLsKey
	found []urlkey.Key // that may have no row
	lacks bool         // crawldb could not be read
}

// load reads whether all seeds have rows.
func (s *seedURLs) load() (err error) {
	_, s.kept, err = s.store.Get(storage.Meta(), []byte(seedURLsKey), nil)
	s.whole.Store(s.kept)
	return err
}

// complete admits the seeds of crawldb, unless the scopes have them.
func (s *seedURLs) complete(admit func(urlkey.URL)) {
	if s.whole.Load() {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.whole.Load() || s.store == nil {
		return
	}
	err := eachSeed(s.store, func(key urlkey.Key) error {
		u, err := key.URL()
		if err == nil {
			admit(u)
			s.found = append(s.found, key)
		}
		return err
	})
	if s.lacks = err != nil; s.lacks {
		s.warn(fmt.Errorf("looking for seeds, for the scope: %w", err))
	}
	s.whole.Store(true)
}

// eachSeed calls each with what is a seed, or is known by redirects of seeds alone, by the records of seeds' hosts.
func eachSeed(store storage.Reader, each func(urlkey.Key) error) error {
	sc := store.Scan(storage.Crawldb(), nil, nil)
	defer sc.Close()
	var r storage.Record
	err := scan(store, seedHostPrefix, func(host string) error {
		from, to := storage.HostBounds(urlkey.HostKey(host))
		for ok := sc.SeekGE(from); ok && bytes.Compare(sc.Key(), to) < 0; ok = sc.Next() {
			if err := storage.DecodeRecord(sc.Value(), &r); err != nil {
				return fmt.Errorf("crawldb record %s: %w", sc.Key(), err)
			}
			if r.Depth > 0 || r.IsSitemap() {
				continue
			}
			if err := each(urlkey.Key(sc.Key())); err != nil {
				return err
			}
		}
		return sc.Err()
	})
	return err
}

// rows adds the rows of seeds that were found, or notes that seeds come which get none. some says that seeds come,
// needed that they get rows. It returns what done is to be told when the rows are durable.
func (s *seedURLs) rows(some, needed bool, rows map[string]string, deleted map[string]bool) (kept bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case needed && !s.kept && s.whole.Load() && !s.lacks:
		for _, key := range s.found {
			rows[seedURLPrefix+string(key)] = ""
		}
		rows[seedURLsKey] = ""
		return true
	case !needed && s.kept && some:
		deleted[seedURLsKey] = true
		return false
	}
	return s.kept
}

func (s *seedURLs) done(kept bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.kept = kept; kept {
		s.found = nil
	}
}
