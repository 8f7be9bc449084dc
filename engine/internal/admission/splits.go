// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"sync/atomic"

	"github.com/seine-crawler/seine/storage"
	"github.com/seine-crawler/seine/storage/urlkey"
)

// splits are the parts of the keys that were moved to other directories: their URLs are refused until the part comes
// back. As with blocks, no fingerprint of them is needed: what ends a refusal makes everything pending in the same
// write. Safe for concurrent use.
type splits struct {
	list atomic.Pointer[[]urlkey.Part] // replaced, never changed; nil: none
}

func (s *splits) parts() []urlkey.Part {
	if list := s.list.Load(); list != nil {
		return *list
	}
	return nil
}

// of returns the part that has a host; false if it is in none.
func (s *splits) of(h urlkey.HostKey) (urlkey.Part, bool) {
	for _, p := range s.parts() {
		if p.Has([]byte(h)) {
			return p, true
		}
	}
	return urlkey.Part{}, false
}

func (s *splits) has(h urlkey.HostKey) bool {
	_, ok := s.of(h)
	return ok
}

// refuses reports whether a URL is in such a part. Without any it costs one load.
func (s *splits) refuses(u urlkey.URL) bool {
	return s.list.Load() != nil && s.has(u.HostKey())
}

func (s *splits) set(list []urlkey.Part) {
	if len(list) == 0 {
		s.list.Store(nil)
		return
	}
	s.list.Store(&list)
}

func (s *splits) load(store storage.Reader) error {
	list, err := scanParts(store, splitPrefix)
	s.set(list)
	return err
}

// OwnParts returns the parts that a directory was made of by a split, in order; none: it is no part of another.
func OwnParts(store storage.Reader) ([]urlkey.Part, error) { return scanParts(store, partPrefix) }

// SplitParts returns the parts of a directory that were moved to others, in order.
func SplitParts(store storage.Reader) ([]urlkey.Part, error) { return scanParts(store, splitPrefix) }

func scanParts(store storage.Reader, prefix string) (list []urlkey.Part, err error) {
	return list, scanRows(store, prefix, func(from string, until []byte) error {
		list = append(list, urlkey.Part{From: from, Until: string(until)})
		return nil
	})
}

// without returns what some parts have beside another one.
func without(list []urlkey.Part, p urlkey.Part) (rest []urlkey.Part) {
	for _, q := range list {
		rest = append(rest, q.Without(p)...)
	}
	return rest
}

// PartRows calls each with the rows of meta that a part takes along into a directory of its own, in any order: the
// seeds of its domains, blocked hosts and closed prefixes in it, which domains link to those in it, the parts of it
// that were moved on, and that it is a part.
func PartRows(store storage.Reader, p urlkey.Part, each func(key, value []byte) error) error {
	row := func(key, value string) error { return each([]byte(key), []byte(value)) }
	if err := row(partPrefix+p.From, p.Until); err != nil {
		return err
	}
	moved, err := SplitParts(store)
	if err != nil {
		return err
	}
	for _, q := range moved {
		if both, ok := q.Common(p); ok {
			if err := row(splitPrefix+both.From, both.Until); err != nil {
				return err
			}
		}
	}
	var domains urlkey.DomainMemo
	for prefix, has := range map[string]func(rest string) bool{
		seedHostPrefix:  func(host string) bool { return reaches(p, domains.DomainKey([]byte(host))) },
		seedURLPrefix:   func(key string) bool { return reaches(p, domains.DomainKey([]byte(key))) },
		blockedPrefix:   func(host string) bool { return p.Has([]byte(host)) },
		closedPrefix:    func(closed string) bool { return p.Has([]byte(closed)) },
		referrersPrefix: func(domain string) bool { return reaches(p, domain) },
	} {
		err := scanRows(store, prefix, func(rest string, value []byte) error {
			if !has(rest) {
				return nil
			}
			return row(prefix+rest, string(value))
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// reaches reports whether some keys with a prefix are in a part.
func reaches(p urlkey.Part, prefix string) bool {
	_, until := prefixBounds([]byte(prefix))
	_, ok := p.Common(urlkey.Part{From: prefix, Until: string(until)})
	return ok
}
