// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"testing"

	"github.com/seine-crawler/seine/storage"
)

// TestRoomTwice: an index is merged beside what is served only where the disk has room for what is written, and as much
// as a crawl needs to go on.
func TestRoomTwice(t *testing.T) {
	const gb = 1 << 30
	for _, c := range []struct {
		free, total, tables uint64
		want                bool
	}{
		{0, 0, 100 * gb, true}, {500 * gb, 1000 * gb, 100 * gb, true}, {100 * gb, 1000 * gb, 100 * gb, false},
		{gb / 8, 1000 * gb, 0, false},
	} {
		if got := roomTwice(c.free, c.total, c.tables); got != c.want {
			t.Errorf("%d of %d bytes free, tables of %d: %t", c.free, c.total, c.tables, got)
		}
	}
}

// TestSettleRoom: beside a crawl, nothing is settled while the disk has no room for what that may write.
func TestSettleRoom(t *testing.T) {
	disk := &sizedDisk{FS: storage.NewMemFS()}
	e, err := Open(Options{Dir: "/data", FS: disk, Contact: "https://seine.example/"})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	settled := 0
	s := settler{e.w, func(DedupReport, IndexReport) { settled++ }}
	for _, c := range []struct {
		free uint64
		want int
	}{{1 << 20, 0}, {900 << 20, 1}} {
		disk.free = c.free
		if err := s.beside(t.Context()); err != nil || settled != c.want {
			t.Errorf("%d bytes free: settled %d times, want %d: %v", c.free, settled, c.want, err)
		}
	}
}

// sizedDisk is a disk of 1 GiB.
type sizedDisk struct {
	storage.FS
	free uint64
}

func (d *sizedDisk) GetDiskUsage(string) (storage.DiskUsage, error) {
	return storage.DiskUsage{AvailBytes: d.free, TotalBytes: 1 << 30, UsedBytes: 1<<30 - d.free}, nil
}
