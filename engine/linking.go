// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"bytes"
	"math"
	"sort"

	"github.com/zeebo/xxh3"

	"github.com/seine-crawler/seine/engine/internal/phases"
	"github.com/seine-crawler/seine/index"
	"github.com/seine-crawler/seine/storage"
	"github.com/seine-crawler/seine/storage/urlkey"
)

// linking counts the registered domains that link to a page, its own left out, for its static score: a domain counts
// once, however many pages and hosts it has, and no more than linkingMost do. It is fed with the inlinks that are read
// for anchors, so it costs no further read.
//
// Like the anchors, it sees linkdb as of the indexing: later links count when the page is indexed again, at the latest
// by Index with Refresh, as where a crawl settles. The static score is part of a document's stamp, so Refresh finds the
// documents that it changed; and it has steps, so those are few.
type linking struct {
	targets urlkey.DomainMemo
	sources urlkey.DomainMemo
	own     string // the page's domain
	last    string // that of the source before
	name    []byte // the same
	seen    phases.KeyTable
	domains int
}

// linkingMost is the number of domains from which on more make no difference to the static score. It bounds what is
// held of a page that much of the web links to.
var linkingMost = sort.Search(math.MaxInt32, func(domains int) bool {
	return index.StaticBoost(0, domains) == index.StaticBoost(0, math.MaxInt32)
})

// begin begins the count for a page.
func (l *linking) begin(target []byte) {
	l.seen.Reset()
	l.own, l.last, l.domains = l.targets.DomainKey(target), "", 0
}

// add counts the source of a link.
func (l *linking) add(from []byte) {
	if l.domains >= linkingMost {
		return
	}
	domain := l.sources.DomainKey(from)
	if domain == l.own || domain == l.last {
		return // sources are sorted: most have the domain of the one before
	}
	l.last, l.name = domain, append(l.name[:0], domain...)
	if _, fresh := l.seen.Number(xxh3.Hash(l.name), l.name); fresh {
		l.domains++
	}
}

// targets walks linkdb for one target after the other, mostly in order: then the keys of the next one are where those
// of the one before end, and a seek, which takes as long as reading twenty keys, is not needed.
type targets struct {
	*storage.Scanner
	at   bool   // it stands at a key
	from []byte // first key of the target
	last []byte // that of the target before
}

func newTargets(rd storage.Reader) *targets {
	return &targets{Scanner: rd.Scan(storage.Linkdb(), nil, nil)}
}

// seek moves to the first key at or after those of a target; false if there is none, and on errors.
func (t *targets) seek(target []byte) bool {
	t.last, t.from = t.from, storage.AppendLinkdbKey(t.last[:0], target, 0)
	if !t.at || bytes.Compare(t.last, t.from) >= 0 || bytes.Compare(t.Key(), t.from) < 0 {
		t.at = t.SeekGE(t.from)
	}
	return t.at
}

// next moves to the next key.
func (t *targets) next() bool {
	t.at = t.Next()
	return t.at
}
