// SPDX-License-Identifier: Apache-2.0

package storage

import (
	"encoding/binary"
	"fmt"
	"net/netip"

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
}

// DueAt is the time at which a record with that fetch time is due: never 0, which means "none".
func DueAt(fetchTime int64) int64 { return max(fetchTime, 1) }

// Layout of HostCounts:
//
//	1 byte   version 4; 3 has due times in place of the last number, 2 neither, 1 no bytes and milliseconds too
//	varint   next due
//	uvarint  number of counts (from status 1), then each a uvarint; trailing zeros are left out
//	uvarint  bytes, then milliseconds
//	uvarint  records that were never fetched
//
// Example: 3 unfetched due at 9, 2 of which were never fetched, 1 fetched, 5 bytes in 7 ms
//
//	04 12 02 03 01 05 07 02
const hostCountsVersion = 4

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
	return binary.AppendUvarint(dst, uint64(c.New))
}

// DecodeHostCounts decodes into c. What versions 1 to 3 wrote has no New; the due times of version 3 are skipped.
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
	case hostCountsVersion:
		c.New = d.uint32()
	}
	if !d.done() || version < 1 || version > hostCountsVersion {
		*c = HostCounts{}
		return corrupt("host counts of %d bytes: % .32x", len(b), b)
	}
	return nil
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
