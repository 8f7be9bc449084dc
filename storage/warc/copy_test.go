// SPDX-License-Identifier: Apache-2.0

package warc

import (
	"bytes"
	"io"
	"slices"
	"testing"
)

// TestCopyRecords: records that are copied into another Writer's file are what they were, and the file is sound, mark
// and all. Lengths that are no records are refused.
func TestCopyRecords(t *testing.T) {
	data := everyKind(t)
	records, faults := scanAll(t, data)
	if len(faults) > 0 {
		t.Fatal(faults)
	}
	fs := newMemFS()
	w := testWriter(t, fs)
	r := NewReader(bytes.NewReader(data), int64(len(data)))
	var want []string
	var places []Location
	for i := 0; ; i++ {
		rec, err := r.Next()
		if err == io.EOF {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		if i%3 == 1 {
			continue
		}
		at, err := w.CopyRecords(bytes.NewReader(data), rec.Offset, rec.Length)
		if err != nil {
			t.Fatal(err)
		}
		places, want = append(places, at), append(want, records[i])
	}
	for _, lengths := range [][]int64{{0}, {1, -1}, {int64(len(data)) + 1}} {
		if _, err := w.CopyRecords(bytes.NewReader(data), 0, lengths...); err == nil {
			t.Errorf("records of %d bytes were copied", lengths)
		}
	}
	files, err := w.Close()
	if err != nil {
		t.Fatal(err)
	}
	copied := fs.bytesOf(testOptions(fs).Dir + "/" + files[0].Name)
	got, faults := scanAll(t, copied)
	if len(faults) > 0 || !slices.Equal(got[1:], want) || files[0].Records != int64(len(got)) {
		t.Errorf("faults %v, %d records, want %d", faults, len(got)-1, len(want))
	}
	for i, at := range places {
		if rec, err := ReadAt(bytes.NewReader(copied), int64(len(copied)), at); err != nil {
			t.Errorf("record %d: %v, %v", i, rec, err)
		}
	}
}
