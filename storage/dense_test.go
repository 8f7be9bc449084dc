// SPDX-License-Identifier: Apache-2.0

package storage

import (
	"fmt"
	"runtime"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2"
)

// TestScatteredTombstones: an ingestion that moves many keys of the due range, of many hosts, is not merged with the
// range at once. Another one, which deletes one host's keys that follow each other, is.
func TestScatteredTombstones(t *testing.T) {
	s := openTest(t)
	const hosts, perHost = 300, 200
	moves := func(due *TableWriter, goes, comes func(host, i int) bool) {
		for host := range hosts {
			for class := range uint8(2) { // class 0 is new
				for i := range perHost {
					key := denseKey(host, class, i)
					var err error
					switch {
					case class == 0 && comes(host, i):
						err = due.Set(key, nil)
					case class == 1 && goes(host, i):
						err = due.Delete(key)
					}
					if err != nil {
						t.Fatal(err)
					}
				}
			}
		}
	}
	ingest := func(write func(due *TableWriter)) {
		t.Helper()
		in := s.NewIngestion()
		defer in.Abort()
		in.large.Store(true) // tables, as of a whole segment
		write(in.Table(Due()))
		if err := in.Commit(); err != nil {
			t.Fatal(err)
		}
	}
	never := func(int, int) bool { return false }
	ingest(func(due *TableWriter) {
		for host := range hosts {
			for i := range perHost {
				if err := due.Set(denseKey(host, 1, i), nil); err != nil {
					t.Fatal(err)
				}
			}
		}
	})
	scattered := func(_, i int) bool { return i%2 == 0 }
	ingest(func(due *TableWriter) { moves(due, scattered, scattered) })
	if share, tombstones := s.tombstones(t); share >= denseTableShare || tombstones != hosts*perHost/2 {
		t.Errorf("%d tombstones above the last level, want %d; %.2f of the blocks full of them, want less than %.2f",
			tombstones, hosts*perHost/2, share, denseTableShare)
	}
	ingest(func(due *TableWriter) {
		moves(due, func(host, i int) bool { return host < hosts/3 && i%2 == 1 }, never)
	})
	guard := time.Now().Add(2 * time.Minute)
	for share, _ := s.tombstones(t); share >= denseTableShare; share, _ = s.tombstones(t) {
		if time.Now().After(guard) {
			t.Fatalf("a table that is all tombstones is not merged: %.2f of its blocks", share)
		}
		runtime.Gosched()
	}
	if _, tombstones := s.tombstones(t); tombstones > hosts*perHost/2 {
		t.Errorf("%d tombstones are left", tombstones)
	}
}

// denseKey is a key of the due range of a URL that shares as little with the one before as most do.
func denseKey(host int, class uint8, i int) []byte {
	word := uint64(host*1000+i+1) * 0x9e3779b97f4a7c15
	return fmt.Appendf(nil, "com,example%04d,www,)\x01%c\x01/articles/%04d-%x.html https", host, class, i, word)
}

// tombstones returns the tombstones of tables above the last level, and the largest share of blocks full of them that
// a table has.
func (s *Store) tombstones(t *testing.T) (share float64, count uint64) {
	t.Helper()
	levels, err := s.db.SSTables(pebble.WithProperties())
	if err != nil {
		t.Fatal(err)
	}
	for _, tables := range levels[:len(levels)-1] {
		for _, table := range tables {
			p := table.Properties
			share = max(share, float64(p.NumTombstoneDenseBlocks)/float64(p.NumDataBlocks))
			count += p.NumDeletions
		}
	}
	return share, count
}

// TestTombstoneRuns: what fetching leaves where one host has nearly all URLs, tombstones that follow each other, is
// merged away, be the keys short or long.
func TestTombstoneRuns(t *testing.T) {
	for words := range 5 {
		t.Run(fmt.Sprint(words), func(t *testing.T) {
			t.Parallel()
			s := openTest(t)
			const keys, segments, each = 30_000, 3, 9000
			key := func(i int) []byte {
				b := fmt.Appendf(nil, "com,example,www,)\x01\x01/%06d", i)
				for word := range words {
					b = fmt.Appendf(b, "-%016x", uint64(i+word+1)*0x9e3779b97f4a7c15)
				}
				return append(b, ".html https"...)
			}
			ingest := func(from, to int, write func(due *TableWriter, key []byte) error) {
				t.Helper()
				in := s.NewIngestion()
				defer in.Abort()
				in.large.Store(true)
				due := in.Table(Due())
				for i := from; i < to; i++ {
					if err := write(due, key(i)); err != nil {
						t.Fatal(err)
					}
				}
				if err := in.Commit(); err != nil {
					t.Fatal(err)
				}
			}
			ingest(0, keys, func(due *TableWriter, key []byte) error { return due.Set(key, nil) })
			for n := range segments {
				ingest(n*each, (n+1)*each, (*TableWriter).Delete)
			}
			guard := time.Now().Add(2 * time.Minute)
			for share, left := s.tombstones(t); left > 0; share, left = s.tombstones(t) {
				if time.Now().After(guard) {
					t.Fatalf("%d tombstones of keys of %d bytes are left, %.2f of the blocks full of them",
						left, len(key(0)), share)
				}
				runtime.Gosched()
			}
		})
	}
}
