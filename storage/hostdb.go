// SPDX-License-Identifier: Apache-2.0

package storage

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"math"
	"net/netip"
	"slices"

	"github.com/klauspost/compress/s2"

	"github.com/seine-crawler/seine/storage/urlkey"
)

// HostCounts is what phases know of a host: how many of its URLs have which status, and when the next
// one is due. The sum over all hosts equals crawldb, because both are written in the same ingestion.
type HostCounts struct {
	ByStatus [StatusCount]uint32
	// NextDue is the least due time of the host's records, in ms; 0: the host has no record. A record
	// is due at its FetchTime, but never before 1 ms.
	NextDue int64
	// Bytes and TookMS are what fetching the host's URLs has cost over the host's whole life.
	Bytes, TookMS uint64
	// Soonest are the least due times, in ascending order, each with its number of records; the first
	// is NextDue. All other records are due later than the last entry. Complete says that there are
	// none. An empty list that is not complete says nothing: it must be rebuilt from crawldb.
	//
	// AddDue and RemoveDue keep both right while records change, so that NextDue stays exact without a
	// scan of the host's range for each change.
	Soonest  []DueCount // at most SoonestMax
	Complete bool
}

// DueCount is a due time and the number of records that have it.
type DueCount struct {
	At    int64 // ms
	Count uint32
}

// DueAt is the time at which a record with that fetch time is due: never 0, which means "none".
func DueAt(fetchTime int64) int64 { return max(fetchTime, 1) }

// AddDue notes one more record that is due at a time.
func (c *HostCounts) AddDue(at int64) {
	if !c.KnowsDue() {
		return
	}
	i, found := c.findDue(at)
	switch {
	case found:
		c.Soonest[i].Count++
	case i < len(c.Soonest) || c.Complete:
		c.Soonest = slices.Insert(c.Soonest, i, DueCount{at, 1})
		if len(c.Soonest) > SoonestMax {
			c.Soonest, c.Complete = c.Soonest[:SoonestMax], false
		}
		c.NextDue = c.Soonest[0].At
	}
}

// RemoveDue notes that one record is not due at a time any more.
func (c *HostCounts) RemoveDue(at int64) {
	if !c.KnowsDue() {
		return
	}
	i, found := c.findDue(at)
	switch {
	case found:
		if c.Soonest[i].Count--; c.Soonest[i].Count == 0 {
			c.Soonest = slices.Delete(c.Soonest, i, i+1)
		}
	case i < len(c.Soonest) || c.Complete: // the list does not agree with crawldb
		c.Soonest, c.Complete = c.Soonest[:0], false
	}
	if len(c.Soonest) > 0 {
		c.NextDue = c.Soonest[0].At
	} else if c.Complete {
		c.NextDue = 0
	}
}

// KnowsDue reports whether NextDue and Soonest can be relied on; if not, they must be rebuilt.
func (c *HostCounts) KnowsDue() bool { return len(c.Soonest) > 0 || c.Complete }

// findDue returns the place of a time in the list, or where it belongs.
func (c *HostCounts) findDue(at int64) (i int, found bool) {
	for i = range c.Soonest {
		if c.Soonest[i].At >= at {
			return i, c.Soonest[i].At == at
		}
	}
	return len(c.Soonest), false
}

// SetDue sets NextDue, Soonest and Complete from the least due times of all the host's records.
// complete says that times has all of them.
func (c *HostCounts) SetDue(times []DueCount, complete bool) {
	n := min(len(times), SoonestMax)
	c.Soonest, c.Complete = append(c.Soonest[:0], times[:n]...), complete && n == len(times)
	c.NextDue = 0
	if n > 0 {
		c.NextDue = times[0].At
	}
}

// DueTimes finds the least distinct times among any number of them, in memory for a few times as many.
// The zero value is not usable; see NewDueTimes.
type DueTimes struct {
	limit int
	list  []DueCount // sorted and distinct after shrink
	cut   bool       // times after last were left out
	last  int64      // of the least limit times so far, once there are as many
}

// NewDueTimes returns an empty DueTimes that keeps the least limit distinct times.
func NewDueTimes(limit int) *DueTimes { return &DueTimes{limit: limit, last: math.MaxInt64} }

// Reset forgets all times.
func (d *DueTimes) Reset() { d.list, d.cut, d.last = d.list[:0], false, math.MaxInt64 }

// Add notes a record's due time.
func (d *DueTimes) Add(at int64) {
	if at > d.last {
		d.cut = true
		return
	}
	if n := len(d.list); n > 0 && d.list[n-1].At == at {
		d.list[n-1].Count++
		return
	}
	d.list = append(d.list, DueCount{at, 1})
	if len(d.list) >= 2*d.limit+dueTimesRoom {
		d.shrink()
	}
}

// dueTimesRoom is how many times DueTimes gathers beyond twice its limit before it sorts them.
const dueTimesRoom = 64

// shrink sorts the list, adds up equal times and leaves out what is beyond the limit.
func (d *DueTimes) shrink() {
	slices.SortFunc(d.list, func(a, b DueCount) int { return cmp.Compare(a.At, b.At) })
	n := 0
	for i, t := range d.list {
		if i > 0 && t.At == d.list[n-1].At {
			d.list[n-1].Count += t.Count
			continue
		}
		d.list[n] = t
		n++
	}
	d.list = d.list[:n]
	if n > d.limit {
		d.list, d.cut = d.list[:d.limit], true
	}
	if n >= d.limit {
		d.last = d.list[d.limit-1].At
	}
}

// Least returns the least times in ascending order, at most the limit, and whether that are all. The list is valid
// until the next call of Add or Reset.
func (d *DueTimes) Least() (times []DueCount, complete bool) {
	d.shrink()
	return d.list, !d.cut
}

// Layout of HostCounts:
//
//	1 byte   version 3; 2 lacks the due times, 1 bytes and milliseconds too
//	varint   next due
//	uvarint  number of counts (from status 1), then each a uvarint; trailing zeros are left out
//	uvarint  bytes, then milliseconds
//	uvarint  number of due times × 2, + 1 if they are complete, then each:
//	         the first: varint time − next due; others: uvarint time − the one before
//	         uvarint records
//
// Example: 3 unfetched due at 9, 1 fetched due at 12, nothing else, 5 bytes in 7 ms
//
//	03 12 02 03 01 05 07   05 00 03 03 01
const hostCountsVersion = 3

// SoonestMax is the number of due times that are kept of a host. Records that were found together are
// due together, so that a host that was never fetched has one or few.
const SoonestMax = 8

// AppendHostCounts appends the encoding of c. Of Soonest the first SoonestMax are kept.
func AppendHostCounts(dst []byte, c *HostCounts) []byte {
	dst = binary.AppendVarint(append(dst, hostCountsVersion), c.NextDue)
	counts := c.ByStatus[1:]
	for len(counts) > 0 && counts[len(counts)-1] == 0 {
		counts = counts[:len(counts)-1]
	}
	dst = binary.AppendUvarint(dst, uint64(len(counts)))
	for _, n := range counts {
		dst = binary.AppendUvarint(dst, uint64(n))
	}
	dst = binary.AppendUvarint(binary.AppendUvarint(dst, c.Bytes), c.TookMS)
	due := c.Soonest[:min(len(c.Soonest), SoonestMax)]
	head := uint64(len(due)) << 1
	if c.Complete && len(due) == len(c.Soonest) {
		head |= 1
	}
	dst = binary.AppendUvarint(dst, head)
	for i, d := range due {
		if i == 0 {
			dst = binary.AppendVarint(dst, d.At-c.NextDue)
		} else {
			dst = binary.AppendUvarint(dst, uint64(d.At-due[i-1].At))
		}
		dst = binary.AppendUvarint(dst, uint64(d.Count))
	}
	return dst
}

// DecodeHostCounts decodes into c, using c.Soonest's room again. What versions 1 and 2 wrote has no due times.
func DecodeHostCounts(b []byte, c *HostCounts) error {
	d := decoder{b: b}
	*c = HostCounts{Soonest: c.Soonest[:0]}
	version := d.byte()
	c.NextDue = d.varint()
	n := d.uint(uint64(StatusCount - 1))
	for i := range n {
		c.ByStatus[1+i] = d.uint32()
	}
	if version >= 2 {
		c.Bytes, c.TookMS = d.uvarint(), d.uvarint()
	}
	if version >= 3 {
		decodeDue(&d, c)
	}
	if !d.done() || version < 1 || version > hostCountsVersion {
		*c = HostCounts{Soonest: c.Soonest[:0]}
		return corrupt("host counts of %d bytes: % .32x", len(b), b)
	}
	return nil
}

// decodeDue reads the due times: ascending, each of some record.
func decodeDue(d *decoder, c *HostCounts) {
	head := d.uint(SoonestMax<<1 | 1)
	c.Complete = head&1 != 0
	at := c.NextDue
	for i := range head >> 1 {
		before := at
		if i == 0 {
			at += d.varint()
		} else {
			at += int64(d.uvarint())
		}
		count := d.uint32()
		if d.bad || count == 0 || i > 0 && at <= before {
			d.fail()
			return
		}
		c.Soonest = append(c.Soonest, DueCount{at, count})
	}
}

// HostFacts is what fetching learned of a host. It saves requests after a restart; losing the newest
// ones costs a robots.txt or two.
type HostFacts struct {
	RobotsFetched  int64  // ms, 0 = never
	RobotsExpires  int64  // ms
	RobotsStatus   uint16 // HTTP status, or what the caller puts there for none
	RobotsFailures uint16 // fetches of robots.txt that failed in a row
	Robots         []byte // its body, cut at RobotsMaxBytes
	CrawlDelayMS   uint32 // from robots.txt, 0 = none
	Failures       uint16 // failed visits in a row
	Sleeps         uint16 // times the host was given up for a while since it last answered
	Throttles      uint16 // answers in a row that demanded a pause (429, 503)
	NextFetch      int64  // ms: not before, 0 = no limit
	Addr           netip.Addr
	ResponseMS     uint32 // of the last visit
}

// Layout of HostFacts:
//
//	1 byte   version 3; 2 lacks the throttles, 1 the sleeps too
//	1 byte   1 = robots body is s2-compressed
//	varint   robots fetched, then varint robots expires − fetched
//	uvarint  robots status, robots failures, crawl delay, failures, each
//	varint   next fetch
//	uvarint  response time
//	uvarint  sleeps, then throttles
//	text     address: 0, 4 or 16 bytes, then its zone
//	text     robots body
//
// Bodies are compressed here and not only in the table's block, because they pass through log and
// memtable first.
const (
	hostFactsVersion = 3
	// robotsCompressMin is the size from which compressing saves anything worth having.
	robotsCompressMin = 1 << 10
)

// AppendHostFacts appends the encoding of f.
func AppendHostFacts(dst []byte, f *HostFacts) []byte {
	body, packed := f.Robots[:min(len(f.Robots), RobotsMaxBytes)], byte(0)
	if len(body) >= robotsCompressMin {
		body, packed = s2.Encode(nil, body), 1
	}
	dst = append(dst, hostFactsVersion, packed)
	dst = binary.AppendVarint(dst, f.RobotsFetched)
	dst = binary.AppendVarint(dst, f.RobotsExpires-f.RobotsFetched)
	dst = binary.AppendUvarint(dst, uint64(f.RobotsStatus))
	dst = binary.AppendUvarint(dst, uint64(f.RobotsFailures))
	dst = binary.AppendUvarint(dst, uint64(f.CrawlDelayMS))
	dst = binary.AppendUvarint(dst, uint64(f.Failures))
	dst = binary.AppendVarint(dst, f.NextFetch)
	dst = binary.AppendUvarint(dst, uint64(f.ResponseMS))
	dst = binary.AppendUvarint(dst, uint64(f.Sleeps))
	dst = binary.AppendUvarint(dst, uint64(f.Throttles))
	dst = appendText(dst, f.Addr.WithZone("").AsSlice())
	dst = appendText(dst, f.Addr.Zone())
	return appendText(dst, body)
}

// DecodeHostFacts decodes into f, using f.Robots' room again.
func DecodeHostFacts(b []byte, f *HostFacts) error {
	d := decoder{b: b}
	*f = HostFacts{Robots: f.Robots[:0]}
	version, packed := d.byte(), d.byte()
	f.RobotsFetched = d.varint()
	f.RobotsExpires = f.RobotsFetched + d.varint()
	f.RobotsStatus, f.RobotsFailures = d.uint16(), d.uint16()
	f.CrawlDelayMS, f.Failures = d.uint32(), d.uint16()
	f.NextFetch = d.varint()
	f.ResponseMS = d.uint32()
	if version >= 2 {
		f.Sleeps = d.uint16()
	}
	if version >= 3 {
		f.Throttles = d.uint16()
	}
	addr := d.bytes(d.uvarint())
	zone := d.text()
	body := d.bytes(d.uvarint())
	ok := d.done() && version >= 1 && version <= hostFactsVersion && packed <= 1
	if len(addr) > 0 || zone != "" {
		a, valid := netip.AddrFromSlice(addr)
		f.Addr = a.WithZone(zone)
		ok = ok && valid && (zone == "" || a.Is6())
	}
	if ok && packed == 1 {
		n, err := s2.DecodedLen(body)
		if ok = err == nil && n <= RobotsMaxBytes; ok {
			f.Robots, err = s2.Decode(f.Robots[:cap(f.Robots)], body)
			ok = err == nil
		}
	} else {
		f.Robots = append(f.Robots, body...)
	}
	if !ok || len(f.Robots) > RobotsMaxBytes {
		*f = HostFacts{Robots: f.Robots[:0]}
		return corrupt("host facts of %d bytes: % .32x", len(b), b)
	}
	return nil
}

// HostCounts reads a host's counts into c and reports whether there are any; c is zero if not.
func (v *reads) HostCounts(host urlkey.HostKey, c *HostCounts) (bool, error) {
	*c = HostCounts{Soonest: c.Soonest[:0]}
	value, ok, err := v.Get(HostCountsRange(), []byte(host), nil)
	if err != nil || !ok {
		return false, err
	}
	if err := DecodeHostCounts(value, c); err != nil {
		return false, fmt.Errorf("hostdb counts at %q: %w", host, err)
	}
	return true, nil
}

// HostFacts reads a host's facts into f and reports whether there are any; f is zero if not. The
// key may have more than a host key in it, as the caller wrote it.
func (v *reads) HostFacts(host urlkey.HostKey, f *HostFacts) (bool, error) {
	*f = HostFacts{Robots: f.Robots[:0]}
	value, ok, err := v.Get(HostFactsRange(), []byte(host), nil)
	if err != nil || !ok {
		return false, err
	}
	if err := DecodeHostFacts(value, f); err != nil {
		return false, fmt.Errorf("hostdb facts at %q: %w", host, err)
	}
	return true, nil
}
