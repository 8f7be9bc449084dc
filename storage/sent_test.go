// SPDX-License-Identifier: Apache-2.0

package storage_test

import (
	"context"
	"errors"
	"testing"

	"github.com/seine-crawler/seine/storage"
)

// TestSentNumbers: each index writer has a number of its own, which it keeps; a name that is the beginning of another
// is another. A number that is none is found by Verify and by whoever needs a number.
func TestSentNumbers(t *testing.T) {
	s, err := storage.Open(t.TempDir(), storage.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	for range 2 {
		for i, name := range []string{"solr=http://h/a", "solr=http://h/ab", ""} {
			if n, err := s.SentNumber(name); err != nil || n != uint32(i+1) {
				t.Errorf("%q: %d, %v", name, n, err)
			}
		}
	}
	if numbers, err := s.SentNumbers(); err != nil || len(numbers) != 3 {
		t.Errorf("%v, %v", numbers, err)
	}
	for _, number := range []string{"", "0", "-1", "4294967296", "x"} {
		if err := s.PutSettings(map[string]string{"index-writer x": number}); err != nil {
			t.Fatal(err)
		}
		if _, err := s.SentNumber("y"); !errors.Is(err, storage.ErrCorrupt) {
			t.Errorf("number %q: %v", number, err)
		}
		if r, err := s.Verify(context.Background()); err != nil || len(r.Problems) != 1 {
			t.Errorf("number %q: %v, %v", number, r.Problems, err)
		}
	}
}

// TestCheckSent: rows that were not written so are corrupt.
func TestCheckSent(t *testing.T) {
	state, page := "\x00", "example,a,)/ http"
	for _, c := range []struct {
		key, value string
		sound      bool
	}{
		{state, "\x00\x00\x00\x00\x00\x00\x00\x07\x01", true},
		{state, "\x00\x00\x00\x00\x00\x00\x00\x07\x02", false},
		{state, "\x00\x00\x00\x00\x00\x00\x00\x07", false},
		{page, string(storage.AppendSent(nil, 7)), true},
		{page, "", false},
		{page, "\x00\x00\x00\x00\x00\x00\x00\x07\x01", false},
	} {
		if err := storage.CheckSent([]byte(c.key), []byte(c.value)); errors.Is(err, storage.ErrCorrupt) == c.sound {
			t.Errorf("%q %q: %v", c.key, c.value, err)
		}
	}
}
