// SPDX-License-Identifier: Apache-2.0

package storage

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/seine-crawler/seine/storage/urlkey"
)

// Problem is one thing that Verify found wrong.
type Problem struct {
	Where string // range
	Key   string // relative key, quoted; "" when it concerns the range
	What  string
}

// RangeCount is how many keys of a kind were read.
type RangeCount struct {
	Name string `json:"name"`
	Keys uint64 `json:"keys"`
}

// VerifyReport is what Verify found.
type VerifyReport struct {
	Ranges   []RangeCount
	Problems []Problem         // the first verifyProblemsMax of each range
	Found    uint64            // all
	ByRange  map[string]uint64 // all, by Problem.Where
}

// add counts a problem, and lists it among the first of its range.
func (r *VerifyReport) add(p Problem) {
	if r.ByRange == nil {
		r.ByRange = map[string]uint64{}
	}
	r.Found++
	if r.ByRange[p.Where]++; r.ByRange[p.Where] <= verifyProblemsMax {
		r.Problems = append(r.Problems, p)
	}
}

// OK reports whether nothing is wrong.
func (r *VerifyReport) OK() bool { return r.Found == 0 }

// String is the report as `seine verify` prints it.
func (r VerifyReport) String() string {
	var b strings.Builder
	for _, c := range r.Ranges {
		fmt.Fprintf(&b, "%-18s %12d keys\n", c.Name, c.Keys)
	}
	for _, p := range r.Problems {
		fmt.Fprintf(&b, "%s %s: %s\n", p.Where, p.Key, p.What)
	}
	if more := r.Found - uint64(len(r.Problems)); more > 0 {
		fmt.Fprintf(&b, "and %d more\n", more)
	}
	fmt.Fprintf(&b, "%d problems\n", r.Found)
	return b.String()
}

// Verify reads everything in the store, which checks every block's checksum and decodes every value,
// and follows every reference between ranges:
//
//	crawldb    segment ──▶ parse links of that segment has the URL
//	crawldb    signature ◀─▶ signatures has (signature, URL), and nothing else
//	crawldb    fingerprints ◀─▶ near ranges, see verify_near.go
//	crawldb    sums by host, due times ◀─▶ hostdb counts
//	crawldb    records ◀─▶ due has the key of each, and nothing else
//	cdx        segment ──▶ exists, names the WARC file, and the record is within it
//	parse      segment ──▶ exists and is at least sealed; text ──▶ links has the URL
//	linkdb     segment ──▶ exists and is at least linked
//	withheld   segment ──▶ exists and is at least updated
//	lowered    crawldb ──▶ has the URL
//	fetchlist  segment ──▶ exists and was made by generate
//
// Blocks that no walk needs, such as filters, it reads table by table.
//
// It works on one snapshot, while the crawl goes on, in half as much memory as Options.CacheBytes. What WARC files hold
// is for the caller to compare. An error is returned only if it could not be carried through; damage is a
// problem in the report.
func (s *Store) Verify(ctx context.Context) (VerifyReport, error) {
	snap := s.Snapshot()
	defer snap.Close()
	v := verifier{
		ctx: ctx, s: s, snap: snap, segments: map[uint32]Segment{}, tolerated: map[string]bool{},
		wantParse: s.sorter(), wantSignature: s.sorter(), wantDue: s.sorter(), wantNear: s.sorter(),
	}
	defer v.wantDue.Close()
	defer v.wantNear.Close()
	defer v.wantParse.Close()
	defer v.wantSignature.Close()
	for _, step := range []func() error{v.meta, v.segmentStates, v.crawldb, v.hostCounts, v.due, v.hostFacts,
		v.fetchlists, v.parseRecords, v.parseReferences, v.linkdb, v.withheld, v.lowered, v.signatures, v.near, v.marks,
		v.cdx, v.sent, v.index, v.tables,
	} {
		if err := step(); err != nil {
			return v.report, fmt.Errorf("verifying the store in %s: %w", s.dir, err)
		}
	}
	return v.report, nil
}

type verifier struct {
	ctx      context.Context
	s        *Store
	snap     *Snapshot
	report   VerifyReport
	segments map[uint32]Segment

	tolerated map[string]bool // damage that was noted

	wantParse     *Sorter // keys that crawldb expects in the parse ranges
	wantSignature *Sorter // keys that crawldb expects in signatures
	wantDue       *Sorter // in the due range
	wantNear      *Sorter // and in the near ranges

	links LinkRow // scratch

	// The store is read as it is, in a format that has no due range, or one without keys by day.
	lacksDue, lacksDays bool
}

// problem notes one.
func (v *verifier) problem(r Range, key []byte, format string, args ...any) {
	quoted := ""
	if key != nil {
		quoted = fmt.Sprintf("%.200q", key)
	}
	v.report.add(Problem{r.String(), quoted, fmt.Sprintf(format, args...)})
}

// each calls fn for every key of a range and counts them. Damage ends the range with a problem, for
// the iterator can't go on; other errors end the verification.
func (v *verifier) each(r Range, fn func(key, value []byte) error) error {
	sc := v.snap.Scan(r, nil, nil)
	defer sc.Close()
	var n uint64
	for sc.Next() {
		if n++; n%ctxCheckKeys == 0 && v.ctx.Err() != nil {
			return v.ctx.Err()
		}
		if err := fn(sc.Key(), sc.Value()); err != nil {
			return err
		}
	}
	name, list := rangeName(r.prefix[0]), v.report.Ranges
	if last := len(list) - 1; last >= 0 && list[last].Name == name { // of the near ranges
		list[last].Keys += n
	} else {
		v.report.Ranges = append(list, RangeCount{name, n})
	}
	return v.tolerate(r, sc.Err())
}

// tolerate turns damage into a problem.
func (v *verifier) tolerate(r Range, err error) error {
	if errors.Is(err, ErrCorrupt) {
		if text := err.Error(); !v.tolerated[text] { // one check after another reads the same block
			v.tolerated[text] = true
			v.problem(r, nil, "%s", text)
		}
		return nil
	}
	return err
}

// meta also finds out whether the store has a due range.
func (v *verifier) meta() error {
	return v.each(Meta(), func(key, value []byte) error {
		if version, err := strconv.Atoi(string(value)); string(key) == formatKey && err == nil {
			v.lacksDue, v.lacksDays = version < dueFormat, version < dueDayFormat
		}
		if err := CheckMeta(key, value); err != nil {
			v.problem(Meta(), key, "%v", err)
		}
		return nil
	})
}

func (v *verifier) segmentStates() error {
	return v.each(Segments(), func(key, value []byte) error {
		if len(key) != 4 {
			v.problem(Segments(), key, "not a segment number")
			return nil
		}
		seg, err := DecodeSegment(binary.BigEndian.Uint32(key), value)
		if err != nil {
			v.problem(Segments(), key, "%v", err)
			return nil
		}
		v.segments[seg.Number] = seg
		return nil
	})
}

// crawldb checks records by themselves, compares their sums by host with hostdb, and collects what
// they refer to.
func (v *verifier) crawldb() error {
	var r Record
	var host, want []byte
	var sum HostCounts
	finish := func() error { return v.compareCounts(host, &sum) }
	err := v.each(Crawldb(), func(key, value []byte) error {
		if _, err := urlkey.Key(key).URL(); err != nil {
			v.problem(Crawldb(), key, "%v", err)
			return nil
		}
		if err := DecodeRecord(value, &r); err != nil {
			v.problem(Crawldb(), key, "%v", err)
			return nil
		}
		if h := urlkey.HostKeyOf(key); !bytes.Equal(h, host) {
			if err := finish(); err != nil {
				return err
			}
			host, sum = append(host[:0], h...), HostCounts{}
		}
		sum.ByStatus[r.Status]++
		if at := DueAt(r.FetchTime); sum.NextDue == 0 || at < sum.NextDue {
			sum.NextDue = at
		}
		if r.IsNew() {
			sum.New++
		}
		if !v.lacksDue {
			want = AppendDueKey(append(want[:0], host...), &r, key[len(host):])
			if err := v.wantDue.Add(want, nil); err != nil {
				return err
			}
		}
		if !v.lacksDays && !r.IsNew() {
			want = AppendDueDayKey(want[:0], &r, key)
			if err := v.wantDue.Add(want, nil); err != nil {
				return err
			}
		}
		if !r.Signature.IsZero() {
			want = AppendSignatureKey(want[:0], r.Signature, key)
			if err := v.wantSignature.Add(want, nil); err != nil {
				return err
			}
		}
		if near := r.Near(); near != 0 {
			want = AppendNearPageKey(want[:0], near, key)
			if err := v.wantNear.Add(want, nil); err != nil {
				return err
			}
		}
		if r.Segment == 0 {
			return nil
		}
		want = append(append(AppendSegmentKey(want[:0], r.Segment), kindLinks), key...)
		return v.wantParse.Add(want, nil)
	})
	return errors.Join(err, finish())
}

// compareCounts compares what crawldb has of a host with what hostdb says.
func (v *verifier) compareCounts(host []byte, sum *HostCounts) error {
	if len(host) == 0 {
		return nil
	}
	var stored HostCounts
	_, err := v.snap.HostCounts(urlkey.HostKey(host), &stored)
	if err != nil {
		return v.tolerate(HostCountsRange(), err)
	}
	exact := sum.New == 0 && !v.lacksDue
	switch {
	case stored.ByStatus != sum.ByStatus:
		v.problem(HostCountsRange(), host, "counts are %v, crawldb has %v", stored.ByStatus[1:], sum.ByStatus[1:])
	case stored.New != sum.New && !v.lacksDue:
		v.problem(HostCountsRange(), host, "%d records were never fetched, crawldb has %d", stored.New, sum.New)
	case exact && stored.NextDue != sum.NextDue, stored.NextDue == 0 || stored.NextDue > sum.NextDue:
		v.problem(HostCountsRange(), host, "next due is %d, crawldb has %d", stored.NextDue, sum.NextDue)
	}
	return nil
}

// hostCounts looks for hosts of which crawldb has nothing; the others were compared there.
func (v *verifier) hostCounts() error {
	sc := v.snap.Scan(Crawldb(), nil, nil)
	defer sc.Close()
	var c HostCounts
	return v.each(HostCountsRange(), func(key, value []byte) error {
		if err := DecodeHostCounts(value, &c); err != nil {
			v.problem(HostCountsRange(), key, "%v", err)
			return nil
		}
		some := c.ByStatus != [StatusCount]uint32{} || c.NextDue != 0
		if some && !(sc.SeekGE(key) && bytes.HasPrefix(sc.Key(), key)) {
			v.problem(HostCountsRange(), key, "counts are %v, next due is %d, crawldb has nothing",
				c.ByStatus[1:], c.NextDue)
		}
		return v.tolerate(Crawldb(), sc.Err())
	})
}

func (v *verifier) hostFacts() error {
	var f HostFacts
	return v.each(HostFactsRange(), func(key, value []byte) error {
		if err := DecodeHostFacts(value, &f); err != nil {
			v.problem(HostFactsRange(), key, "%v", err)
		}
		return nil
	})
}

// segmentOf reads the number that a relative key begins with, and notes a problem unless the
// segment exists in at least the state.
func (v *verifier) segmentOf(r Range, key []byte, number uint32, atLeast SegmentState) Segment {
	seg, ok := v.segments[number]
	if !ok {
		v.problem(r, key, "there is no segment %d", number)
	} else if seg.State < atLeast {
		v.problem(r, key, "segment %d is only %s", number, seg.State)
	}
	return seg
}

func (v *verifier) fetchlists() error {
	all := plainRange(tagFetchlist)
	return v.each(all, func(key, value []byte) error {
		if len(key) < 5 {
			v.problem(all, key, "too short")
			return nil
		}
		if seg := v.segmentOf(all, key, binary.BigEndian.Uint32(key), SegmentOpen); seg.Number != 0 && !seg.Batch {
			v.problem(all, key, "segment %d was not made by generate", seg.Number)
		}
		if _, err := DecodeFetchlistEntry(value); err != nil {
			v.problem(all, key, "%v", err)
		}
		return nil
	})
}

// parseRecords decodes both halves; all links of a segment come before its texts.
func (v *verifier) parseRecords() error {
	all := plainRange(tagParse)
	links := v.snap.Scan(all, nil, nil) // follows, to look for the links of a text
	defer links.Close()
	var o FetchOutcome
	var t ParseText
	var want []byte
	return v.each(all, func(key, value []byte) error {
		if len(key) < 6 {
			v.problem(all, key, "too short")
			return nil
		}
		v.segmentOf(all, key, binary.BigEndian.Uint32(key), SegmentSealed)
		var err error
		switch key[4] {
		case kindLinks:
			err = DecodeFetchOutcome(value, &o)
		case kindText:
			want = append(want[:0], key...)
			want[4] = kindLinks
			if !links.SeekGE(want) || !bytes.Equal(links.Key(), want) {
				v.problem(all, key, "text without links")
			}
			err = DecodeParseText(value, &t)
		default:
			v.problem(all, key, "unknown kind")
		}
		if err != nil {
			v.problem(all, key, "%v", err)
		}
		return v.tolerate(all, links.Err())
	})
}

// parseReferences looks for the parse records that crawldb refers to.
func (v *verifier) parseReferences() error {
	defer v.wantParse.Close()
	run, err := v.wantParse.Sort()
	if err != nil {
		return err
	}
	defer run.Close()
	all := plainRange(tagParse)
	err = MergeJoin(v.ctx, v.snap, all, run, func(key []byte, _ [][]byte, old []byte) error {
		if old == nil {
			v.problem(Crawldb(), key[5:], "segment %d has no parse record of it", binary.BigEndian.Uint32(key))
		}
		return nil
	})
	return v.tolerate(all, err)
}

// signatures compares the range with what crawldb expects, in both directions.
func (v *verifier) signatures() error {
	return v.match(Signatures(), v.wantSignature, func(key []byte) {
		n := len(Signature{})
		v.problem(Crawldb(), key[n:], "signature %x is not in signatures", key[:n])
	}, "crawldb has no such signature of the URL")
}

// due does the same for what is due.
func (v *verifier) due() error {
	if v.lacksDue {
		return v.each(Due(), func(_, _ []byte) error { return nil })
	}
	return v.match(Due(), v.wantDue, func(key []byte) {
		v.problem(Crawldb(), key, "due lacks this key of a record")
	}, "crawldb has no record with this key")
}

// match compares the keys of a range with those that are wanted. missing is called for each that the range lacks; extra
// is the problem of a key that nobody wants. It closes the sorter, whose memory others have next.
func (v *verifier) match(r Range, wanted *Sorter, missing func(key []byte), extra string) error {
	defer wanted.Close()
	run, err := wanted.Sort()
	if err != nil {
		return err
	}
	defer run.Close()
	more := run.Next()
	err = v.each(r, func(key, _ []byte) error {
		for more && bytes.Compare(run.Key(), key) < 0 {
			missing(run.Key())
			more = run.Next()
		}
		if more && bytes.Equal(run.Key(), key) {
			more = run.Next()
			return nil
		}
		v.problem(r, key, "%s", extra)
		return nil
	})
	for ; err == nil && more; more = run.Next() {
		missing(run.Key())
	}
	return errors.Join(err, run.Err())
}

func (v *verifier) linkdb() error {
	return v.each(Linkdb(), func(key, value []byte) error {
		target, segment, err := SplitLinkdbKey(key)
		if err == nil {
			if segment != MergedSegment {
				v.segmentOf(Linkdb(), key, segment, SegmentLinked)
			}
			if _, uerr := urlkey.Key(target).URL(); uerr != nil {
				v.problem(Linkdb(), key, "%v", uerr)
			}
			err = v.linkRow(key, value, segment)
		}
		if err != nil {
			v.problem(Linkdb(), key, "%v", err)
		}
		return nil
	})
}

// linkRow checks the links of a row, and the counts of a merged one.
func (v *verifier) linkRow(key, value []byte, segment uint32) error {
	v.links.Reset(false)
	err := VisitLinks(value, segment, func(from, anchor []byte, of uint32) bool {
		v.links.Add(from, anchor, of)
		return true
	})
	counts, merged := MergedCounts(value)
	switch {
	case err != nil:
	case merged != (segment == MergedSegment):
		v.problem(Linkdb(), key, "merged is %t under segment %d", merged, segment)
	case merged && !v.links.describes(counts):
		v.problem(Linkdb(), key, "counts %+v, but its links are %+v", counts, v.links.Counts())
	}
	return err
}

func (v *verifier) withheld() error {
	var w Withheld
	return v.each(WithheldRange(), func(key, value []byte) error {
		target, segment, err := SplitLinkdbKey(key)
		if err == nil {
			if segment != MergedSegment {
				v.segmentOf(WithheldRange(), key, segment, SegmentUpdated)
			}
			if _, uerr := urlkey.Key(target).URL(); uerr != nil {
				v.problem(WithheldRange(), key, "%v", uerr)
			}
			err = DecodeWithheld(value, &w)
		}
		if err != nil {
			v.problem(WithheldRange(), key, "%v", err)
		}
		return nil
	})
}

func (v *verifier) lowered() error {
	known := NewFinder(v.snap, Crawldb())
	defer known.Close()
	return v.each(LoweredRange(), func(key, value []byte) error {
		record, err := known.Find(key)
		switch {
		case err != nil:
			return v.tolerate(Crawldb(), err)
		case record == nil:
			v.problem(LoweredRange(), key, "crawldb does not have the URL")
		case len(value) != 1:
			v.problem(LoweredRange(), key, "%d bytes of hops", len(value))
		}
		return nil
	})
}

func (v *verifier) marks() error {
	return v.each(Marks(), func(key, value []byte) error {
		note := len(key) > 1 && key[0] < firstName[0]
		if len(key) == 0 || note != (len(value) == 0) {
			v.problem(Marks(), key, "a mark of %d bytes", len(value))
		}
		return nil
	})
}

func (v *verifier) cdx() error {
	var c CDX
	return v.each(CDXRange(), func(key, value []byte) error {
		if _, _, err := SplitCDXKey(key); err != nil {
			v.problem(CDXRange(), key, "%v", err)
			return nil
		}
		if err := DecodeCDX(value, &c); err != nil {
			v.problem(CDXRange(), key, "%v", err)
			return nil
		}
		seg := v.segmentOf(CDXRange(), key, c.Segment, SegmentSealed)
		i := slices.IndexFunc(seg.WARC, func(f WARCFile) bool { return f.Name == c.Location.File })
		switch holds := func(f WARCFile) bool { return f.Holds(c.Location) }; {
		case i < 0:
			v.problem(CDXRange(), key, "segment %d has no WARC file %q", c.Segment, c.Location.File)
		case !slices.ContainsFunc(seg.WARC, holds):
			v.problem(CDXRange(), key, "the part of segment %d in %s begins at %d and ends at %d, the record at %d",
				c.Segment, c.Location.File, seg.WARC[i].Start, seg.WARC[i].End(), c.Location.Offset+c.Location.Length)
		}
		return nil
	})
}

// index reads the index's ranges for their checksums; what is in them only package index knows.
func (v *verifier) index() error {
	none := func(_, _ []byte) error { return nil }
	return errors.Join(v.each(plainRange(tagIndex), none), v.each(plainRange(tagIndexSegment), none))
}
