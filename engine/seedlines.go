// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/seine-crawler/seine/engine/internal/phases"
	"github.com/seine-crawler/seine/storage"
)

// open opens the sources. Reading them ends with ctx. The caller must call closeAll when it has read them.
func (o *InjectOptions) open(ctx context.Context) (sources []phases.SeedFile, closeAll func(), err error) {
	var files []*os.File
	closeAll = func() {
		for _, f := range files {
			f.Close() // it was only read
		}
	}
	for _, name := range o.Files {
		if name == "-" && o.Stdin != nil {
			sources = append(sources, phases.SeedFile{Reader: o.Stdin})
			continue
		}
		f, err := os.Open(name)
		if err != nil {
			closeAll()
			return nil, func() {}, fmt.Errorf("seed file: %w", err)
		}
		files = append(files, f)
		sources = append(sources, phases.SeedFile{Name: name, Reader: f})
	}
	for _, r := range o.Readers {
		source := phases.SeedFile{Reader: r}
		if named, ok := r.(SeedReader); ok {
			source.Name = named.Name
		}
		sources = append(sources, source)
	}
	for i := range sources {
		if !isAtHand(sources[i].Reader) {
			sources[i].Reader = &slowReader{ctx: ctx, from: sources[i].Reader}
		}
	}
	return sources, closeAll, nil
}

// slowReader is a source that may wait for another program. When ctx ends, nobody waits any more for the Read that is
// under way, and nothing is read after it.
type slowReader struct {
	ctx  context.Context
	from io.Reader
	buf  []byte
	rest []byte // of buf: not returned yet
	err  error  // that came with it
}

// Read implements io.Reader.
func (r *slowReader) Read(p []byte) (n int, err error) {
	if len(r.rest) == 0 && r.err == nil {
		r.fill()
	}
	n = copy(p, r.rest)
	if r.rest = r.rest[n:]; len(r.rest) == 0 {
		err = r.err
	}
	return n, err
}

func (r *slowReader) fill() {
	if r.buf == nil {
		r.buf = make([]byte, slowRead)
	}
	n, err, done := 0, error(nil), make(chan struct{})
	go func() {
		n, err = r.from.Read(r.buf)
		close(done)
	}()
	select {
	case <-done:
		r.rest, r.err = r.buf[:n], err
	case <-r.ctx.Done():
		r.err = r.ctx.Err() // the buffer belongs to the Read
	}
}

// gather is open, and reads what may be slow, such as a pipe or a request, to its end: a phase that waits for lines
// holds up all others, and with them a running crawl. Up to gatherMemory bytes of each source stay in memory, more of
// it goes to disk. An error of a source comes when its lines are read, after those before it.
func (o *InjectOptions) gather(
	ctx context.Context, store *storage.Store,
) (sources []phases.SeedFile, closeAll func(), err error) {
	sources, closeFiles, err := o.open(ctx)
	if err != nil {
		return nil, closeFiles, err
	}
	var held []*gathered
	closeAll = func() {
		for _, g := range held {
			g.close()
		}
		closeFiles()
	}
	for i := range sources {
		if _, slow := sources[i].Reader.(*slowReader); !slow {
			continue
		}
		g := &gathered{store: store}
		held = append(held, g)
		if sources[i].Reader, err = g.read(ctx, sources[i].Reader); err != nil {
			closeAll()
			return nil, func() {}, err
		}
	}
	return sources, closeAll, nil
}

// isAtHand reports whether reading never waits for another program.
func isAtHand(r io.Reader) bool {
	switch r := r.(type) {
	case *bytes.Reader, *bytes.Buffer, *strings.Reader:
		return true
	case SeedReader:
		return isAtHand(r.Reader)
	case *os.File:
		info, err := r.Stat()
		return err == nil && info.Mode().IsRegular()
	}
	return false
}

// gathered is a source that was read to its end.
type gathered struct {
	store  *storage.Store
	spool  *storage.Spool // nil: all of it is in memory
	reader *storage.SpoolReader
	rest   []byte // of the block that Read is in
}

// read reads a source to its end, and returns what reads it again.
func (g *gathered) read(ctx context.Context, source io.Reader) (io.Reader, error) {
	block, n := make([]byte, gatherMemory), 0
	var failed error
	for failed == nil {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		var more int
		more, failed = source.Read(block[n:])
		if n += more; n == len(block) {
			if err := g.keep(block); err != nil {
				return nil, err
			}
			n = 0
		}
	}
	last := io.MultiReader(bytes.NewReader(block[:n]), endReader{failed})
	if g.spool == nil {
		return last, nil
	}
	if err := g.spool.Seal(); err != nil {
		return nil, err
	}
	reader, err := g.spool.Read()
	if err != nil {
		return nil, err
	}
	g.reader = reader
	return io.MultiReader(g, last), nil
}

// keep writes a block to disk.
func (g *gathered) keep(block []byte) (err error) {
	if g.spool == nil {
		if g.spool, err = g.store.NewSpool(); err != nil {
			return err
		}
	}
	for len(block) > 0 && err == nil {
		n := min(len(block), storage.SpoolItemMax)
		err = g.spool.Add(block[:n])
		block = block[n:]
	}
	return err
}

// Read implements io.Reader: what was written to disk.
func (g *gathered) Read(p []byte) (int, error) {
	for len(g.rest) == 0 {
		block, err := g.reader.Next()
		if err != nil {
			return 0, err
		}
		if block == nil {
			return 0, io.EOF
		}
		g.rest = block
	}
	n := copy(p, g.rest)
	g.rest = g.rest[n:]
	return n, nil
}

func (g *gathered) close() {
	if g.reader != nil {
		g.reader.Close() // it was only read
	}
	if g.spool != nil {
		g.spool.Close() // Open removes what is left of it
	}
}

// endReader has only an error.
type endReader struct{ err error }

// Read implements io.Reader.
func (r endReader) Read([]byte) (int, error) { return 0, r.err }
