// SPDX-License-Identifier: Apache-2.0

package storage

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs/errorfs"
)

// fullDisk fails writing operations on log files and on the directory of the store, from the one of a number on.
type fullDisk struct {
	*CrashableFS
	mu    sync.Mutex
	armed bool
	from  int  // operations that succeed
	once  bool // only one fails
	seen  int
	told  []error // of OnFatal
}

func (d *fullDisk) inject(op errorfs.Op) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	ofLog := op.Path == "store" || strings.HasSuffix(op.Path, logSuffix)
	if !d.armed || !ofLog || op.Kind.ReadOrWrite() != errorfs.OpIsWrite {
		return nil
	}
	if d.seen++; d.seen <= d.from || d.once && d.seen > d.from+1 {
		return nil
	}
	return syscall.ENOSPC
}

func (d *fullDisk) arm(yes bool) (failed bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.armed = yes
	return d.seen > d.from
}

func (d *fullDisk) fatal(err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.told = append(d.told, err)
}

// TestLogFails: whichever operation on the log fails first, be it the creation of its next file or the last write at
// Close, OnFatal is called once and nothing panics. What was acknowledged is there after that, and after a power loss.
func TestLogFails(t *testing.T) {
	for _, once := range []bool{false, true} {
		operations := 0
		for failed := true; failed; operations++ {
			failed = logFails(t, &fullDisk{CrashableFS: NewCrashableFS(), from: operations, once: once})
			if t.Failed() {
				t.Fatalf("operation %d failed, once: %v", operations+1, once)
			}
		}
		if operations < 30 {
			t.Errorf("only %d operations", operations)
		}
	}
}

// logFails works on a store until its log has failed, and reports whether it has.
func logFails(t *testing.T, d *fullDisk) bool {
	fs := errorfs.Wrap(d, errorfs.InjectorFunc(d.inject))
	s, err := Open("store", Options{FS: fs, MemTableBytes: 64 << 10, OnFatal: d.fatal})
	if err != nil {
		t.Fatal(err)
	}
	d.arm(true)
	acked := 0
	for i := 0; i < 12 && err == nil; i++ {
		if i%4 == 3 {
			err = ingestMany(s)
		} else {
			err = s.Apply(func(b *Batch) error { return b.Set(Meta(), fmt.Appendf(nil, "k%d", i), make([]byte, 9000)) })
		}
		if err == nil {
			acked++
		}
	}
	failed := err
	err = s.Close()
	if fatal := d.arm(false); !fatal {
		if failed != nil || err != nil || len(d.told) > 0 {
			t.Errorf("no fault: %v, %v, told %v", failed, err, d.told)
		}
	} else if len(d.told) != 1 || !errors.Is(d.told[0], ErrFatal) || !errors.Is(err, ErrFatal) {
		t.Errorf("OnFatal received %v; Close says %v, the last operation %v", d.told, err, failed)
	} else if failed != nil && !errors.Is(failed, ErrFatal) {
		t.Errorf("an operation says %v", failed)
	}
	for _, fs := range []FS{d.Crash(0, 1), d.Crash(50, 1), d.CrashableFS} {
		s, err := Open("store", Options{FS: fs, MustExist: true})
		if err != nil {
			t.Fatal(err)
		}
		for i := range acked {
			r, key := Meta(), fmt.Appendf(nil, "k%d", i)
			if i%4 == 3 {
				r, key = Crawldb(), []byte("000000")
			}
			if _, ok, err := s.Get(r, key, nil); !ok || err != nil {
				t.Errorf("%s was lost: %v", key, err)
			}
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
	return len(d.told) > 0
}

// ingestMany ingests more than fits the memtable, so that Pebble flushes it and changes to the next log file.
func ingestMany(s *Store) error {
	in := s.NewIngestion()
	defer in.Abort()
	for i := range 1000 {
		if err := in.Table(Crawldb()).Set(fmt.Appendf(nil, "%06d", i), make([]byte, 50)); err != nil {
			return err
		}
	}
	if err := in.Table(Meta()).Set([]byte("many"), nil); err != nil {
		return err
	}
	return in.Commit()
}
