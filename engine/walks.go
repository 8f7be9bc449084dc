// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"errors"

	"github.com/seine-crawler/seine/storage"
)

// walks reads a range of many segments. Keys come in order, within each segment too, so one walk through each segment
// replaces a search for every page: with 10,000 hosts, this saved 35 µs a page, a fifth of indexing (on an earlier
// host). Tried and dropped: scanning all texts instead of looking them up gained 4% with 100,000 pages.
type walks struct {
	in   func(segment uint32) storage.Range
	most int // segments that are walked side by side; in others, each page is searched for
	open map[uint32]*storage.Finder
	last []byte
}

func newWalks(most int, in func(segment uint32) storage.Range) *walks {
	return &walks{in: in, most: most, open: map[uint32]*storage.Finder{}}
}

// of returns the value of a page of a segment, nil if there is none. It is valid until the next call.
func (w *walks) of(rd storage.Reader, segment uint32, key []byte) ([]byte, error) {
	f := w.open[segment]
	if f == nil {
		if len(w.open) >= w.most {
			value, found, err := rd.Get(w.in(segment), key, w.last)
			if !found {
				return nil, err
			}
			w.last = value
			return value, err
		}
		f = storage.NewFinder(rd, w.in(segment))
		w.open[segment] = f
	}
	return f.Find(key)
}

// close ends the walks.
func (w *walks) close() (err error) {
	for _, f := range w.open {
		err = errors.Join(err, f.Close())
	}
	return err
}
