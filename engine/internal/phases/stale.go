// SPDX-License-Identifier: Apache-2.0

package phases

import (
	"bytes"
	"slices"

	"github.com/seine-crawler/seine/storage"
	"github.com/seine-crawler/seine/storage/urlkey"
)

// staleNotes notes, for the next refresh of the index, which documents an ingestion may have made stale: those of pages
// whose records or inlinks change, and hosts that get other records, whose titles may share something else. What a
// fetched segment's links change is not noted: the refresh reads it from the segment, see indexing.addChanged.
//
// While no refresh has left its mark there are no notes. A mark that is left meanwhile goes with the ingestion, which
// did not keep it.
type staleNotes struct {
	w      *storage.TableWriter // nil: nobody needs notes
	ranked bool                 // scores count
	host   []byte               // the one that was noted last
	key    []byte               // that was noted last
}

// keepRefreshed lets the mark of a refresh stay and returns the notes that this takes.
func (p *Phases) keepRefreshed(ing *storage.Ingestion) (staleNotes, error) {
	notes, err := p.keepRefreshedParts(ing, [][]byte{nil})
	return notes[0], err
}

// keepRefreshedParts is keepRefreshed with notes for each part of the keys, as in storage.Ingestion.TableParts.
func (p *Phases) keepRefreshedParts(ing *storage.Ingestion, from [][]byte) ([]staleNotes, error) {
	notes := make([]staleNotes, len(from))
	_, _, marked, err := p.env.Store.Refreshed()
	if err != nil || !marked {
		return notes, err
	}
	_, ranked, err := p.env.Store.Get(storage.Meta(), []byte(storage.MetaLinkRank), nil)
	if err != nil {
		return notes, err
	}
	for i, w := range ing.TableParts(storage.Stale(), from) {
		notes[i] = staleNotes{w: w, ranked: ranked}
	}
	ing.KeepRefreshed()
	return notes, nil
}

// page notes a page. Keys must not decrease from call to call, of page and record.
func (n *staleNotes) page(key []byte) error {
	if n.w == nil || bytes.Equal(n.key, key) {
		return nil
	}
	n.key = append(n.key[:0], key...)
	return n.w.Set(key, nil)
}

// record notes what depends on a record that became r; was is the one before, if known.
func (n *staleNotes) record(key []byte, known bool, was, r *storage.Record) error {
	if n.w == nil {
		return nil
	}
	if known && !n.changes(was, r) {
		return nil
	}
	if host := urlkey.HostKeyOf(key); !bytes.Equal(host, n.host) {
		n.host = append(n.host[:0], host...)
		if err := n.page(host); err != nil {
			return err
		}
	}
	if r.Segment == 0 && was.Segment == 0 {
		return nil
	}
	return n.page(key)
}

// changes reports whether the document of a page, or its part in what titles share, depends on the difference.
func (n *staleNotes) changes(was, r *storage.Record) bool {
	if was.Segment == 0 && r.Segment == 0 {
		return false
	}
	return was.Segment != r.Segment || was.Status != r.Status || was.Signature != r.Signature ||
		was.SimHash != r.SimHash || was.Truncated != r.Truncated || !slices.Equal(was.Meta, r.Meta) ||
		n.ranked && was.Score != r.Score
}
