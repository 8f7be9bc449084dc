// SPDX-License-Identifier: Apache-2.0

package storage

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/seine-crawler/seine/storage/urlkey"
)

// TestRecords: several records are those that are read one by one, in any order, absent ones and the same twice too,
// and wherever they are: in the last level, above it, or in memory.
func TestRecords(t *testing.T) {
	s := openTest(t)
	key := func(i int) urlkey.Key { return urlkey.Key(fmt.Sprintf("com,example,)/%03d http", i)) }
	for round, commit := range []func(in *Ingestion) error{
		(*Ingestion).Commit,
		func(in *Ingestion) error { return errors.Join(in.Commit(), s.db.Flush()) },
		(*Ingestion).Commit,
	} {
		in := s.NewIngestion()
		w := in.Table(Crawldb())
		for i := round; i < 300; i += 3 + round {
			r := Record{Status: StatusFetched, Segment: uint32(1 + round)}
			if err := w.Set([]byte(key(i)), AppendRecord(nil, &r)); err != nil {
				t.Fatal(err)
			}
		}
		if err := commit(in); err != nil {
			t.Fatal(err)
		}
	}
	rng := rand.New(rand.NewPCG(1, 2))
	for n := range 40 {
		keys := make([]urlkey.Key, n)
		for i := range keys {
			keys[i] = key(rng.IntN(310))
		}
		records, known, err := s.Records(keys)
		if err != nil || len(records) != n || len(known) != n {
			t.Fatalf("%d records, %d known, %v of %d keys", len(records), len(known), err, n)
		}
		for i, k := range keys {
			var want Record
			ok, err := s.Record(k, &want)
			if err != nil || ok != known[i] || ok && records[i].Segment != want.Segment {
				t.Fatalf("%s: %+v, %v, want %+v, %v, %v", k, records[i], known[i], want, ok, err)
			}
		}
	}
}

// TestRecordsDamaged: a record that is none is damage, as for Record.
func TestRecordsDamaged(t *testing.T) {
	s := openTest(t)
	in := s.NewIngestion()
	if err := errors.Join(in.Table(Crawldb()).Set([]byte("com,a,)/ http"), []byte{0xff}), in.Commit()); err != nil {
		t.Fatal(err)
	}
	if _, _, err := s.Records([]urlkey.Key{"com,a,)/ http"}); !errors.Is(err, ErrCorrupt) {
		t.Errorf("a damaged record: %v", err)
	}
}
