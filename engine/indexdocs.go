// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"sync"

	"github.com/seine-crawler/seine/index"
	"github.com/seine-crawler/seine/storage"
)

// indexable reports whether a record's newest text belongs in the index. A page that fails for the moment keeps its
// document. Pages with noindex have no text in the store.
func indexable(r *storage.Record) bool {
	switch r.Status {
	case storage.StatusFetched, storage.StatusNotModified, storage.StatusUnfetched:
		return r.Segment != 0
	}
	return false
}

// documents hands documents to an index builder on a goroutine of its own, in batches and in order: while one batch is
// cut into words, the next is read. When fetching has ended or waits for the index, this keeps a second core busy.
type documents struct {
	clock   *stageClock
	builder *index.Builder
	batch   []document
	bytes   int // of the texts in batch
	next    chan []document
	free    chan []document // empty batches, to be reused
	wg      sync.WaitGroup

	mu  sync.Mutex
	err error // the builder's first; later documents are dropped
}

// document is one step of the builder.
type document struct {
	doc    index.Document
	delete bool
}

// documentBatch is the number of documents in a batch. A batch whose texts reach documentBytes has fewer.
const documentBatch, documentBytes = 32, 1 << 20

func newDocuments(clock *stageClock, b *index.Builder) *documents {
	d := &documents{clock: clock, builder: b, next: make(chan []document, 2), free: make(chan []document, 4)}
	d.wg.Add(1)
	go d.build()
	return d
}

// put adds a document, or with remove deletes the one of its key.
func (d *documents) put(doc index.Document, remove bool) error {
	if d.batch == nil {
		select {
		case d.batch = <-d.free:
		default:
			d.batch = make([]document, 0, documentBatch)
		}
	}
	d.batch = append(d.batch, document{doc, remove})
	if d.bytes += len(doc.Text); len(d.batch) < documentBatch && d.bytes < documentBytes {
		return nil
	}
	d.next <- d.batch
	d.batch, d.bytes = nil, 0
	return d.failed()
}

// end waits until the builder has all documents. It must be called exactly once.
func (d *documents) end() error {
	if len(d.batch) > 0 {
		d.next <- d.batch
	}
	close(d.next)
	d.wg.Wait()
	return d.failed()
}

func (d *documents) failed() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.err
}

func (d *documents) build() {
	defer d.wg.Done()
	defer d.clock.time(stageIndex)()
	var err error
	for batch := range d.next {
		for i := range batch {
			if err != nil {
				break
			}
			if batch[i].delete {
				err = d.builder.Delete(batch[i].doc.Key)
			} else {
				err = d.builder.Add(&batch[i].doc)
			}
			if err != nil {
				d.mu.Lock()
				d.err = err
				d.mu.Unlock()
			}
		}
		clear(batch)
		select {
		case d.free <- batch[:0]:
		default:
		}
	}
}
