// SPDX-License-Identifier: Apache-2.0

package web

import (
	"context"
	"errors"
	"sync"

	"github.com/zeebo/xxh3"

	"github.com/seine-crawler/seine/engine"
)

// linksCounted is the number of linking pages that are counted one by one; where there are more, LinkCounts counts all.
const linksCounted = 20

// linkCount says how many pages link to a page.
type linkCount struct {
	pages uint64
	more  bool // there are more, and they could not be counted
}

// linkCounts keeps the counts of hits as long as Answers keeps pages with them: until the index changes. To count ten
// hits' links one by one takes a fifth of the time of a page, and other queries find the same pages. It has two
// generations of at most linkCountsKept: what is used survives. They take about 3 MB at most. Any goroutine may use it;
// the zero value is empty.
type linkCounts struct {
	mu       sync.Mutex
	at       uint64 // what the index was, as Answers says
	now, old map[xxh3.Uint128]linkCount
}

const linkCountsKept = 1 << 15

// get returns what is kept of a URL. at is what the index is.
func (l *linkCounts) get(at uint64, url string) (c linkCount, ok bool) {
	key := xxh3.HashString128(url)
	l.mu.Lock()
	defer l.mu.Unlock()
	if at != l.at {
		return c, false
	}
	if c, ok = l.now[key]; !ok {
		if c, ok = l.old[key]; ok {
			l.put(key, c)
		}
	}
	return c, ok
}

// keep keeps what was counted of a URL. at is what the index was before.
func (l *linkCounts) keep(at uint64, url string, c linkCount) {
	key := xxh3.HashString128(url)
	l.mu.Lock()
	defer l.mu.Unlock()
	if at < l.at {
		return
	}
	if at > l.at {
		l.at, l.now, l.old = at, nil, nil
	}
	l.put(key, c)
}

func (l *linkCounts) put(key xxh3.Uint128, c linkCount) {
	if l.now == nil || len(l.now) >= linkCountsKept {
		l.old, l.now = l.now, map[xxh3.Uint128]linkCount{}
	}
	l.now[key] = c
}

// linksOf counts the links of hits.
func (h *Handler) linksOf(ctx context.Context, list []engine.Hit) []linkCount {
	at := h.e.Answers().Index()
	counts := make([]linkCount, len(list))
	var urls []string
	var places []int
	for i := range list {
		var ok bool
		if counts[i], ok = h.counted.get(at, list[i].URL); !ok {
			urls, places = append(urls, list[i].URL), append(places, i)
		}
	}
	if len(urls) == 0 {
		return counts
	}
	pages, err := h.linkingPages(ctx, urls) // hits are worth showing without them
	for k, i := range places {
		c := linkCount{pages: uint64(pages[k])}
		failed := err
		if c.pages == linksCounted {
			var of engine.LinkCounts
			of, failed = h.e.Inspect().LinkCounts(ctx, urls[k])
			c.pages, c.more = max(of.Pages, linksCounted), failed != nil
		}
		if counts[i] = c; err == nil && failed == nil {
			h.counted.keep(at, urls[k], c)
		}
	}
	return counts
}

// linkingPages counts the pages that link to URLs, in two halves side by side: looking for them in linkdb is an eighth
// of the time of a page of hits.
func (h *Handler) linkingPages(ctx context.Context, urls []string) (pages []int, err error) {
	var first []int
	var failed error
	half := len(urls) / 2
	var beside sync.WaitGroup
	if half > 0 {
		beside.Go(func() { first, failed = h.e.Inspect().LinkingPages(ctx, urls[:half], linksCounted) })
	}
	second, err := h.e.Inspect().LinkingPages(ctx, urls[half:], linksCounted)
	beside.Wait()
	return append(first, second...), errors.Join(failed, err)
}

// text says how many pages link to a page; "": none.
func (c linkCount) text() string {
	switch {
	case c.more:
		return numberText(c.pages) + "+ pages link here"
	case c.pages == 1:
		return "1 page links here"
	case c.pages > 0:
		return numberText(c.pages) + " pages link here"
	}
	return ""
}
