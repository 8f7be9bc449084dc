// SPDX-License-Identifier: Apache-2.0

package index

import (
	"os"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/seine-crawler/seine/storage"
)

// TestBuilderOfFewFiles: a build with little memory, which makes many index segments in one ingestion, has the files of
// one open at a time.
func TestBuilderOfFewFiles(t *testing.T) {
	docs := workerDocuments(t, 1200)
	s, err := storage.Open(t.TempDir(), storage.Options{MemTableBytes: 64 << 10}) // more is no small ingestion
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	x, err := Open(s, Options{Builders: 1, MemoryBytes: 512 << 10})
	if err != nil {
		t.Fatal(err)
	}
	defer x.Close()
	probe, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	free := uint64(probe.Fd()) // the lowest
	probe.Close()
	var limit unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &limit); err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &limit); err != nil {
			t.Error(err)
		}
	}()
	if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &unix.Rlimit{Cur: free + 40, Max: limit.Max}); err != nil {
		t.Fatal(err)
	}
	in := s.NewIngestion()
	defer in.Abort()
	b := x.NewBuilder(in)
	defer b.Abort()
	for i := range docs {
		if err := b.Add(&docs[i]); err != nil {
			t.Fatal(err)
		}
	}
	report, err := b.Finish()
	if err != nil || report.Segments < 8 {
		t.Errorf("%d index segments, %v", report.Segments, err)
	}
}
