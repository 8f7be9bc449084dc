// SPDX-License-Identifier: Apache-2.0

package index

import (
	"encoding/json"

	"github.com/seine-crawler/seine/storage"
	"github.com/seine-crawler/seine/storage/urlkey"
)

// docEntry is what an index segment has of a document beside its postings and stored values.
type docEntry struct {
	key     urlkey.Key
	stamp   uint64
	boost   float64 // 0: none
	norms   norms
	columns columns
}

// docWriter writes the documents of an index segment in their order, block by block.
type docWriter struct {
	in      *storage.Ingestion
	number  uint32
	info    segmentInfo
	keys    keyWriter
	norms   normWriter
	boosts  boostWriter
	columns columnWriter
	filter  filterWriter // of the terms and forms that others write
}

func newDocWriter(in *storage.Ingestion, number uint32) *docWriter {
	w := &docWriter{
		in: in, number: number, info: segmentInfo{Format: format, Languages: map[string]uint32{}},
	}
	w.keys, w.norms = keyWriter{w: w.table(kindDocs)}, normWriter{w: w.table(kindNorms)}
	w.boosts, w.columns = boostWriter{w: w.table(kindBoosts)}, columnWriter{w: w.table(kindColumns)}
	return w
}

// add adds the next document; keys must increase.
func (w *docWriter) add(d *docEntry) error {
	if err := w.keys.add(d.key, d.stamp); err != nil {
		return err
	}
	if err := w.norms.add(&d.norms); err != nil {
		return err
	}
	if err := w.boosts.add(d.boost); err != nil {
		return err
	}
	if err := w.columns.add(d.key, &d.columns); err != nil {
		return err
	}
	for f, c := range d.norms {
		w.info.Totals[f] += uint64(normLength[c])
	}
	w.info.Languages[d.columns.language]++
	w.info.Docs++
	return nil
}

// end writes what is left; info is complete but for what is not of documents.
func (w *docWriter) end() error {
	for _, flush := range []func() error{w.keys.flush, w.norms.flush, w.boosts.flush, w.columns.flush} {
		if err := flush(); err != nil {
			return err
		}
	}
	w.info.Boosts = w.boosts.count
	w.info.Averages = (&collection{docs: uint64(w.info.Docs), totals: w.info.Totals}).averages()
	w.info.Weights = weightsHash()
	return nil
}

// table returns the table of a kind of rows of the index segment.
func (w *docWriter) table(kind byte) *storage.TableWriter {
	return w.in.Table(storage.IndexSegmentRange(w.number, kind))
}

// closeTables closes the files of an index segment that is written, but for the registry. An ingestion may have many.
func closeTables(in *storage.Ingestion, number uint32) error {
	for _, kind := range segmentKinds {
		if err := in.Table(storage.IndexSegmentRange(number, kind)).CloseFile(); err != nil {
			return err
		}
	}
	return nil
}

// register adds the index segment to the registry.
func (w *docWriter) register() error { return registerSegment(w.in, w.number, &w.info) }

func registerSegment(in *storage.Ingestion, number uint32, info *segmentInfo) error {
	encoded, err := json.Marshal(info)
	if err != nil {
		return err
	}
	return in.Table(storage.IndexRange(kindSegments)).Set(numberKey(number), encoded)
}
