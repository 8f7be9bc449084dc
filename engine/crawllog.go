// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/zeebo/xxh3"

	"github.com/seine-crawler/seine/engine/fetch"
	"github.com/seine-crawler/seine/engine/internal/crawllog"
	"github.com/seine-crawler/seine/engine/internal/segment"
	"github.com/seine-crawler/seine/storage"
	"github.com/seine-crawler/seine/storage/urlkey"
)

// CrawlLogOptions say where and how each fetch is written down: its URL, answer, size, time and digest, how the URL was
// reached, and from where. The zero value means nowhere.
//
// A line is written within about 100 ms after the fetch is durable. Where the page that links to the URL is not in
// linkdb yet, its line waits for it, ten seconds at most. Lines are durable before their segment is sealed. What a crash
// leaves unwritten, the next crawl, fetch or parse writes when it reads the segment back. So each fetch that counts has
// one line, and none has two, unless the log itself is lost or changed.
type CrawlLogOptions struct {
	Path string // of the log; "": none is written
	// Format is "json" (also ""), one object a line, or "heritrix", the layout of Heritrix's crawl.log.
	Format string
	// MaxBytes is the size at which the file is renamed to Path.00001, Path.00002 and so on; 0 means 256 MiB, negative
	// never. Keep is the number of such files that stay; 0: all.
	MaxBytes int64
	Keep     int
}

// crawlLog writes the crawl log: it adds to outcomes what crawldb and linkdb know of the way to their URLs.
type crawlLog struct {
	log   *crawllog.Log
	store *storage.Store
	now   func() time.Time
	warn  func(error)

	mu        sync.Mutex
	failing   bool                    // a warning said so
	redirects map[uint64]urlkey.Key   // target → source, of redirects that were logged; see redirectsKept
	waiting   []crawlLine             // for their vias, oldest first
	tried     time.Time               // when vias were looked up for what waits
	known     map[uint32]knownFetches // of segments that are read back
}

// crawlLine is a line that is not written yet.
type crawlLine struct {
	crawllog.Entry
	key   []byte
	since time.Time
}

// knownFetches are hashes of those that the log had when a segment began to be read back.
type knownFetches map[uint64]bool

// Bounds of the crawl log.
const (
	// redirectsKept is the number of redirects whose sources are remembered, some 10 MB: then all are forgotten.
	redirectsKept = 1 << 16
	// viaWaitMax is the number of lines that wait for their vias, for viaWait at most.
	viaWaitMax = 1 << 14
	viaWait    = 10 * time.Second
	// viaRetry is the time between two looks at linkdb for what waits.
	viaRetry = time.Second
	// crawlLogBytes is the default of CrawlLogOptions.MaxBytes.
	crawlLogBytes = 256 << 20
)

// openCrawlLog opens the log that the options name, nil: none.
func (w *work) openCrawlLog() (*crawlLog, error) {
	o := w.o.CrawlLog
	if o.Path == "" || w.o.ReadOnly {
		return nil, nil
	}
	log, err := crawllog.Open(crawllog.Options{
		Path: o.Path, Format: crawllog.Format(cmp.Or(o.Format, string(crawllog.JSON))),
		MaxBytes: max(cmp.Or(o.MaxBytes, crawlLogBytes), 0), Keep: o.Keep,
	})
	if err != nil {
		return nil, err
	}
	return &crawlLog{
		log: log, store: w.store, now: w.o.Now, warn: w.warn, redirects: map[uint64]urlkey.Key{},
		known: map[uint32]knownFetches{},
	}, nil
}

func (c *crawlLog) close() error {
	if c == nil {
		return nil
	}
	c.flush()
	return c.log.Close()
}

// add logs outcomes that are durable. again says that they are read back, so that the log may have them.
func (c *crawlLog) add(seg *storage.Segment, stored []segment.Stored, again bool) {
	if c == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if again {
		stored = c.unlogged(seg, stored)
	}
	now := c.now()
	lines := make([]crawlLine, 0, len(stored))
	for i := range stored {
		lines = append(lines, newCrawlLine(seg.Number, &stored[i], now))
		if o := &stored[i].Outcome; o.Redirect != "" && o.Status != storage.FetchSuccess {
			if len(c.redirects) >= redirectsKept {
				clear(c.redirects)
			}
			c.redirects[xxh3.HashString(string(o.Redirect))] = stored[i].URL.Key()
		}
	}
	if len(c.waiting) > 0 && now.Sub(c.tried) >= viaRetry {
		c.tried = now
		lines, c.waiting = append(c.waiting, lines...), nil
	}
	err := c.findWays(lines)
	c.write(lines, now)
	c.report(err)
}

// write writes the lines that need not wait.
func (c *crawlLog) write(lines []crawlLine, now time.Time) {
	entries := make([]crawllog.Entry, 0, len(lines))
	for i := range lines {
		l := &lines[i]
		waits := strings.HasSuffix(l.HopPath, "L") && l.Via == "" && now.Sub(l.since) < viaWait
		if waits && len(c.waiting) < viaWaitMax {
			c.waiting = append(c.waiting, *l)
		} else {
			entries = append(entries, l.Entry)
		}
	}
	c.report(c.log.Write(entries))
}

// flush writes what waits and makes all durable.
func (c *crawlLog) flush() {
	if c == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	lines := c.waiting
	c.waiting = nil
	err := c.findWays(lines)
	c.write(lines, time.Unix(math.MaxInt32, 0)) // nothing waits any more
	c.report(errors.Join(err, c.log.Sync()))
}

// report warns of the first of several failures. The crawl goes on: it does not depend on the log.
func (c *crawlLog) report(err error) {
	if err != nil && !c.failing {
		c.warn(fmt.Errorf("writing the crawl log: %w: lines are missing until this ends", err))
	}
	c.failing = err != nil
}

// unlogged returns the outcomes that the log does not have.
func (c *crawlLog) unlogged(seg *storage.Segment, stored []segment.Stored) (list []segment.Stored) {
	known, ok := c.known[seg.Number]
	if !ok {
		known = knownFetches{}
		// A request may have begun before its segment did, see segment.Writer.
		err := c.log.Since(seg.Created.Add(-time.Hour), func(url string, begun time.Time) {
			known[hashFetch(url, begun.UnixMilli())] = true
		})
		c.report(err)
		clear(c.known) // segments are read back one after the other
		c.known[seg.Number] = known
	}
	for i := range stored {
		if !known[hashFetch(stored[i].URL.String(), stored[i].Outcome.Time)] {
			list = append(list, stored[i])
		}
	}
	return list
}

func hashFetch(url string, begun int64) uint64 {
	return xxh3.HashString(url) + uint64(begun)*0x9e3779b97f4a7c15
}

// newCrawlLine makes a line without the way to its URL.
func newCrawlLine(number uint32, s *segment.Stored, now time.Time) crawlLine {
	o := &s.Outcome
	l := crawlLine{key: s.URL.AppendKey(nil), since: now, Entry: crawllog.Entry{
		Time: timeOf(o.Time), Took: time.Duration(o.TookMS) * time.Millisecond, URL: s.URL.String(),
		Outcome: o.Status.String(), HTTPStatus: int(o.HTTPStatus), Code: heritrixCode(o), Failure: o.Failure,
		Bytes: int64(o.Bytes), MediaType: o.MediaType, Truncated: o.Truncated, Segment: number,
	}}
	if o.Redirect != "" {
		l.Redirect = spelled(o.Redirect)
	}
	if o.HTTPStatus != 0 {
		l.Digest = &s.Digest
	}
	return l
}

// findWays adds to lines how their URLs were reached, as far as crawldb and linkdb know it yet.
func (c *crawlLog) findWays(lines []crawlLine) (err error) {
	if len(lines) == 0 {
		return nil
	}
	order := make([]*crawlLine, len(lines))
	for i := range lines {
		order[i] = &lines[i]
	}
	slices.SortFunc(order, func(a, b *crawlLine) int { return bytes.Compare(a.key, b.key) })
	records := storage.NewFinder(c.store, storage.Crawldb())
	links := c.store.Scan(storage.Linkdb(), nil, nil)
	defer func() { err = errors.Join(err, records.Close(), links.Close()) }()
	var r storage.Record
	for _, l := range order {
		value, err := records.Find(l.key)
		if err == nil && value != nil {
			err = storage.DecodeRecord(value, &r)
		}
		if err != nil {
			return err
		}
		if value == nil {
			continue
		}
		l.HopPath, l.Tries = hopPath(int(r.Depth), int(r.Hops)), int(r.Retries)
		switch {
		case r.Hops > 0:
			if from, ok := c.redirects[xxh3.Hash(l.key)]; ok {
				l.Via = spelled(from)
			}
		case r.Depth > 0:
			if l.Via, err = firstInlink(links, l.key); err != nil {
				return err
			}
		}
	}
	return nil
}

// firstInlink returns the page on which a link to a URL was seen first; "": linkdb has none.
func firstInlink(links *storage.Scanner, key []byte) (via string, err error) {
	if !links.SeekGE(storage.AppendLinkdbKey(nil, key, 0)) {
		return "", links.Err()
	}
	target, _, err := storage.SplitLinkdbKey(links.Key())
	if err != nil || !bytes.Equal(target, key) {
		return "", err
	}
	err = storage.VisitInlinks(links.Value(), func(from, _ []byte) bool {
		via = spelled(urlkey.Key(from))
		return false
	})
	return via, err
}

// heritrixCode returns the HTTP status, or for a failure the negative code that Heritrix has for it.
func heritrixCode(o *storage.FetchOutcome) int {
	if o.HTTPStatus != 0 {
		return int(o.HTTPStatus)
	}
	switch f := fetch.Failure(o.Failure); f {
	case fetch.FailDNSNotFound, fetch.FailDNS, fetch.FailDNSTimeout:
		return -6
	case fetch.FailRefused, fetch.FailUnreachable, fetch.FailDialTimeout, fetch.FailTLSTimeout, fetch.FailTLSVerify,
		fetch.FailTLSExpired, fetch.FailTLSName, fetch.FailTLSUntrusted, fetch.FailTLS, fetch.FailProxy:
		return -2
	case fetch.FailHeadTimeout, fetch.FailTooSlow:
		return -4
	case fetch.FailAddress, fetch.FailContact, fetch.FailPort, fetch.FailType:
		return -5001
	case segment.FailureRobots, segment.FailureCrawlDelay:
		return -9998
	case fetch.FailFiles, fetch.FailHeader, fetch.FailCanceled:
		return -5
	}
	return -3 // the exchange broke off, or was no HTTP
}
