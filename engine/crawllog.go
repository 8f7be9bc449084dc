// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
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
// A line is written about five seconds after the fetch is durable. Where the page that links to the URL is not in
// linkdb yet, its line waits for it, half a minute at most. Lines are durable before their segment is sealed. What a
// crash leaves unwritten, the next crawl, fetch or parse writes when it reads the segment back. So each fetch that
// counts has one line, and none has two, unless the log itself is lost or changed. Another program may rename or remove
// the file at any time: the next line begins a new one. What is in a renamed file counts as written, as long as it has
// the log's name with more after a dot or hyphen, and is not compressed.
type CrawlLogOptions struct {
	Path string // of the log; "": none is written
	// Format is "json" (also ""), one object a line, or "heritrix", the layout of Heritrix's crawl.log.
	Format string
	// MaxBytes is the size at which the file is renamed to Path.00001, Path.00002 and so on; 0 means 256 MiB, negative
	// never. Keep is the number of such files that stay; 0: all.
	MaxBytes int64
	Keep     int
}

// crawlLog writes the crawl log: it adds to outcomes what crawldb and linkdb know of the way to their URLs. It looks up
// many together, in the order of keys, which takes a third of the time: that is why lines wait.
type crawlLog struct {
	log   *crawllog.Log
	store *storage.Store
	warn  func(error)

	mu        sync.Mutex
	failing   bool                  // a warning said so
	redirects map[uint64]urlkey.Key // target → source, of redirects that were logged; see redirectsKept
	waiting   []crawlLine           // that are not written yet, oldest first
	timer     *time.Timer           // that ends the wait; nil: nothing waits
	linked    atomic.Uint64         // segments that came into linkdb: a via may be there now that was not
	known     knownFetches          // of the segment that is read back
	knownOf   uint32
}

// crawlLine is a line that is not written yet.
type crawlLine struct {
	crawllog.Entry
	key    []byte
	looks  int    // that did not find the via
	found  bool   // crawldb has told its part
	byLink bool   // linkdb has, or will have, the via
	linked uint64 // crawlLog.linked at the last look at linkdb
}

// knownFetches are hashes of those that the log had when a segment began to be read back.
type knownFetches map[uint64]bool

// Bounds of the crawl log.
const (
	// logEvery is the time between two looks at crawldb and linkdb, logLines the number of lines that bring about one
	// at once, viaLooks the number of looks at linkdb for one line.
	logEvery = 5 * time.Second
	logLines = 1 << 13
	viaLooks = 5
	// redirectsKept is the number of redirects whose sources are remembered, some 10 MB: then all are forgotten.
	redirectsKept = 1 << 16
	// crawlLogBytes is the default of CrawlLogOptions.MaxBytes.
	crawlLogBytes = 256 << 20
)

// openCrawlLog opens the log that the options name, nil: none.
func openCrawlLog(o CrawlLogOptions, store *storage.Store, warn func(error)) (*crawlLog, error) {
	if o.Path == "" {
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
		log: log, store: store, warn: warn, redirects: map[uint64]urlkey.Key{},
	}, nil
}

func (c *crawlLog) close() error {
	if c == nil {
		return nil
	}
	c.flush()
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.timer != nil {
		c.timer.Stop()
	}
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
	} else {
		c.known = nil // the log gets more
	}
	for i := range stored {
		c.waiting = append(c.waiting, newCrawlLine(seg.Number, &stored[i]))
		if o := &stored[i].Outcome; o.Redirect != "" && o.Status != storage.FetchSuccess {
			if len(c.redirects) >= redirectsKept {
				clear(c.redirects)
			}
			c.redirects[xxh3.HashString(string(o.Redirect))] = stored[i].URL.Key()
		}
	}
	if len(c.waiting) >= logLines {
		c.write(viaLooks)
	}
	c.wait()
}

// wait has what waits written later.
func (c *crawlLog) wait() {
	if len(c.waiting) > 0 && c.timer == nil {
		c.timer = time.AfterFunc(logEvery, func() {
			c.mu.Lock()
			defer c.mu.Unlock()
			if c.timer = nil; len(c.waiting) > 0 {
				c.write(viaLooks)
				c.wait()
			}
		})
	}
}

// write writes the lines that have their vias, or were looked up as often as looks says.
func (c *crawlLog) write(looks int) {
	failed := c.findWays(c.waiting)
	entries, left := make([]crawllog.Entry, 0, len(c.waiting)), c.waiting[:0]
	for _, l := range c.waiting {
		l.looks++
		linked := strings.HasSuffix(l.HopPath, "L")
		if linked && l.Via == "" && l.looks < looks && len(left) < logLines/2 {
			left = append(left, l)
		} else {
			entries = append(entries, l.Entry)
		}
	}
	clear(c.waiting[len(left):])
	c.waiting = left
	c.report(errors.Join(failed, c.log.Write(entries)))
}

// flush writes what waits and makes all durable.
func (c *crawlLog) flush() {
	if c == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.write(0)
	c.report(c.log.Sync())
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
	if c.known == nil || c.knownOf != seg.Number { // segments are read back one after the other
		c.known, c.knownOf = knownFetches{}, seg.Number
		c.write(0)
		// A request may have begun before its segment did, see segment.Writer. A segment that the store had lost was
		// made anew when the engine was opened.
		from := seg.Created
		for i := range stored {
			if begun := timeOf(stored[i].Outcome.Time); begun.Before(from) {
				from = begun
			}
		}
		err := c.log.Since(from.Add(-time.Hour), func(url string, begun time.Time) {
			c.known[hashFetch(url, begun.UnixMilli())] = true
		})
		c.report(err)
	}
	for i := range stored {
		if !c.known[hashFetch(stored[i].URL.String(), stored[i].Outcome.Time)] {
			list = append(list, stored[i])
		}
	}
	return list
}

func hashFetch(url string, begun int64) uint64 {
	return xxh3.HashString(url) + uint64(begun)*0x9e3779b97f4a7c15
}

// newCrawlLine makes a line without the way to its URL.
func newCrawlLine(number uint32, s *segment.Stored) crawlLine {
	o := &s.Outcome
	l := crawlLine{key: s.URL.AppendKey(nil), Entry: crawllog.Entry{
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
	linked := c.linked.Load()
	order := make([]*crawlLine, 0, len(lines))
	for i := range lines {
		if l := &lines[i]; !l.found || l.byLink && l.linked != linked {
			order = append(order, l)
		}
	}
	if len(order) == 0 {
		return nil
	}
	slices.SortFunc(order, func(a, b *crawlLine) int { return bytes.Compare(a.key, b.key) })
	records := storage.NewFinder(c.store, storage.Crawldb())
	links := c.store.Scan(storage.Linkdb(), nil, nil)
	defer func() { err = errors.Join(err, records.Close(), links.Close()) }()
	var r storage.Record
	for _, l := range order {
		if !l.found {
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
			c.reachedBy(l, &r)
		}
		if l.byLink {
			l.linked = linked
			if l.Via, err = firstInlink(links, l.key); err != nil {
				return err
			}
		}
	}
	return nil
}

// reachedBy adds to a line what the record of its URL tells.
func (c *crawlLog) reachedBy(l *crawlLine, r *storage.Record) {
	l.found, l.byLink = true, r.Hops == 0 && r.Depth > 0
	l.HopPath, l.Tries = hopPath(int(r.Depth), int(r.Hops)), int(r.Retries)
	if r.Hops > 0 {
		if from, ok := c.redirects[xxh3.Hash(l.key)]; ok {
			l.Via = spelled(from)
		}
	}
}

// hasLinks notes that linkdb has the links of one more segment.
func (c *crawlLog) hasLinks() {
	if c != nil {
		c.linked.Add(1)
	}
}

// firstInlink returns the page on which a link to a URL was seen first; "": linkdb has none.
func firstInlink(links *storage.Scanner, key []byte) (via string, err error) {
	if !links.SeekGE(storage.AppendLinkdbKey(nil, key, 0)) {
		return "", links.Err()
	}
	target, segment, err := storage.SplitLinkdbKey(links.Key())
	if err != nil || !bytes.Equal(target, key) {
		return "", err
	}
	var first urlkey.Key
	found := segment
	err = storage.VisitLinks(links.Value(), segment, func(from, _ []byte, of uint32) bool {
		if first == "" || of < found {
			first, found = urlkey.Key(from), of
		}
		return segment == storage.MergedSegment // only there are later links of earlier segments
	})
	if first != "" {
		via = spelled(first)
	}
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
