// SPDX-License-Identifier: Apache-2.0

package phases

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/seine-crawler/seine/storage"
	"github.com/seine-crawler/seine/storage/urlkey"
)

// Targets are URLs that an operator names: single ones, hosts, and prefixes.
//
//	https://example.org/page     this URL
//	https://example.org/docs/*   the URLs of this scheme that begin so
//	example.org                  all URLs of the host, http and https; host:port for another port
type Targets []urlTarget

// urlTarget is one of them.
type urlTarget struct {
	name   string // as it was given
	prefix string // of keys; the whole key if exact
	scheme string // that ends the keys; "": any
	exact  bool
}

// Targets reads what an operator names. Normalizers apply to single URLs, as they do to seeds.
func (p *Phases) Targets(names []string) (Targets, error) {
	var all Targets
	for _, name := range names {
		t, err := p.target(name)
		if err != nil {
			return nil, fmt.Errorf("%q: %w", name, err)
		}
		t.name = name
		all = append(all, t)
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("no URL, host or prefix is given")
	}
	slices.SortFunc(all, func(a, b urlTarget) int { return strings.Compare(a.prefix, b.prefix) })
	return all, nil
}

func (p *Phases) target(name string) (urlTarget, error) {
	if !strings.Contains(name, "://") {
		if strings.ContainsAny(name, "/*") {
			return urlTarget{}, &urlkey.Error{URL: name, Reason: "write a host as example.org, a URL or prefix with " +
				"its scheme, as https://example.org/docs/*"}
		}
		host, err := urlkey.ParseHost(name)
		return urlTarget{prefix: string(host)}, err
	}
	if prefix, below := strings.CutSuffix(name, "*"); below {
		begin, scheme, err := urlkey.KeyPrefix(prefix)
		return urlTarget{prefix: begin, scheme: scheme}, err
	}
	u, err := urlkey.Parse(name)
	if err == nil {
		u, err = p.env.Normalizers.Normalize(u)
	}
	if err != nil {
		return urlTarget{}, err
	}
	return urlTarget{prefix: string(u.Key()), exact: true}, nil
}

// Has reports whether a URL, by its key, is one of the targets. Any goroutine may call it.
func (all Targets) Has(key []byte) bool {
	for i := range all {
		t := &all[i]
		switch {
		case string(key) == t.prefix:
			return true
		case !t.exact && strings.HasPrefix(string(key), t.prefix) && strings.HasSuffix(string(key), t.scheme):
			return true
		}
	}
	return false
}

// unknown returns the first target that no record of crawldb matches, by its name; "": each has one.
func (all Targets) unknown(rd storage.Reader) (name string, err error) {
	for _, t := range all {
		err := Targets{t}.scan(rd, storage.Crawldb(), wholeKey, func(_, _, _ []byte) error { return errFound })
		if !errors.Is(err, errFound) {
			return t.name, err
		}
	}
	return "", nil
}

// errFound ends a scan that looks for one key.
var errFound = errors.New("found")

// span is a part of a range that is scanned.
type span struct {
	from, to []byte
	targets  Targets // that are in it
}

// spans are the parts of a key range that can hold targets, in order. They hold too what follows a URL's key in
// linkdb, withheld and cdx.
func (all Targets) spans() (list []span) {
	for _, t := range all {
		if n := len(list); n > 0 && bytes.Compare([]byte(t.prefix), list[n-1].to) < 0 {
			list[n-1].targets = append(list[n-1].targets, t)
			continue // a prefix comes before what it covers, so this one ends no later
		}
		s := span{from: []byte(t.prefix), to: PrefixEnd([]byte(t.prefix)), targets: Targets{t}}
		if t.exact {
			s.to = append([]byte(t.prefix), 1) // after the separator
		}
		list = append(list, s)
	}
	return list
}

// scan calls fn with every key of a range whose URL is a target, in order. url cuts the URL's key out of a key.
func (all Targets) scan(
	rd storage.Reader, r storage.Range, url func(key []byte) ([]byte, error), fn func(url, key, value []byte) error,
) error {
	for _, s := range all.spans() {
		if err := s.scan(rd, r, url, fn); err != nil {
			return err
		}
	}
	return nil
}

func (s *span) scan(
	rd storage.Reader, r storage.Range, url func(key []byte) ([]byte, error), fn func(url, key, value []byte) error,
) error {
	sc := rd.Scan(r, s.from, s.to)
	defer sc.Close()
	for sc.Next() {
		u, err := url(sc.Key())
		if err == nil && s.targets.Has(u) {
			err = fn(u, sc.Key(), sc.Value())
		}
		if err != nil {
			return err
		}
	}
	return sc.Err()
}

// Where the key of a URL is in the keys of ranges.
func wholeKey(key []byte) ([]byte, error) { return key, nil }

func linkdbTarget(key []byte) ([]byte, error) {
	target, _, err := storage.SplitLinkdbKey(key)
	return target, err
}

func capturedURL(key []byte) ([]byte, error) {
	url, _, err := storage.SplitCDXKey(key)
	return url, err
}
