// SPDX-License-Identifier: Apache-2.0

package phases

import (
	"bytes"
	"fmt"
	"slices"

	"github.com/seine-crawler/seine/storage"
)

// dueChanges are the keys of the due range that records lose and get, as they come: those of one host, without the host
// key, or those by day. Records come in the order of their URLs, and these keys have another one: each sorts them.
// Beyond the limit they are in a sorter.
type dueChanges struct {
	keys    []byte
	list    []dueChange
	limit   int64 // bytes
	sorter  func() *storage.Sorter
	spilled *storage.Sorter // key → is or was; nil: none
}

// dueChange is one key, in dueChanges.keys.
type dueChange struct {
	from, to int
	comes    bool
}

const dueChangeBytes = 24

var keyComes, keyGoes = []byte{1}, []byte{0}

// add notes the key of a record; rest is what its URL key has after the host key.
func (d *dueChanges) add(r *storage.Record, rest []byte, comes bool) error {
	from := len(d.keys)
	d.keys = storage.AppendDueKey(d.keys, r, rest)
	return d.added(from, comes)
}

// addDay notes the key by day of a record that is not new.
func (d *dueChanges) addDay(r *storage.Record, key []byte, comes bool) error {
	from := len(d.keys)
	d.keys = storage.AppendDueDayKey(d.keys, r, key)
	return d.added(from, comes)
}

// addKey notes a key that other changes had.
func (d *dueChanges) addKey(key []byte, comes bool) error {
	from := len(d.keys)
	d.keys = append(d.keys, key...)
	return d.added(from, comes)
}

// added notes the key that was appended at from.
func (d *dueChanges) added(from int, comes bool) error {
	d.list = append(d.list, dueChange{from, len(d.keys), comes})
	if int64(len(d.keys)+len(d.list)*dueChangeBytes) < d.limit {
		return nil
	}
	return d.spill()
}

// spill moves the changes to the sorter.
func (d *dueChanges) spill() error {
	if d.spilled == nil {
		d.spilled = d.sorter()
	}
	for _, c := range d.list {
		value := keyGoes
		if c.comes {
			value = keyComes
		}
		if err := d.spilled.Add(d.keys[c.from:c.to], value); err != nil {
			return fmt.Errorf("sorting what is due: %w", err)
		}
	}
	d.keys, d.list = d.keys[:0], d.list[:0]
	return nil
}

// each calls fn with the changes in the order of their keys, and forgets them. key is valid until fn returns.
func (d *dueChanges) each(fn func(key []byte, comes bool) error) error {
	if d.spilled != nil {
		return d.eachSpilled(fn)
	}
	slices.SortFunc(d.list, func(a, b dueChange) int {
		return bytes.Compare(d.keys[a.from:a.to], d.keys[b.from:b.to])
	})
	for _, c := range d.list {
		if err := fn(d.keys[c.from:c.to], c.comes); err != nil {
			return err
		}
	}
	d.keys, d.list = d.keys[:0], d.list[:0]
	return nil
}

func (d *dueChanges) eachSpilled(fn func(key []byte, comes bool) error) error {
	if err := d.spill(); err != nil {
		return err
	}
	run, err := d.spilled.Sort()
	if err != nil {
		return fmt.Errorf("sorting what is due: %w", err)
	}
	for err == nil && run.Next() {
		err = fn(run.Key(), run.Value()[0] == keyComes[0])
	}
	if closed := run.Close(); err == nil && closed != nil { // its error is that of Next, too
		err = fmt.Errorf("sorting what is due: %w", closed)
	}
	if err != nil {
		return err
	}
	return d.close()
}

// close removes the sorter.
func (d *dueChanges) close() error {
	if d.spilled == nil {
		return nil
	}
	err := d.spilled.Close()
	d.spilled = nil
	if err != nil {
		return fmt.Errorf("removing temporary files: %w", err)
	}
	return nil
}
