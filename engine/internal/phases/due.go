// SPDX-License-Identifier: Apache-2.0

package phases

import (
	"bytes"
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/seine-crawler/seine/engine/internal/admission"
	"github.com/seine-crawler/seine/storage"
	"github.com/seine-crawler/seine/storage/urlkey"
)

// SelectHost offers to keep the best URLs of a host that are due at now (in ms), admitted and not taken: as many as
// keep keeps, and those among which they were chosen. Generate chooses so, a crawl by Window; see dueReader.choose for
// the order. keep is used by one goroutine; taken gets a key that is valid until it returns. Any number of goroutines
// may call it, for one host too.
func (p *Phases) SelectHost(
	rd storage.Reader, host urlkey.HostKey, now int64, taken func(key []byte) bool, keep *Best,
) (Selection, error) {
	d := p.newDueReader(rd)
	defer d.close()
	return d.selectHost(host, now, taken, keep)
}

// selectHost is SelectHost.
func (d *dueReader) selectHost(
	host urlkey.HostKey, now int64, taken func(key []byte) bool, keep *Best,
) (Selection, error) {
	list, sel, err := d.choose(host, now, keep.limit, keep.limit+selectRoom, taken, nil)
	sel.More = !sel.whole
	for _, c := range list {
		if keep.Wants([]byte(c.Key), c.Score, c.Depth) {
			keep.Add(c)
		}
	}
	return sel, err
}

// AnyDue reports whether a URL of a host is due at now (in ms) and admitted; if fresh, one that was never requested. It
// reads at most keysReadMax keys. Any goroutine may call it.
func (p *Phases) AnyDue(rd storage.Reader, host urlkey.HostKey, now int64, fresh bool) (bool, error) {
	d := p.newDueReader(rd)
	defer d.close()
	d.most, d.fresh = keysReadMax, fresh
	list, _, err := d.choose(host, now, 1, selectRoom, func([]byte) bool { return false }, nil)
	return len(list) > 0, err
}

// Reoffer is called after URLs may be offered again that had been handed out: of one host, or if host is "" of any,
// whose outcomes a phase has committed. Any goroutine may call it.
func (p *Phases) Reoffer(host urlkey.HostKey) { p.places.drop(host) }

// Anew makes Window begin anew with every host: nothing is handed out any more. Any goroutine may call it.
func (p *Phases) Anew() { p.places.clear() }

// Mark is what Window is given: Mark must be called before the snapshot is made that Window reads.
func (p *Phases) Mark() uint64 { return p.places.mark(p.env.Admission.Version()) }

// Window returns the best URLs of a host, up to limit, that are due at now (in ms), admitted and not taken, best first;
// if again, those that were requested before. It remembers how far it came, so that the next call need not read again
// what was handed out or refused. Whoever hands URLs out calls Reoffer when some of them may be offered again. Any
// number of goroutines may call it, each for another host. taken gets a key that is valid until it returns.
func (p *Phases) Window(
	rd storage.Reader, host urlkey.HostKey, now int64, limit int, again bool, taken func(key []byte) bool, mark uint64,
) ([]Choice, Selection, error) {
	room := min(max(limit/4, windowRoomMin), windowRoomMax)
	return p.window(rd, host, now, limit, room, again, taken, mark)
}

// window is Window. It reads parts of room more URLs than wanted.
func (p *Phases) window(
	rd storage.Reader, host urlkey.HostKey, now int64, limit, room int, again bool, taken func(key []byte) bool,
	mark uint64,
) ([]Choice, Selection, error) {
	d := p.newDueReader(rd)
	defer d.close()
	if again {
		d.pages = 0
	}
	at := p.places.get(host)
	list, sel, err := d.choose(host, now, limit, limit+room, taken, &at)
	if err == nil {
		p.places.put(host, at, mark)
	}
	return list, sel, err
}

// dueReader reads what is due of hosts, and the records of these URLs. One goroutine.
type dueReader struct {
	p       *Phases
	due     *storage.Scanner
	records *storage.Finder
	last    []byte // key that was looked up last
	record  storage.Record
	key     []byte
	seek    []byte
	// wanted says why a record that is due is not to be chosen, "" if it is; nil: all are. refused, if not nil, gets
	// that, and why admission refuses one.
	wanted  func(r *storage.Record) string
	refused func(reason string)
	// least is a score below which nothing is wanted of what was never fetched; 0: all is. Whole classes are passed.
	least float64
	// pages is how many URLs that were never requested are wanted. fresh: no others are.
	pages int64
	fresh bool
	most  int // keys to read at a host without a place
}

func (p *Phases) newDueReader(rd storage.Reader) *dueReader {
	return &dueReader{
		p: p, due: rd.Scan(storage.Due(), nil, nil), records: storage.NewFinder(rd, storage.Crawldb()),
		pages: math.MaxInt64, most: math.MaxInt,
	}
}

func (d *dueReader) close() {
	d.due.Close()
	d.records.Close()
}

// dueStream is one kind of a host's due URLs: those that were never fetched, or those that were.
type dueStream struct {
	extent        // of the part that was read; to is where the next one begins
	kind   []byte // what its keys begin with, after the host key
	end    string // is behind all of them that are due
	part   []Choice
	begun  bool
	done   bool // there is no part after this one
	shut   bool // see dueChoice.shut
}

// dueChoice is one run of choose.
type dueChoice struct {
	*dueReader
	host    urlkey.HostKey
	now     int64
	room    int
	most    int // keys to read
	taken   func(key []byte) bool
	sel     Selection
	deepest int  // URLs with more links from a seed are not admitted; 255: any
	eager   bool // filter what is read, not what is chosen
	read    int  // keys
}

// choose returns the best URLs of a host, up to limit, that are due at now (in ms), admitted and not taken, best first.
//
// It reads URLs that were never fetched in the order of score class, depth and key, and those that were in the order in
// which they fell due: of each kind a part of up to room at a time, and the next part once that is used up. Among what
// is in parts it chooses by Choice.better. So if a host has at most room due URLs of each kind, these are its best. If
// it has more of new ones, none has a worse score class than one that is left. The order within a class, and that of
// old ones, is then that of the parts.
//
// Of URLs that were never fetched it chooses dueReader.pages at most. What it does not read of them, or passes, keeps
// its place.
//
// With a place, it goes on where an earlier call ended, and stops early where it reads much without finding anything;
// sel.More is set then. choose brings the place up to where it ended.
func (d *dueReader) choose(
	host urlkey.HostKey, now int64, limit, room int, taken func(key []byte) bool, at *reach,
) (list []Choice, sel Selection, err error) {
	c := dueChoice{dueReader: d, host: host, now: now, room: room, taken: taken, deepest: d.p.env.Admission.Deepest()}
	c.most, c.eager = d.most, at == nil
	streams := [2]dueStream{
		{kind: storage.AppendDueClass(nil, 0)[:1], end: string(againFirst[:1])},
		{kind: againFirst[:1], end: string(storage.AppendDueAt(nil, now+1))},
	}
	if at != nil {
		streams[0].extent, streams[1].extent, c.most = at.new, at.again, 4*limit+keysReadMax
	}
	fresh, pages := &streams[0], d.pages
	streams[1].done = d.fresh
	for len(list) < limit {
		if pages == 0 && !fresh.shut {
			err = c.shut(fresh)
		}
		for i := range streams {
			for s := &streams[i]; err == nil && len(s.part) == 0 && !s.done && c.read < c.most; {
				err = c.load(s)
			}
		}
		if err != nil {
			return nil, c.sel, fmt.Errorf("selecting URLs of %s: %w", host, err)
		}
		best := betterStream(&streams)
		if best == nil {
			break
		}
		choice := best.part[0]
		best.part = best.part[1:]
		if c.eager || d.p.admits(choice.Key, int(choice.Depth)) {
			list = append(list, choice)
			if !choice.Counted {
				pages--
			}
		}
	}
	c.sel.Due, c.sel.whole = uint64(len(list))+c.sel.passed, true
	for i := range streams {
		s := &streams[i]
		c.sel.Due += uint64(len(s.part))
		c.sel.More = c.sel.More || len(s.part) > 0 || !s.done
		c.sel.whole = c.sel.whole && s.done && !c.sel.worse
		if len(s.part) == 0 && !s.shut {
			s.extent = extent{from: s.to}
		}
	}
	switch {
	case at == nil:
	case !c.sel.More: // the next call looks whether something came, or fell due, at any place
		*at = reach{}
	default:
		*at = reach{streams[0].extent, streams[1].extent}
	}
	return list, c.sel, nil
}

// shut ends the stream of URLs that were never fetched, because no budget allows more of them, and leaves its place as
// it was. With a place, it looks in one part whether there are any.
func (c *dueChoice) shut(s *dueStream) error {
	place := s.extent
	if len(s.part) == 0 && !s.done && !c.eager {
		if err := c.load(s); err != nil {
			return err
		}
	}
	for i := range s.part {
		if u := &s.part[i]; c.eager || c.p.admits(u.Key, int(u.Depth)) {
			c.sel.passed++
		}
	}
	c.sel.Spent = c.sel.passed > 0
	*s = dueStream{extent: place, kind: s.kind, end: s.end, done: true, shut: true}
	return nil
}

// betterStream is the one whose next choice is the better one; nil: there is none.
func betterStream(s *[2]dueStream) *dueStream {
	switch a, b := &s[0], &s[1]; {
	case len(a.part) == 0 && len(b.part) == 0:
		return nil
	case len(b.part) == 0 || len(a.part) > 0 && a.part[0].better(&b.part[0]):
		return a
	default:
		return b
	}
}

func (p *Phases) admits(key urlkey.Key, depth int) bool {
	v := p.env.Admission.VerdictKey(key, admission.Facts{Depth: depth})
	return v.OK()
}

// load reads the next part of a stream, or finds that it is done.
func (c *dueChoice) load(s *dueStream) error {
	if s.begun {
		s.extent = extent{from: s.to}
	}
	s.begun = true
	keys, err := c.readKeys(s)
	if err != nil {
		return err
	}
	slices.Sort(keys)
	for _, key := range keys {
		if err := c.look(s, key); err != nil {
			return err
		}
	}
	slices.SortFunc(s.part, func(a, b Choice) int {
		if a.better(&b) {
			return -1
		}
		return 1
	})
	return nil
}

// readKeys returns the keys of the next part of a stream that are not taken.
func (c *dueChoice) readKeys(s *dueStream) (keys []urlkey.Key, err error) {
	sc, n := c.due, len(c.host)
	c.seek = append(append(c.seek[:0], c.host...), cmp.Or(s.from, string(s.kind))...)
	for ok := sc.SeekGE(c.seek); ; {
		if !ok || !bytes.HasPrefix(sc.Key(), c.seek[:n]) || sc.Key()[n] != s.kind[0] {
			break
		}
		e, err := storage.SplitDueKey(sc.Key())
		switch {
		case err != nil:
			return nil, err
		case e.Again && e.At > c.now:
			c.later(e.At)
			s.to, s.done = s.end, true
			return keys, sc.Err()
		case s.to != "" && string(sc.Key()[n:]) >= s.to:
			return keys, nil
		case s.to == "" && len(keys) >= c.room, c.read >= c.most:
			s.to = string(sc.Key()[n:])
			return keys, nil
		}
		c.read++
		if !e.Again && int(e.Depth) > c.deepest { // and so are all others of the class
			c.sel.deeper = true
			c.seek = storage.AppendDueClass(c.seek[:n], int(e.Class)+1)
			ok = sc.SeekGE(c.seek)
			continue
		}
		if !e.Again && e.Class > 0 && c.least > 0 && c.least >= storage.ClassScore(e.Class-1) {
			c.sel.worse = true // and so are all classes after it
			break
		}
		c.key = append(append(c.key[:0], c.host...), e.Rest...)
		if !c.taken(c.key) {
			keys = append(keys, urlkey.Key(c.key))
		}
		ok = sc.Next()
	}
	s.to, s.done = s.end, true
	return keys, sc.Err()
}

// later notes when something falls due.
func (c *dueChoice) later(at int64) {
	if c.sel.NextDue == 0 || at < c.sel.NextDue {
		c.sel.NextDue = at
	}
}

// look adds a URL to a part, if its record says that it is due.
func (c *dueChoice) look(s *dueStream, key urlkey.Key) error {
	if string(key) < string(c.last) {
		c.records.Restart()
	}
	c.last = append(c.last[:0], key...)
	value, err := c.records.Find(c.last)
	if err != nil || value == nil {
		return err
	}
	r := &c.record
	if err := storage.DecodeRecord(value, r); err != nil {
		return fmt.Errorf("crawldb record %s: %w", key, err)
	}
	if !c.p.env.Schedule.Due(r, c.now) {
		c.later(r.FetchTime)
		return nil
	}
	// The answer may be narrower by now than when the record was made.
	reason := ""
	if c.wanted != nil {
		reason = c.wanted(r)
	}
	if reason == "" && c.eager {
		reason = c.p.env.Admission.VerdictKey(key, admission.Facts{Depth: int(r.Depth)}).Reason
	}
	if reason != "" {
		if c.refused != nil {
			c.refused(reason)
		}
		return nil
	}
	s.part = append(s.part, Choice{
		Key: key, Score: r.Score, Depth: r.Depth, Known: r.Segment != 0, Counted: !r.IsNew(),
	})
	return nil
}
