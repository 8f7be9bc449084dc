// SPDX-License-Identifier: Apache-2.0

package storage

import (
	"bytes"
	"errors"
	"fmt"

	"github.com/cockroachdb/pebble/v2/sstable"
)

// TableWriter writes one range of an ingestion, or a part of one. It belongs to one goroutine at a time. Its first
// error is returned by every later call and by Commit.
type TableWriter struct {
	in    *Ingestion
	r     Range
	least []byte          // relative key; nil: the range's start
	bound []byte          // relative key above the part; nil: the range's end
	t     *sstable.Writer // nil before the first table, and between two
	held  []byte          // keys and values for which there is no table yet; see gather.go
	key   []byte          // the last whole key
	count uint64
	check int // keys until the next check of the table's size
	err   error

	// replaced is set when the ingestion deletes the old content of the range. Each table then carries a
	// tombstone over its part of the range, [from, start of the next table). A tombstone hides only older
	// keys, so those of its own table stay visible.
	replaced bool
	from     []byte // whole key; nil = the part's start
}

// Set adds a key; keys must be strictly increasing over Set and Delete (ErrOrder otherwise). It replaces
// an older value of the key. Key and value are copied, and limited to KeyMaxBytes and ValueMaxBytes.
// After the end of the ingestion the error is ErrClosed.
func (w *TableWriter) Set(key, value []byte) error {
	if err := w.prepare(key, value); err != nil {
		return err
	}
	if w.t == nil {
		w.hold(value, false)
		return nil
	}
	if err := w.t.Set(w.key, value); err != nil {
		return w.fail(err)
	}
	return w.split(len(value))
}

// Delete adds a tombstone for a key; the rules of Set apply.
func (w *TableWriter) Delete(key []byte) error {
	if err := w.prepare(key, nil); err != nil {
		return err
	}
	if w.t == nil {
		w.hold(nil, true)
		return nil
	}
	if err := w.t.Delete(w.key); err != nil {
		return w.fail(err)
	}
	return w.split(0)
}

// DeleteRange deletes the keys from one on up to another, nil for the end of the range, at the cost of one tombstone.
// The rules of Set apply; what follows must be above the second key. It makes the ingestion a large one.
func (w *TableWriter) DeleteRange(from, until []byte) error {
	w.in.mu.Lock()
	replaced := w.replaced || w.in.deleted[w.r]
	w.in.mu.Unlock()
	if replaced {
		return w.fail(errors.New("BUG: storage: a part is deleted of a range that is deleted"))
	}
	if err := w.prepare(from, nil); err != nil {
		return err
	}
	begin, end, last := bytes.Clone(w.key), w.end(), w.end()
	if until != nil {
		end = w.r.appendKey(nil, until)
	} else {
		w.bound = append([]byte{}, from...) // nothing may follow
	}
	if bytes.Compare(begin, end) >= 0 || bytes.Compare(end, last) > 0 {
		return w.fail(fmt.Errorf("BUG: %w: deleting from %.200q up to %.200q", ErrOrder, from, until))
	}
	w.in.mu.Lock()
	defer w.in.mu.Unlock()
	w.in.large.Store(true)
	if err := w.spill(); err != nil {
		return err
	}
	if w.t == nil {
		if err := w.open(); err != nil {
			return err
		}
	}
	w.key = append(w.key[:0], end...)
	if err := w.t.DeleteRange(begin, end); err != nil {
		return w.fail(err)
	}
	return nil
}

// CloseFile closes the file of the table that is being written, if there is one. Call it when the range is complete and
// others follow: else an ingestion of many ranges has a file of each open until its Commit. Keys may still come, into
// another table.
func (w *TableWriter) CloseFile() error {
	if w.t == nil {
		return w.err
	}
	return w.finish(append(w.key, 0)) // the least key after the last one
}

// Count returns the number of keys set and deleted so far.
func (w *TableWriter) Count() uint64 { return w.count }

// prepare checks a key, and opens a table for it if none is open and the ingestion is large.
func (w *TableWriter) prepare(key, value []byte) error {
	if w.err != nil {
		return w.err
	}
	if err := checkSize(w.r, key, value); err != nil {
		return w.fail(err)
	}
	if w.count > 0 && bytes.Compare(key, w.key[w.r.n:]) <= 0 {
		return w.fail(fmt.Errorf("BUG: %w: %.200q after %.200q", ErrOrder, key, w.key[w.r.n:]))
	}
	if w.count == 0 && bytes.Compare(key, w.least) < 0 || w.bound != nil && bytes.Compare(key, w.bound) >= 0 {
		return w.fail(fmt.Errorf("BUG: %w: %.200q in the part from %.200q to %.200q", ErrOrder, key, w.least, w.bound))
	}
	if w.t == nil {
		if err := w.admit(len(key) + len(value)); err != nil {
			return err
		}
	}
	w.key = w.r.appendKey(w.key[:0], key)
	w.count++
	return nil
}

// admit makes room for a key and a value: among what is held, or in a table.
func (w *TableWriter) admit(size int) error {
	w.in.mu.Lock()
	defer w.in.mu.Unlock()
	if w.in.ended {
		return fmt.Errorf("%w: the ingestion has ended", ErrClosed)
	}
	if w.count == 0 {
		if err := w.in.s.mayWrite(); err != nil {
			return w.fail(err)
		}
	}
	if w.in.gather(size) {
		return nil
	}
	if err := w.spill(); err != nil || w.t != nil {
		return err
	}
	return w.open()
}

// open begins a table. Called with in.mu held.
func (w *TableWriter) open() (err error) {
	if w.t, err = w.in.newTable(w.r); err != nil {
		return w.fail(err)
	}
	w.replaced = w.in.deleted[w.r]
	w.check = tableSizeCheckKeys
	return nil
}

// split finishes the table when it is large enough.
func (w *TableWriter) split(added int) error {
	w.check--
	if w.check > 0 && added < tableSizeCheckBytes {
		return nil
	}
	w.check = tableSizeCheckKeys
	if w.t.Raw().EstimatedSize() < tableTargetBytes {
		return nil
	}
	return w.finish(append(w.key, 0)) // the least key after this one
}

// start is the first whole key that the part may have, end the first one above it.
func (w *TableWriter) start() []byte {
	if w.least == nil {
		return w.r.start()
	}
	return w.r.appendKey(nil, w.least)
}

func (w *TableWriter) end() []byte {
	if w.bound == nil {
		return w.r.end()
	}
	return w.r.appendKey(nil, w.bound)
}

// ready opens a last table if the part lacks something, so that complete needs no lock. Called with in.mu held, by the
// commit of a large ingestion.
func (w *TableWriter) ready() error {
	// The last table was just split off, or only other parts have keys: delete the rest of the range too.
	replaced := w.replaced || w.in.deleted[w.r] && w.in.written(w.r) > 0
	if w.err != nil || w.t != nil || len(w.held) == 0 && !replaced {
		return w.err
	}
	return w.open()
}

// complete writes what the part still lacks into its last table, after ready.
func (w *TableWriter) complete() error {
	if w.err != nil || w.t == nil {
		return w.err
	}
	if err := w.release(pebbleWriter{set: w.t.Set, delete: w.t.Delete}); err != nil {
		return err
	}
	return w.finish(w.end())
}

// finish closes and syncs the open table, if any; the next one, or the next range, begins at end.
func (w *TableWriter) finish(end []byte) error {
	if w.err != nil || w.t == nil {
		return w.err
	}
	t := w.t
	w.t = nil
	var err error
	if w.replaced {
		if w.from == nil {
			w.from = w.start()
		}
		err = t.DeleteRange(w.from, end)
		w.from = bytes.Clone(end)
	}
	if err := errors.Join(err, t.Close()); err != nil {
		return w.fail(err)
	}
	return nil
}

// abandon closes the open table without keeping its content.
func (w *TableWriter) abandon() {
	w.held = nil
	if w.t != nil {
		_ = w.t.Close() // the caller removes the file next
		w.t = nil
	}
}

// fail keeps the first error: nothing after it may be committed.
func (w *TableWriter) fail(err error) error {
	if w.err == nil {
		w.err = fmt.Errorf("writing %s: %w", w.r, classified(err))
	}
	return w.err
}
