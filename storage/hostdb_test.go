// SPDX-License-Identifier: Apache-2.0

package storage

import (
	"context"
	"fmt"
	"testing"
)

// TestCountsOf3: the due times of version 3 are skipped, and all else is read.
func TestCountsOf3(t *testing.T) {
	want := exampleCounts
	want.New = 0
	var c HostCounts
	if err := DecodeHostCounts(countsOf3, &c); err != nil || c != want {
		t.Errorf("%+v %v", c, err)
	}
	for n := range countsOf3 {
		if DecodeHostCounts(countsOf3[:n], &c) == nil {
			t.Errorf("%d bytes were read", n)
		}
	}
}

// TestBuildDue: the upgrade to format 11 makes the due range and hosts' due times exact, whatever there was before.
func TestBuildDue(t *testing.T) {
	s := openTest(t)
	in := s.NewIngestion()
	const hosts = 500
	for h := range hosts {
		host := fmt.Sprintf("com,h%05d,)", h)
		c := HostCounts{NextDue: 1, Bytes: 7, New: 99}
		for i := range h % 12 {
			r := Record{Status: StatusUnfetched, FetchTime: int64(h%5*1000 + i*i%7 - 1), Score: float64(i), Depth: 300}
			if i%3 == 0 {
				r.LastFetch = 5
			}
			c.ByStatus[r.Status]++
			key := fmt.Appendf(nil, "%s/%02d http", host, i)
			if err := in.Table(Crawldb()).Set(key, AppendRecord(nil, &r)); err != nil {
				t.Fatal(err)
			}
		}
		if err := in.Table(HostCountsRange()).Set([]byte(host), AppendHostCounts(nil, &c)); err != nil {
			t.Fatal(err)
		}
	}
	if err := in.Table(Due()).Set([]byte("com,h00011,)\x01\x01\x01/00 http"), nil); err != nil {
		t.Fatal(err)
	}
	if err := in.Commit(); err != nil {
		t.Fatal(err)
	}
	for range 2 { // a crash in the middle runs it again
		if err := s.buildDue(); err != nil {
			t.Fatal(err)
		}
		if report, err := s.Verify(context.Background()); err != nil || !report.OK() {
			t.Fatalf("%v\n%s", err, report)
		}
	}
	var c HostCounts
	_, err := s.HostCounts("com,h00011,)", &c)
	if err != nil || c.NextDue != 999 || c.Bytes != 7 || c.New != 7 {
		t.Errorf("%+v %v", c, err)
	}
}
