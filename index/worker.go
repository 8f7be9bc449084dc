// SPDX-License-Identifier: Apache-2.0

package index

import (
	"sync/atomic"
	"time"

	"github.com/seine-crawler/seine/storage"
)

// A Builder gives its documents to workers, each a segmentBuilder on a goroutine of its own. The first worker alone
// gets the first aloneBytes of text, so that the small ingestions of most crawls make one index segment each, not
// several that must be merged. From then on a batch goes to the worker that has got the least text.
//
// Tried first: one goroutine that finds words and one that adds them to their lists. It keeps one core and a half busy
// at most, and the end of an index segment, a third of the work, only one.
const (
	aloneBytes  = 4 << 20
	batchDocs   = 32
	batchBytes  = 1 << 20
	workerQueue = 2 // batches that wait
	numbersEach = 8 // numbers of index segments that a worker has from the beginning
)

type worker struct {
	b     *segmentBuilder
	given int64 // bytes of text
	batch []Document
	bytes int // of the texts in batch

	next   chan []Document // nil: the worker works on the goroutine of its caller
	free   chan []Document // empty batches, to be used again
	done   chan struct{}   // closed after the last batch
	ended  bool            // next is closed
	gaveUp atomic.Bool     // of Abort: what is queued is dropped
	failed atomic.Pointer[error]
	cpu    time.Duration // of the goroutine; valid after done
}

// worker returns the worker for the next document: the last one until its batch is full.
func (b *Builder) worker() *worker {
	if len(b.workers) == 0 {
		b.workers = append(b.workers, b.newWorker(0))
	}
	least := b.workers[0]
	for _, w := range b.workers {
		if len(w.batch) > 0 {
			return w
		}
		if w.given < least.given {
			least = w
		}
	}
	if n := len(b.workers); n < b.x.o.Builders && least.given >= b.x.alone {
		least = b.newWorker(n)
		b.workers = append(b.workers, least)
	}
	return least
}

func (b *Builder) newWorker(i int) *worker {
	w := &worker{b: b.newSegmentBuilder(i)}
	if b.x.o.Builders > 1 {
		w.next, w.free = make(chan []Document, workerQueue), make(chan []Document, workerQueue+2)
		w.done = make(chan struct{})
		go w.run()
	}
	return w
}

// newSegmentBuilder returns the segmentBuilder of number i, of as many as Options.Builders.
func (b *Builder) newSegmentBuilder(i int) *segmentBuilder {
	n := max(b.x.o.Builders, 1)
	own := uint32(1)
	if n > 1 {
		own = uint32(n) * numbersEach
	}
	if b.number == 0 {
		b.number = b.x.reserve(own)
	}
	to := &segmentBuilder{
		in: b.in, sorting: b.sorting(int64(8 * n)), memory: b.x.o.MemoryBytes / int64(n), located: &b.located,
		pace: b.x.NewPace(), clock: b.x.clock,
		numbers: segmentNumbers{
			at: b.number + uint32(i), step: uint32(n), last: b.number + own - 1, more: b.x.reserve,
		},
	}
	to.begin()
	return to
}

// put adds a document, now or later. An error may be that of an earlier document.
func (w *worker) put(d *Document) error {
	if w.next == nil {
		return w.b.add(d)
	}
	if w.batch == nil {
		select {
		case w.batch = <-w.free:
		default:
			w.batch = make([]Document, 0, batchDocs)
		}
	}
	w.batch = append(w.batch, *d)
	w.bytes += len(d.Text)
	if len(w.batch) == batchDocs || w.bytes >= batchBytes {
		w.send()
	}
	return w.failure()
}

func (w *worker) send() {
	w.given += int64(w.bytes)
	w.next <- w.batch
	w.batch, w.bytes = nil, 0
}

func (w *worker) failure() error {
	if err := w.failed.Load(); err != nil {
		return *err
	}
	return nil
}

// finish has the worker write what it has, without waiting for it.
func (w *worker) finish() {
	if w.next == nil || w.ended {
		return
	}
	if len(w.batch) > 0 {
		w.send()
	}
	w.ended = true
	close(w.next)
}

// wait waits until all is written.
func (w *worker) wait() error {
	if w.next == nil {
		return w.b.write()
	}
	<-w.done
	return w.failure()
}

// abort ends the worker's goroutine.
func (w *worker) abort() {
	if w.next == nil {
		return
	}
	w.gaveUp.Store(true)
	if !w.ended {
		w.ended = true
		close(w.next)
	}
	<-w.done
}

func (w *worker) run() {
	defer close(w.done)
	timer := storage.StartCPUTimer()
	defer func() { w.cpu = timer.Stop() }()
	var err error
	for batch := range w.next {
		for i := range batch {
			if err != nil || w.gaveUp.Load() {
				break
			}
			if err = w.b.add(&batch[i]); err != nil {
				w.failed.Store(&err)
			}
		}
		clear(batch)
		select {
		case w.free <- batch[:0]:
		default:
		}
	}
	if err != nil || w.gaveUp.Load() {
		return
	}
	if err := w.b.write(); err != nil {
		w.failed.Store(&err)
	}
}
