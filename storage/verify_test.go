// SPDX-License-Identifier: Apache-2.0

package storage

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/seine-crawler/seine/storage/urlkey"
	"github.com/seine-crawler/seine/storage/warc"
)

// sound fills a store with one page, fetched in segment 1, and everything that goes with it.
func sound(t testing.TB, s *Store) {
	t.Helper()
	const key, other = "com,example,)/ http", "com,example,)/a http"
	sig := Signature{1}
	in := s.NewIngestion()
	set := func(r Range, k, v []byte) {
		if err := in.Table(r).Set(k, v); err != nil {
			t.Fatal(err)
		}
	}
	page, link := Record{Status: StatusFetched, Segment: 1, Signature: sig, SimHash: 7}, Record{Status: StatusUnfetched}
	set(Crawldb(), []byte(key), AppendRecord(nil, &page))
	set(Crawldb(), []byte(other), AppendRecord(nil, &link))
	set(Due(), AppendDueKey([]byte("com,example,)"), &page, []byte("/ http")), nil)
	set(Due(), AppendDueKey([]byte("com,example,)"), &link, []byte("/a http")), nil)
	set(HostCountsRange(), []byte("com,example,)"), AppendHostCounts(nil, &HostCounts{
		ByStatus: [StatusCount]uint32{StatusUnfetched: 1, StatusFetched: 1},
		NextDue:  1, New: 2,
	}))
	withheld := Withheld{Reason: WithheldByScope, Link: true}
	set(WithheldRange(), AppendLinkdbKey(nil, []byte("com,other,)/ http"), 1), AppendWithheld(nil, &withheld))
	set(HostFactsRange(), []byte("com,example,) http"), AppendHostFacts(nil, &HostFacts{RobotsStatus: 404}))
	set(Fetchlist(1), []byte(key), AppendFetchlistEntry(nil, FetchlistEntry{Score: 1}))
	loc := warc.Location{File: "f.warc.gz", Offset: 100, Length: 50}
	outcome := FetchOutcome{Status: FetchSuccess, Signature: sig, Location: loc}
	set(ParseLinks(1), []byte(key), AppendFetchOutcome(nil, &outcome))
	set(ParseTextRange(1), []byte(key), AppendParseText(nil, &ParseText{Title: "t"}))
	set(Signatures(), AppendSignatureKey(nil, sig, []byte(key)), nil)
	set(NearPages(), AppendNearPageKey(nil, 7, []byte(key)), nil)
	set(NearChanged(), SimHash(7).Append(nil), nil)
	set(Linkdb(), AppendLinkdbKey(nil, []byte(other), 1), AppendInlinks(nil, []Inlink{{key, "a"}}))
	var row LinkRow
	row.Reset(true)
	row.Add([]byte(key), []byte("a"), 1)
	row.Add([]byte(other), nil, 1)
	set(Linkdb(), AppendLinkdbKey(nil, []byte("com,example,)/merged http"), MergedSegment), row.Append(nil))
	set(CDXRange(), AppendCDXKey(nil, []byte(key), 5), AppendCDX(nil, &CDX{Segment: 1, Location: loc}))
	seg := Segment{Number: 1, Batch: true, WARC: []WARCFile{{Name: "f.warc.gz", Size: 150, Records: 3}}}
	for seg.State = SegmentOpen; seg.State < SegmentIndexed; seg.State++ {
		if err := s.PutSegment(seg); err != nil {
			t.Fatal(err)
		}
	}
	if err := in.Commit(); err != nil {
		t.Fatal(err)
	}
}

// nearTables puts a fingerprint into the first n tables.
func nearTables(b *Batch, s SimHash, n int) error {
	for i := range n {
		if err := b.Set(NearTable(i), s.Rotated(i).Append(nil), nil); err != nil {
			return err
		}
	}
	return nil
}

func TestVerify(t *testing.T) {
	const key = "com,example,)/ http"
	for _, c := range []struct {
		name  string
		spoil func(b *Batch) error
		want  string // in the only problem; "" = none
	}{
		{"sound", func(*Batch) error { return nil }, ""},
		{"record damaged", func(b *Batch) error {
			return b.Set(HostFactsRange(), []byte("com,b,)"), []byte("x"))
		}, "hostdb facts"},
		{"record without parse record", func(b *Batch) error {
			return b.Delete(ParseLinks(1), []byte(key))
		}, "text without links"},
		{"signature lost", func(b *Batch) error {
			return b.Delete(Signatures(), AppendSignatureKey(nil, Signature{1}, []byte(key)))
		}, "is not in signatures"},
		{"signature left", func(b *Batch) error {
			return b.Set(Signatures(), AppendSignatureKey(nil, Signature{0xff}, []byte(key)), nil)
		}, "no such signature"},
		{"fingerprint lost", func(b *Batch) error {
			return b.Delete(NearPages(), AppendNearPageKey(nil, 7, []byte(key)))
		}, "fingerprint 0000000000000007 is not in near"},
		{"fingerprint left", func(b *Batch) error {
			return b.Set(NearPages(), AppendNearPageKey(nil, 7, []byte("com,example,)/a http")), nil)
		}, "no such fingerprint of the URL"},
		{"fingerprint in no table", func(b *Batch) error {
			return b.Delete(NearChanged(), SimHash(7).Append(nil))
		}, "not there, but pages have it"},
		{"fingerprint of no page", func(b *Batch) error { return nearTables(b, 9, NearTables) }, "no page has it"},
		{"fingerprint in some tables", func(b *Batch) error {
			return nearTables(b, 7, NearTables-1)
		}, "not there, but table 0 has it"},
		{"fingerprint in a wrong table", func(b *Batch) error {
			return b.Set(NearTable(2), SimHash(7).Append(nil), nil)
		}, "table 0 does not have it"},
		{"group damaged", func(b *Batch) error {
			return b.Set(NearGroups(), SimHash(7).Append(nil), []byte{1})
		}, "fingerprint 01"},
		{"member of no group", func(b *Batch) error {
			return b.Set(NearMembers(), AppendNearMemberKey(nil, 7, 7), nil)
		}, "groups does not have it"},
		{"group without member", func(b *Batch) error {
			return errors.Join(nearTables(b, 7, NearTables),
				b.Set(NearGroups(), SimHash(7).Append(nil), SimHash(7).Append(nil)))
		}, "not there, but groups has it"},
		{"group with a wrong number", func(b *Batch) error {
			return errors.Join(nearTables(b, 7, NearTables),
				b.Set(NearGroups(), SimHash(7).Append(nil), SimHash(3).Append(nil)),
				b.Set(NearMembers(), AppendNearMemberKey(nil, 3, 7), nil))
		}, "should be its number"},
		{"counts wrong", func(b *Batch) error {
			return b.Delete(Crawldb(), []byte("com,example,)/a http"))
		}, "counts are"},
		{"due too late", func(b *Batch) error {
			late := HostCounts{
				ByStatus: [StatusCount]uint32{StatusUnfetched: 1, StatusFetched: 1}, New: 2, NextDue: 2,
			}
			return b.Set(HostCountsRange(), []byte("com,example,)"), AppendHostCounts(nil, &late))
		}, "next due is 2"},
		{"due too early", func(b *Batch) error {
			never := HostCounts{ByStatus: [StatusCount]uint32{StatusUnfetched: 1, StatusFetched: 1}, New: 2}
			return b.Set(HostCountsRange(), []byte("com,example,)"), AppendHostCounts(nil, &never))
		}, "next due is 0"},
		{"due earlier than all that was fetched", func(b *Batch) error {
			r := Record{Status: StatusFetched, FetchTime: 7, LastFetch: 5}
			key := AppendDueKey([]byte("com,new,)"), &r, []byte("/ http"))
			early := HostCounts{ByStatus: [StatusCount]uint32{StatusFetched: 1}, NextDue: 6}
			return errors.Join(
				b.Set(Crawldb(), []byte("com,new,)/ http"), AppendRecord(nil, &r)),
				b.Set(Due(), key, nil),
				b.Set(Due(), AppendDueDayKey(nil, &r, []byte("com,new,)/ http")), nil),
				b.Set(HostCountsRange(), []byte("com,new,)"), AppendHostCounts(nil, &early)))
		}, "next due is 6, crawldb has 7"},
		{"due key by day lost", func(b *Batch) error {
			r := Record{Status: StatusFetched, FetchTime: 7, LastFetch: 5}
			counts := HostCounts{ByStatus: [StatusCount]uint32{StatusFetched: 1}, NextDue: 7}
			return errors.Join(
				b.Set(Crawldb(), []byte("com,new,)/ http"), AppendRecord(nil, &r)),
				b.Set(Due(), AppendDueKey([]byte("com,new,)"), &r, []byte("/ http")), nil),
				b.Set(HostCountsRange(), []byte("com,new,)"), AppendHostCounts(nil, &counts)))
		}, "due lacks this key"},
		{"fetched, as hostdb says", func(b *Batch) error {
			fewer := HostCounts{
				ByStatus: [StatusCount]uint32{StatusUnfetched: 1, StatusFetched: 1}, New: 1, NextDue: 1,
			}
			return b.Set(HostCountsRange(), []byte("com,example,)"), AppendHostCounts(nil, &fewer))
		}, "1 records were never fetched, crawldb has 2"},
		{"due key lost", func(b *Batch) error {
			r := Record{Status: StatusUnfetched}
			return b.Delete(Due(), AppendDueKey([]byte("com,example,)"), &r, []byte("/a http")))
		}, "due lacks this key"},
		{"due key of another class", func(b *Batch) error {
			r := Record{Status: StatusUnfetched, Score: 1}
			return b.Set(Due(), AppendDueKey([]byte("com,example,)"), &r, []byte("/a http")), nil)
		}, "no record with this key"},
		{"due key damaged", func(b *Batch) error {
			return b.Set(Due(), []byte("com,example,)\x03"), nil)
		}, "no record with this key"},
		{"mark of nothing", func(b *Batch) error {
			return b.Set(Marks(), []byte("dedup"), nil)
		}, "a mark of 0 bytes"},
		{"withheld of no segment", func(b *Batch) error {
			w := Withheld{Reason: WithheldByScope, Link: true}
			return b.Set(WithheldRange(), AppendLinkdbKey(nil, []byte(key), 9), AppendWithheld(nil, &w))
		}, "no segment 9"},
		{"counts of nothing", func(b *Batch) error {
			one := HostCounts{ByStatus: [StatusCount]uint32{StatusUnfetched: 1}}
			return b.Set(HostCountsRange(), []byte("com,gone,)"), AppendHostCounts(nil, &one))
		}, "crawldb has nothing"},
		{"segment unknown", func(b *Batch) error {
			return b.Set(Linkdb(), AppendLinkdbKey(nil, []byte(key), 9), AppendInlinks(nil, nil))
		}, "no segment 9"},
		{"counts of links", func(b *Batch) error {
			row := AppendMergedHead(nil, LinkCounts{Pages: 2, Hosts: 1, Domains: 1})
			row = AppendMergedLink(row, nil, 0, []byte(key), nil, 1)
			return b.Set(Linkdb(), AppendLinkdbKey(nil, []byte(key), MergedSegment), row)
		}, "counts {Pages:2 Hosts:1 Domains:1}, but its links are {Pages:1 Hosts:1 Domains:1}"},
		{"merged under a segment", func(b *Batch) error {
			row := AppendMergedHead(nil, LinkCounts{})
			return b.Set(Linkdb(), AppendLinkdbKey(nil, []byte(key), 1), row)
		}, "merged is true under segment 1"},
		{"cdx beyond the file", func(b *Batch) error {
			c := CDX{Segment: 1, Location: warc.Location{File: "f.warc.gz", Offset: 101, Length: 50}}
			return b.Set(CDXRange(), AppendCDXKey(nil, []byte(key), 6), AppendCDX(nil, &c))
		}, "ends at 150"},
		{"cdx of no file", func(b *Batch) error {
			c := CDX{Segment: 1, Location: warc.Location{File: "g"}}
			return b.Set(CDXRange(), AppendCDXKey(nil, []byte(key), 6), AppendCDX(nil, &c))
		}, "no WARC file"},
		{"fetchlist of no batch", func(b *Batch) error {
			seg := Segment{State: SegmentLinked, WARC: []WARCFile{{Name: "f.warc.gz", Size: 150}}}
			return b.Set(Segments(), AppendSegmentKey(nil, 1), AppendSegment(nil, &seg))
		}, "not made by generate"},
		{"segment damaged", func(b *Batch) error {
			return b.Set(Segments(), AppendSegmentKey(nil, 2), []byte{1})
		}, "record of segment 2"},
		{"key that is no URL", func(b *Batch) error {
			return b.Set(Crawldb(), []byte("no key"), AppendRecord(nil, &Record{Status: StatusUnfetched}))
		}, "no key"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := openTest(t)
			sound(t, s)
			if err := s.Apply(c.spoil); err != nil {
				t.Fatal(err)
			}
			report, err := s.Verify(context.Background())
			if err != nil {
				t.Fatal(err)
			}
			if c.want == "" {
				if !report.OK() || len(report.Ranges) != len(rangeTags()) {
					t.Errorf("not sound:\n%s", report)
				}
				return
			}
			if report.OK() || !strings.Contains(report.String(), c.want) {
				t.Errorf("want a problem with %q, got\n%s", c.want, report)
			}
		})
	}
}

// A fetchlist of no segment is one problem, not also a segment that generate did not make.
func TestVerifyFetchlistOfNoSegment(t *testing.T) {
	s := openTest(t)
	sound(t, s)
	err := s.Apply(func(b *Batch) error {
		return b.Set(Fetchlist(9), []byte("com,example,)/ http"), AppendFetchlistEntry(nil, FetchlistEntry{Score: 1}))
	})
	if err != nil {
		t.Fatal(err)
	}
	report, err := s.Verify(context.Background())
	if err != nil || report.Found != 1 || !strings.Contains(report.String(), "no segment 9") {
		t.Errorf("want only that there is no segment 9, got %v\n%s", err, report)
	}
}

// TestVerifyBounded: many problems are all counted and few are kept.
func TestVerifyBounded(t *testing.T) {
	s := openTest(t)
	err := s.Apply(func(b *Batch) error {
		for i := range uint32(3 * verifyProblemsMax) {
			if err := b.Set(Segments(), AppendSegmentKey(nil, i), nil); err != nil {
				return err
			}
		}
		return nil
	})
	report, verr := s.Verify(context.Background())
	if err != nil || verr != nil || report.Found != 3*verifyProblemsMax || len(report.Problems) != verifyProblemsMax {
		t.Errorf("%d found, %d kept, %v %v", report.Found, len(report.Problems), err, verr)
	}
}

func TestCrawldbStats(t *testing.T) {
	s := openTest(t)
	sound(t, s)
	st, err := s.CrawldbStats(context.Background(), nil, 0)
	if err != nil || st.URLs != 2 || st.ByStatus[StatusFetched] != 1 || st.Due != 2 {
		t.Errorf("%+v, %v", st, err)
	}
	if st, err = s.CrawldbStats(context.Background(), []byte("com,other"), 0); err != nil || st.URLs != 0 {
		t.Errorf("%+v, %v", st, err)
	}
	var r Record
	if ok, err := s.Record("com,example,)/ http", &r); !ok || err != nil || r.Segment != 1 {
		t.Errorf("%+v %v %v", r, ok, err)
	}
	if ok, err := s.Record("com,example,)/none http", &r); ok || err != nil {
		t.Errorf("%v %v", ok, err)
	}
	var c HostCounts
	if ok, err := s.HostCounts("com,example,)", &c); !ok || err != nil || c.ByStatus[StatusFetched] != 1 {
		t.Errorf("%+v %v %v", c, ok, err)
	}
	var f HostFacts
	if ok, err := s.HostFacts("com,example,) http", &f); !ok || err != nil || f.RobotsStatus != 404 {
		t.Errorf("%+v %v %v", f, ok, err)
	}
	n := 0
	sc := s.ScanHost(urlkey.HostKey("com,example,)"))
	for sc.Next() {
		n++
	}
	if err := sc.Close(); err != nil || n != 2 {
		t.Errorf("%d records of the host, %v", n, err)
	}
}

// madeFS counts the files that are made in a directory.
type madeFS struct {
	FS
	dir  string
	made atomic.Int64
}

// Create implements FS.
func (fs *madeFS) Create(name string, category vfs.DiskWriteCategory) (vfs.File, error) {
	if fs.PathDir(name) == fs.dir {
		fs.made.Add(1)
	}
	return fs.FS.Create(name, category)
}

// Unwrap implements FS.
func (fs *madeFS) Unwrap() FS { return fs.FS }

// TestVerifyMemory: what Verify sorts takes no more memory than the store was given; the rest is on disk meanwhile.
func TestVerifyMemory(t *testing.T) {
	fs := &madeFS{FS: NewMemFS(), dir: "store/" + sortDir}
	s, err := Open("store", Options{FS: fs, CacheBytes: 1 << 20})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	const host, urls = "com,example,)", 10_000
	in := s.NewIngestion()
	defer in.Abort()
	r := Record{Status: StatusUnfetched}
	for i := range urls {
		rest := fmt.Sprintf("/%060d http", i)
		err := errors.Join(in.Table(Crawldb()).Set([]byte(host+rest), AppendRecord(nil, &r)),
			in.Table(Due()).Set(AppendDueKey([]byte(host), &r, []byte(rest)), nil))
		if err != nil {
			t.Fatal(err)
		}
	}
	counts := HostCounts{ByStatus: [StatusCount]uint32{StatusUnfetched: urls}, NextDue: 1, New: urls}
	err = in.Table(HostCountsRange()).Set([]byte(host), AppendHostCounts(nil, &counts))
	if err := errors.Join(err, in.Commit()); err != nil {
		t.Fatal(err)
	}
	report, err := s.Verify(context.Background())
	if err != nil || !report.OK() {
		t.Errorf("%v, %v", report, err)
	}
	if fs.made.Load() == 0 {
		t.Errorf("%d keys were sorted in memory", urls)
	}
	if left, err := fs.List(fs.dir); err != nil || len(left) > 0 {
		t.Errorf("left: %q, %v", left, err)
	}
}
