// SPDX-License-Identifier: Apache-2.0

package phases

import (
	"bufio"
	"io"

	"github.com/seine-crawler/seine/storage/urlkey"
)

// The lists that a listWriter writes.
const (
	listKnown = iota
	listNew
	listDuplicates
	listCount
)

// listWriter writes lines into their lists on a goroutine of its own, in the order in which they come. To make a URL
// of a key and to write it takes as long as to find out which list it belongs to.
//
//	add ─▶ batch ─▶ full ─▶ goroutine ─▶ lists
//	          ▲───── free ◀────┘
type listWriter struct {
	lists      [listCount]*urlList
	batch      *listBatch
	full, free chan *listBatch
	done       chan struct{}
	err        error // once done is closed
}

// listBatch has lines one behind the other: the key of each, then its text.
type listBatch struct {
	bytes []byte
	lines []batchLine
}

type batchLine struct {
	list      int
	key, text int // bytes
}

const (
	listBatchBytes = 256 << 10 // a batch that has more is written
	listBatches    = 3
)

// newListWriter begins to write to each list that is not nil. fail is called with the first error. Close it.
func newListWriter(lists [listCount]io.Writer, fail func(error)) *listWriter {
	w := &listWriter{
		batch: &listBatch{}, full: make(chan *listBatch, listBatches), free: make(chan *listBatch, listBatches),
		done: make(chan struct{}),
	}
	for i, to := range lists {
		if to != nil {
			w.lists[i] = &urlList{w: bufio.NewWriterSize(to, listBufferBytes)}
		}
	}
	for range listBatches - 1 {
		w.free <- &listBatch{}
	}
	go func() {
		defer close(w.done)
		for b := range w.full {
			if w.err == nil {
				if w.err = w.write(b); w.err != nil {
					fail(w.err)
				}
			}
			b.bytes, b.lines = b.bytes[:0], b.lines[:0]
			w.free <- b
		}
	}()
	return w
}

// add gives a line to a list, if that is wanted. The line is that of the key's URL if text is empty.
func (w *listWriter) add(list int, key, text []byte) {
	if w.lists[list] == nil {
		return
	}
	b := w.batch
	b.bytes = append(append(b.bytes, key...), text...)
	b.lines = append(b.lines, batchLine{list, len(key), len(text)})
	if len(b.bytes) > listBatchBytes {
		w.full <- b
		w.batch = <-w.free
	}
}

// close ends the goroutine, and writes what is left if all is well so far. It returns the first error of writing,
// unless that has been told.
func (w *listWriter) close(well bool) error {
	if well {
		w.full <- w.batch
	}
	close(w.full)
	<-w.done
	if !well {
		return nil
	}
	for _, l := range w.lists {
		if l != nil && w.err == nil {
			w.err = l.w.Flush()
		}
	}
	return w.err
}

func (w *listWriter) write(b *listBatch) error {
	rest := b.bytes
	for _, line := range b.lines {
		key, text := rest[:line.key], rest[line.key:line.key+line.text]
		rest = rest[line.key+line.text:]
		if err := w.lists[line.list].add(key, text); err != nil {
			return err
		}
	}
	return nil
}

// urlList writes lines.
type urlList struct {
	w    *bufio.Writer
	line []byte
	urls urlkey.URLMemo
}

// add writes a line, which is that of the key's URL if text is empty.
func (l *urlList) add(key, text []byte) (err error) {
	if l.line = append(l.line[:0], text...); len(text) == 0 {
		if l.line, err = l.urls.AppendURL(l.line, key); err != nil {
			return err
		}
	}
	l.line = append(l.line, '\n')
	_, err = l.w.Write(l.line)
	return err
}
