// SPDX-License-Identifier: Apache-2.0

//go:build !race

package warc

import "testing"

// TestWriteAllocations: writing an exchange allocates nothing once the Writer's pool is warm.
func TestWriteAllocations(t *testing.T) {
	w, err := NewWriter(WriterOptions{FS: discardFS{newMemFS()}, Dir: "d"})
	if err != nil {
		t.Fatal(err)
	}
	x := benchExchange()
	n := testing.AllocsPerRun(200, func() {
		if _, err := w.WriteExchange(x); err != nil {
			t.Fatal(err)
		}
	})
	if n > 0.5 { // a garbage collection during the test may empty the pool
		t.Errorf("%.2f allocations per exchange", n)
	}
}
