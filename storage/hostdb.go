// SPDX-License-Identifier: Apache-2.0

package storage

import (
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
	// New is the number of records that were never fetched.
	New uint32
	// NextDue is when the host's next record is due, in ms; 0: the host has no record. A record is due at its
	// FetchTime, but never before 1 ms. NextDue is the least due time of all records, and while New is not 0, that or
	// some time before it.
	NextDue int64
	// Bytes and TookMS are what fetching the host's URLs has cost over the host's whole life.
	Bytes, TookMS uint64
	// Score is the sum of the scores of the host's records.
	Score float64
	// Latency has the time of each fetch that was answered, Errors counts those that brought no page, and Protocols the
	// answers, likewise over the host's whole life.
	Latency   Latency
	Errors    [HostErrorCount]uint32
	Protocols [HostProtocolCount]uint32
}

// Spent adds what a fetch in a scheme has cost and found.
func (c *HostCounts) Spent(scheme string, o *FetchOutcome) {
	c.Bytes += uint64(o.Bytes)
	c.TookMS += uint64(o.TookMS)
	if kind, ok := ErrorOf(o); ok {
		c.Errors[kind]++
	}
	if o.HTTPStatus != 0 {
		c.Latency.Add(uint64(o.TookMS))
		c.Protocols[ProtocolOf(scheme, o)]++
	}
}

// MergeSpent takes over what another store has spent on the host and found, if it has spent more, and reports whether
// it did.
func (c *HostCounts) MergeSpent(there *HostCounts) bool {
	if there.TookMS < c.TookMS || there.TookMS == c.TookMS && there.Bytes <= c.Bytes {
		return false
	}
	c.Bytes, c.TookMS, c.Latency, c.Errors, c.Protocols = there.Bytes, there.TookMS, there.Latency, there.Errors,
		there.Protocols
	return true
}

// Rescore notes that the score of a record became another. Scores that are no numbers, which only a plug-in can make,
// do not count: nothing would take them out of the sum again.
func (c *HostCounts) Rescore(was, is float64) {
	if d := is - was; !math.IsNaN(d) && !math.IsInf(d, 0) {
		c.Score += d
	}
}

// DueAt is the time at which a record with that fetch time is due: never 0, which means "none".
func DueAt(fetchTime int64) int64 { return max(fetchTime, 1) }

// Layout of HostCounts:
//
//	1 byte   version 5; 4 ends before the parts, 3 has due times in place of New, 2 neither, 1 no bytes and milliseconds
//	         too
//	varint   next due
//	uvarint  number of counts (from status 1), then each a uvarint; trailing zeros are left out
//	uvarint  bytes, then milliseconds
//	uvarint  records that were never fetched
//	uvarint  parts: bits 0 and 1 are the score mode, bit 2 says that there is a latency, and from bit 3 on there is one
//	         for each kind of errors, then for each protocol, whose count is not 0
//	…        score (codec.go)
//	…        latency: 1 byte first bucket, 1 byte number of buckets, each a uvarint
//	uvarint  each count of errors and protocols
//
// Example: 3 unfetched due at 9, 2 of which were never fetched, 1 fetched, 5 bytes in 7 ms; score 0.5; 7 ms is bucket
// 5; one answer by https 1.1
//
//	05 12 02 03 01 05 07 02   85 80 04   80 80 04   05 01 01   01
const (
	hostCountsVersion = 5
	countsLatency     = 1 << 2
	countsShift       = 3 // the first count
	countsEnd         = 1 << (countsShift + HostErrorCount + HostProtocolCount)
)

// tally is one of the counts that most hosts lack, in stored order.
func (c *HostCounts) tally(i int) *uint32 {
	if i < HostErrorCount {
		return &c.Errors[i]
	}
	return &c.Protocols[i-HostErrorCount]
}

// AppendHostCounts appends the encoding of c.
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
	dst = binary.AppendUvarint(dst, uint64(c.New))
	mode := scoreMode(c.Score)
	parts := mode | flagIf(c.Latency != Latency{}, countsLatency)
	for i := range HostErrorCount + HostProtocolCount {
		parts |= flagIf(*c.tally(i) != 0, 1<<(countsShift+i))
	}
	dst = appendScore(binary.AppendUvarint(dst, uint64(parts)), mode, c.Score)
	if parts&countsLatency != 0 {
		dst = c.Latency.append(dst)
	}
	for i := range HostErrorCount + HostProtocolCount {
		if n := *c.tally(i); n != 0 {
			dst = binary.AppendUvarint(dst, uint64(n))
		}
	}
	return dst
}

// DecodeHostCounts decodes into c. What versions 1 to 3 wrote has no New; the due times of version 3 are skipped. What
// versions 1 to 4 wrote has neither score nor what fetches found.
func DecodeHostCounts(b []byte, c *HostCounts) error {
	d := decoder{b: b}
	*c = HostCounts{}
	version := d.byte()
	c.NextDue = d.varint()
	n := d.uint(uint64(StatusCount - 1))
	for i := range n {
		c.ByStatus[1+i] = d.uint32()
	}
	if version >= 2 {
		c.Bytes, c.TookMS = d.uvarint(), d.uvarint()
	}
	switch version {
	case 3:
		skipDue(&d)
	case 4:
		c.New = d.uint32()
	case hostCountsVersion:
		c.New = d.uint32()
		c.decodeParts(&d)
	}
	if !d.done() || version < 1 || version > hostCountsVersion {
		*c = HostCounts{}
		return corrupt("host counts of %d bytes: % .32x", len(b), b)
	}
	return nil
}

// decodeParts reads what version 5 added.
func (c *HostCounts) decodeParts(d *decoder) {
	parts := uint32(d.uint(countsEnd - 1))
	c.Score = d.score(parts & 3)
	if parts&countsLatency != 0 {
		c.Latency.decode(d)
	}
	for i := range HostErrorCount + HostProtocolCount {
		if parts&(1<<(countsShift+i)) == 0 {
			continue
		}
		n := c.tally(i)
		if *n = d.uint32(); *n == 0 {
			d.fail()
		}
	}
}

// skipDue reads the due times of version 3: their number × 2, + 1 if they are complete, then each a time and a number.
func skipDue(d *decoder) {
	for range d.uint(dueTimesMax<<1|1) >> 1 {
		d.uvarint()
		d.uvarint()
	}
}

// dueTimesMax is the number of due times that version 3 has at most.
const dueTimesMax = 8

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
	Earlier        [HostAddrsMax - 1]netip.Addr // addresses before Addr, newest first; the rest is zero
	ResponseMS     uint32                       // of a visit of late, the longest if that was long; 0: not known
}

// Used notes that the host was reached at an address, and reports whether that is news. An address that was used before
// moves to the front; the one that was not used for longest is forgotten.
func (f *HostFacts) Used(a netip.Addr) bool {
	if !a.IsValid() || a == f.Addr {
		return false
	}
	carried := f.Addr
	f.Addr = a
	for i := range f.Earlier {
		if !carried.IsValid() {
			break
		}
		carried, f.Earlier[i] = f.Earlier[i], carried
		if carried == a {
			break
		}
	}
	return true
}

// Addrs are the addresses at which the host was reached, newest first.
func (f *HostFacts) Addrs() (list []netip.Addr) {
	for _, a := range append([]netip.Addr{f.Addr}, f.Earlier[:]...) {
		if a.IsValid() {
			list = append(list, a)
		}
	}
	return list
}

// Layout of HostFacts:
//
//	1 byte   version 4; 3 lacks the earlier addresses, 2 the throttles, 1 the sleeps too
//	1 byte   1 = robots body is s2-compressed
//	varint   robots fetched, then varint robots expires − fetched
//	uvarint  robots status, robots failures, crawl delay, failures, each
//	varint   next fetch
//	uvarint  response time
//	uvarint  sleeps, then throttles
//	text     address: 0, 4 or 16 bytes, then its zone
//	uvarint  number of earlier addresses, then each like the first
//	text     robots body
//
// Bodies are compressed here and not only in the table's block, because they pass through log and
// memtable first.
const (
	hostFactsVersion = 4
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
	dst = appendAddr(dst, f.Addr)
	earlier := f.Earlier[:]
	if at := slices.Index(earlier, netip.Addr{}); at >= 0 {
		earlier = earlier[:at]
	}
	dst = binary.AppendUvarint(dst, uint64(len(earlier)))
	for _, a := range earlier {
		dst = appendAddr(dst, a)
	}
	return appendText(dst, body)
}

func appendAddr(dst []byte, a netip.Addr) []byte {
	return appendText(appendText(dst, a.WithZone("").AsSlice()), a.Zone())
}

// addr reads an address, which may be zero.
func (d *decoder) addr() (a netip.Addr) {
	b, zone := d.bytes(d.uvarint()), d.text()
	if len(b) == 0 && zone == "" {
		return a
	}
	a, valid := netip.AddrFromSlice(b)
	if !valid || zone != "" && !a.Is6() {
		d.fail()
		return netip.Addr{}
	}
	return a.WithZone(zone)
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
	f.Addr = d.addr()
	if version >= 4 {
		for i := range d.uint(HostAddrsMax - 1) {
			if f.Earlier[i] = d.addr(); !f.Earlier[i].IsValid() {
				d.fail()
			}
		}
	}
	body := d.bytes(d.uvarint())
	ok := d.done() && version >= 1 && version <= hostFactsVersion && packed <= 1
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
	*c = HostCounts{}
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
