// SPDX-License-Identifier: Apache-2.0

package storage

import (
	"bytes"
	"errors"
	"io"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// TestSpool: what was added comes back in order, twice at once, in blocks of whole items that are no longer than
// needed; a changed byte is found; files go with Close.
func TestSpool(t *testing.T) {
	fs := NewMemFS()
	s, err := Open("store", Options{FS: fs})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	p, err := s.NewSpool()
	if err != nil {
		t.Fatal(err)
	}
	var want []byte
	ends := map[int]bool{}
	for n := range 3000 {
		item := bytes.Repeat([]byte{byte(n)}, n%700)
		if n == 1000 {
			item = make([]byte, SpoolItemMax)
		}
		want = append(want, item...)
		ends[len(want)] = true
		if err := p.Add(item); err != nil {
			t.Fatal(err)
		}
	}
	if err := p.Add(make([]byte, SpoolItemMax+1)); err == nil {
		t.Error("a long item is taken")
	}
	if err := p.Seal(); err != nil {
		t.Fatal(err)
	}
	one, other := readSpool(t, p, ends), readSpool(t, p, ends)
	if !bytes.Equal(one, want) || !bytes.Equal(other, want) {
		t.Errorf("%d and %d bytes are read, want %d", len(one), len(other), len(want))
	}
	damageFile(t, fs, p.name)
	r, err := p.Read()
	for err == nil {
		var b []byte
		if b, err = r.Next(); b == nil && err == nil {
			t.Fatal("a changed byte is not noticed")
		}
	}
	if !errors.Is(err, ErrCorrupt) {
		t.Error(err)
	}
	if err := errors.Join(r.Close(), p.Close(), p.Close()); err != nil {
		t.Fatal(err)
	}
	if left, err := fs.List(s.SortDir()); err != nil || len(left) > 0 {
		t.Errorf("%v: %v are left", err, left)
	}
}

// readSpool reads a spool whose items end at some places.
func readSpool(t *testing.T, p *Spool, ends map[int]bool) (all []byte) {
	t.Helper()
	r, err := p.Read()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	blocks := 0
	for {
		b, err := r.Next()
		if err != nil {
			t.Fatal(err)
		}
		if b == nil {
			break
		}
		if blocks++; len(b)+spoolHead > max(spoolBlockBytes, SpoolItemMax+spoolHead) {
			t.Errorf("block %d has %d bytes", blocks, len(b))
		}
		if all = append(all, b...); !ends[len(all)] {
			t.Errorf("block %d ends within an item", blocks)
		}
	}
	if want := int64(len(all) + blocks*spoolHead); p.Bytes() != want {
		t.Errorf("the file has %d bytes, it says %d", want, p.Bytes())
	}
	return all
}

// damageFile changes a byte in the middle of a file.
func damageFile(t *testing.T, fs FS, name string) {
	t.Helper()
	f, err := fs.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	all, err := io.ReadAll(f)
	if err = errors.Join(err, f.Close()); err != nil {
		t.Fatal(err)
	}
	all[len(all)/2] ^= 1
	w, err := fs.Create(name, vfs.WriteCategoryUnspecified)
	if err == nil {
		_, err = w.Write(all)
	}
	if err = errors.Join(err, w.Close()); err != nil {
		t.Fatal(err)
	}
}
