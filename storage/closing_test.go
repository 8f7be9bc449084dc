// SPDX-License-Identifier: Apache-2.0

package storage

import (
	"fmt"
	"testing"
)

// TestOvertaken: whoever closes a scanner that a compaction has overtaken does not clear away the tables that it kept.
// A scanner that none has overtaken is closed at once, and Close waits for the others.
func TestOvertaken(t *testing.T) {
	s, err := Open("store", Options{FS: NewMemFS()})
	if err != nil {
		t.Fatal(err)
	}
	var tasks []func()
	s.closings.begin = func(task func()) { tasks = append(tasks, task) }
	fill := func() {
		t.Helper()
		for range 2 {
			in := s.NewIngestion()
			defer in.Abort()
			for i := range 20_000 {
				if err := in.Table(Crawldb()).Set(fmt.Appendf(nil, "%06d", i), make([]byte, 300)); err != nil {
					t.Fatal(err)
				}
			}
			if err := in.Commit(); err != nil {
				t.Fatal(err)
			}
		}
	}
	compact := func() {
		t.Helper()
		if err := s.db.Compact(t.Context(), []byte{0}, []byte{0xff}, false); err != nil {
			t.Fatal(err)
		}
	}
	kept := func() int64 { return s.db.Metrics().Table.ZombieCount }
	fill()
	sc := s.Scan(Crawldb(), nil, nil)
	if !sc.Next() {
		t.Fatal(sc.Err())
	}
	compact()
	if kept() == 0 {
		t.Fatal("the scanner keeps no table")
	}
	if err := sc.Close(); err != nil || len(tasks) != 1 || kept() == 0 {
		t.Fatalf("%v, %d scanners are closed elsewhere, %d tables are kept", err, len(tasks), kept())
	}
	if tasks[0](); kept() != 0 {
		t.Errorf("%d tables are kept", kept())
	}
	sc = s.Scan(Crawldb(), nil, nil)
	sc.Next()
	if err := sc.Close(); err != nil || len(tasks) != 1 {
		t.Errorf("%v, %d scanners are closed elsewhere", err, len(tasks))
	}

	s.closings.begin = nil
	fill()
	var open []*Scanner
	for range 50 {
		open = append(open, s.Scan(Crawldb(), nil, nil))
	}
	compact()
	for _, sc := range open {
		if err := sc.Close(); err != nil {
			t.Error(err)
		}
	}
	if err := s.Close(); err != nil { // Pebble says if iterators are open
		t.Error(err)
	}
}
