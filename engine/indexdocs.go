// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"bytes"
	"sync"

	"github.com/seine-crawler/seine/index"
	"github.com/seine-crawler/seine/storage"
)

// documents hands documents to an index builder on a goroutine of its own, in batches and in order:
// while one document is cut into words the next is read and put together. When fetching has ended, or
// waits for the index, this is what keeps a second core busy.
type documents struct {
	clock   *stageClock
	builder *index.Builder
	batch   []document
	next    chan []document
	free    chan []document // batches to use again
	wg      sync.WaitGroup

	mu  sync.Mutex
	err error // the builder's first; the rest is then dropped
}

// document is one step of the builder.
type document struct {
	doc    index.Document
	delete bool
}

// documentBatch is the number of documents that change hands at once.
const documentBatch = 32

func (e *Engine) newDocuments(b *index.Builder) *documents {
	d := &documents{clock: &e.clock, builder: b, next: make(chan []document, 2), free: make(chan []document, 4)}
	d.wg.Add(1)
	go d.build()
	return d
}

// put adds a document, or deletes that of its key.
func (d *documents) put(doc index.Document, remove bool) error {
	if d.batch == nil {
		select {
		case d.batch = <-d.free:
		default:
			d.batch = make([]document, 0, documentBatch)
		}
	}
	d.batch = append(d.batch, document{doc, remove})
	if len(d.batch) < documentBatch {
		return nil
	}
	d.next <- d.batch
	d.batch = nil
	return d.failed()
}

// end waits until the builder has all documents. It must be called once.
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

// textScan reads the texts of one segment in key order: from one page to the next it is mostly one step,
// where a lookup would cost fifteen microseconds.
type textScan struct {
	segment uint32
	sc      *storage.Scanner
	valid   bool // sc stands on a key
}

// textScansMax bounds the scans that are open at once; texts of other segments are looked up.
const textScansMax = 2 * indexBatchMax

// readText reads the text of a page of a segment into x.value. Keys come in order.
func (x *indexing) readText(rd storage.Reader, segment uint32, key []byte) (found bool, err error) {
	var t *textScan
	for i := range x.texts {
		if x.texts[i].segment == segment {
			t = &x.texts[i]
		}
	}
	if t == nil {
		if len(x.texts) == textScansMax {
			x.value, found, err = rd.Get(storage.ParseTextRange(segment), key, x.value)
			return found, err
		}
		x.texts = append(x.texts, textScan{segment: segment, sc: rd.Scan(storage.ParseTextRange(segment), key, nil)})
		t = &x.texts[len(x.texts)-1]
		t.valid = t.sc.Next()
	}
	for steps := 0; t.valid && bytes.Compare(t.sc.Key(), key) < 0; steps++ {
		if steps < 2 {
			t.valid = t.sc.Next()
		} else {
			t.valid = t.sc.SeekGE(key)
		}
	}
	if !t.valid || !bytes.Equal(t.sc.Key(), key) {
		return false, t.sc.Err()
	}
	x.value = append(x.value[:0], t.sc.Value()...)
	return true, nil
}

func (x *indexing) closeTexts() {
	for i := range x.texts {
		x.texts[i].sc.Close()
	}
	x.texts = nil
}
