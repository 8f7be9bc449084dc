// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/seine-crawler/seine/index"
	"github.com/seine-crawler/seine/storage"
	"github.com/seine-crawler/seine/storage/urlkey"
)

// TestLinkingDomains: each domain but the page's own counts once; below a public suffix, each name is another domain.
func TestLinkingDomains(t *testing.T) {
	var l linking
	for _, c := range []struct {
		target  string
		sources []string // in the order of keys
		domains int
	}{
		{"http://a.example/", []string{"http://a.example/b", "http://www.a.example/"}, 0},
		{"http://a.example/", []string{"http://b.example/", "http://b.example/b", "http://www.b.example/"}, 1},
		{"http://github.io/", []string{"http://github.io/b", "http://a.github.io/", "http://b.github.io/"}, 2},
		{"http://b.example/", []string{"http://github.io/", "http://a.github.io/", "http://www.a.github.io/"}, 2},
		{"http://www.amazonaws.com/", []string{"http://amazonaws.com/", "http://a.s3.amazonaws.com/"}, 1},
	} {
		key := func(raw string) []byte {
			u, err := urlkey.Parse(raw)
			if err != nil {
				t.Fatal(err)
			}
			return u.AppendKey(nil)
		}
		l.begin(key(c.target))
		for _, source := range c.sources {
			l.add(key(source))
		}
		if l.domains != c.domains {
			t.Errorf("%d domains of %v link to %s, want %d", l.domains, c.sources, c.target, c.domains)
		}
	}
}

// TestLinkingDomainsBounded: of a page to which many domains link, no more is held than its static score takes.
func TestLinkingDomainsBounded(t *testing.T) {
	var l linking
	l.begin([]byte("example,a,)/ http"))
	const domains = 20_000
	for i := range domains {
		l.add(fmt.Appendf(nil, "example,b%05d,)/ http", i))
	}
	if got, want := index.StaticBoost(0, l.domains), index.StaticBoost(0, domains); got != want {
		t.Errorf("static score %v, want %v", got, want)
	}
	if held := l.seen.Room(); held > 64<<10 {
		t.Errorf("%d bytes are held of %d domains", held, domains)
	}
}

// TestAnchorsOfDamagedKey: a key of linkdb that is none is an error, not the end of a page's links.
func TestAnchorsOfDamagedKey(t *testing.T) {
	s, err := storage.Open(t.TempDir(), storage.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	target := []byte("example,a,)/ http")
	in := s.NewIngestion()
	defer in.Abort()
	if err := in.Table(storage.Linkdb()).Set(append(target, 1), nil); err != nil {
		t.Fatal(err)
	}
	if err := in.Commit(); err != nil {
		t.Fatal(err)
	}
	links := newTargets(s)
	defer links.Close()
	if err := new(indexing).readAnchors(links, target); !errors.Is(err, storage.ErrCorrupt) {
		t.Errorf("reading anchors: %v", err)
	}
}

// TestTargets: for targets in any order, with links and without, read to the end or not, targets stands where a seek
// does.
func TestTargets(t *testing.T) {
	s, err := storage.Open(t.TempDir(), storage.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	in := s.NewIngestion()
	defer in.Abort()
	w := in.Table(storage.Linkdb())
	target := func(n int) []byte { return fmt.Appendf(nil, "example.target:%03d", n) }
	for n := range 40 {
		for part := range n % 4 { // one in four has no links
			if err := w.Set(storage.AppendLinkdbKey(nil, target(n), uint32(part)), []byte{0}); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := in.Commit(); err != nil {
		t.Fatal(err)
	}
	rapid.Check(t, func(t *rapid.T) {
		list := rapid.SliceOfN(rapid.IntRange(0, 45), 1, 60).Draw(t, "targets")
		if rapid.Bool().Draw(t, "in order") {
			slices.Sort(list)
		}
		links, want := newTargets(s), s.Scan(storage.Linkdb(), nil, nil)
		defer links.Close()
		defer want.Close()
		for i, n := range list {
			ok := want.SeekGE(storage.AppendLinkdbKey(nil, target(n), 0))
			for got := links.seek(target(n)); ; got = links.next() {
				if got != ok || ok && string(links.Key()) != string(want.Key()) {
					t.Fatalf("target %d: %v, want %v", n, got, ok)
				}
				if !ok || (i+n)%3 == 0 {
					break
				}
				ok = want.Next()
			}
		}
	})
}
