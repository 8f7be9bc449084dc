// SPDX-License-Identifier: Apache-2.0

package phases

import (
	"context"

	"github.com/seine-crawler/seine/storage"
)

// rewriting joins a part of what is sorted with crawldb, and writes a part of all that changes with its records. It
// belongs to one goroutine.
type rewriting struct {
	p       *Phases
	part    storage.Part
	records *storage.TableWriter
	lowered *storage.TableWriter // see noteLowered
	hosts   *hostTally
	value   []byte // scratch
}

// newRewritings returns one for each part, to be closed also after an error. Call finishDays with all their hosts at
// the end.
func (p *Phases) newRewritings(ing *storage.Ingestion, parts []storage.Part) ([]rewriting, error) {
	from := storage.Froms(parts)
	records, lowered := ing.TableParts(storage.Crawldb(), from), ing.TableParts(storage.LoweredRange(), from)
	hosts := p.newHostTallies(ing, from)
	all := make([]rewriting, len(parts))
	for i := range all {
		all[i] = rewriting{p: p, part: parts[i], records: records[i], lowered: lowered[i], hosts: hosts[i]}
	}
	notes, err := p.keepRefreshedParts(ing, from)
	for i := range notes {
		hosts[i].stale = notes[i]
	}
	return all, err
}

// join calls one with each key of the part, what is sorted under it, and its record, nil if it has none.
func (w *rewriting) join(ctx context.Context, one func(key []byte, values [][]byte, old []byte) error) error {
	if err := storage.MergeJoin(ctx, w.p.env.Store, storage.Crawldb(), w.part.Run, one); err != nil {
		return err
	}
	return w.hosts.endHost()
}

// set writes the record of a key.
func (w *rewriting) set(key []byte, r *storage.Record) error {
	w.value = storage.AppendRecord(w.value[:0], r)
	return w.records.Set(key, w.value)
}

func (w *rewriting) close() {
	w.hosts.close()
	_ = w.part.Run.Close() // join has returned its error
}
