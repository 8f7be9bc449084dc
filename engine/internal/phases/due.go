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
// keep keeps, and those among which they were chosen. Generate and spent budgets choose here, a crawl by Window; see
// dueReader.choose for the order. keep is used by one goroutine; taken gets a key that is valid until it returns. Any
// number of goroutines may call it, for one host too.
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

// Reoffer is called after URLs may be offered again that had been handed out: of one host, or if host is "" of any,
// whose outcomes a phase has committed. Any goroutine may call it.
func (p *Phases) Reoffer(host urlkey.HostKey) { p.places.drop(host) }

// Anew makes Window begin anew with every host: nothing is handed out any more. Any goroutine may call it.
func (p *Phases) Anew() { p.places.clear() }

// Mark is what Window is given: Mark must be called before the snapshot is made that Window reads.
func (p *Phases) Mark() uint64 { return p.places.mark(p.env.Admission.Version()) }

// Window returns the best URLs of a host, up to limit, that are due at now (in ms), admitted and not taken, best first.
// It remembers how far it came, so that the next call need not read again what was handed out or refused. Whoever hands
// URLs out calls Reoffer when some of them may be offered again. Any number of goroutines may call it, each for another
// host. taken gets a key that is valid until it returns.
func (p *Phases) Window(
	rd storage.Reader, host urlkey.HostKey, now int64, limit int, taken func(key []byte) bool, mark uint64,
) ([]Choice, Selection, error) {
	return p.window(rd, host, now, limit, min(max(limit/4, windowRoomMin), windowRoomMax), taken, mark)
}

// window is Window. It reads parts of room more URLs than wanted.
func (p *Phases) window(
	rd storage.Reader, host urlkey.HostKey, now int64, limit, room int, taken func(key []byte) bool, mark uint64,
) ([]Choice, Selection, error) {
	d := p.newDueReader(rd)
	defer d.close()
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
}

func (p *Phases) newDueReader(rd storage.Reader) *dueReader {
	return &dueReader{
		p: p, due: rd.Scan(storage.Due(), nil, nil), records: storage.NewFinder(rd, storage.Crawldb()),
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
// With a place, it goes on where an earlier call ended, and stops early where it reads much without finding anything;
// sel.More is set then. choose brings the place up to where it ended.
func (d *dueReader) choose(
	host urlkey.HostKey, now int64, limit, room int, taken func(key []byte) bool, at *reach,
) (list []Choice, sel Selection, err error) {
	c := dueChoice{dueReader: d, host: host, now: now, room: room, taken: taken, deepest: d.p.env.Admission.Deepest()}
	c.most, c.eager = math.MaxInt, at == nil
	streams := [2]dueStream{
		{kind: storage.AppendDueClass(nil, 0)[:1], end: string(againFirst[:1])},
		{kind: againFirst[:1], end: string(storage.AppendDueAt(nil, now+1))},
	}
	if at != nil {
		streams[0].extent, streams[1].extent, c.most = at.new, at.again, 4*limit+keysReadMax
	}
	for len(list) < limit {
		for i := range streams {
			for s := &streams[i]; len(s.part) == 0 && !s.done && c.read < c.most; {
				if err = c.load(s); err != nil {
					return nil, c.sel, fmt.Errorf("selecting URLs of %s: %w", host, err)
				}
			}
		}
		best := betterStream(&streams)
		if best == nil {
			break
		}
		choice := best.part[0]
		best.part = best.part[1:]
		if c.eager || d.p.admits(choice.Key, int(choice.Depth)) {
			list = append(list, choice)
		}
	}
	c.sel.Due, c.sel.whole = uint64(len(list)), true
	for i := range streams {
		s := &streams[i]
		c.sel.Due += uint64(len(s.part))
		c.sel.More = c.sel.More || len(s.part) > 0 || !s.done
		c.sel.whole = c.sel.whole && s.done && !c.sel.worse
		if len(s.part) == 0 {
			s.extent = extent{from: s.to}
		}
	}
	if at != nil && !c.sel.More { // the next call looks whether something came, or fell due, at any place
		*at = reach{}
	} else if at != nil {
		*at = reach{streams[0].extent, streams[1].extent}
	}
	return list, c.sel, nil
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
	s.part = append(s.part, Choice{Key: key, Score: r.Score, Depth: r.Depth, Known: r.Segment != 0})
	return nil
}
