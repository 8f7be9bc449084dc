// SPDX-License-Identifier: Apache-2.0

package segment

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"

	"github.com/zeebo/xxh3"

	"github.com/seine-crawler/seine/storage"
	"github.com/seine-crawler/seine/storage/urlkey"
	"github.com/seine-crawler/seine/storage/warc"
)

// Unsealed is a fetch whose segment is not sealed: what sealing will write of it. With Env.NoContent there is no body
// to parse: then a page has neither media type nor text until its segment is sealed.
type Unsealed struct {
	Segment uint32
	Outcome storage.FetchOutcome
	Capture storage.CDX        // of the response; zero without one
	Text    *storage.ParseText // nil: the page is not indexed, or was not parsed
}

// Unsealed returns the fetches of a URL that are durable in segments which are not sealed and which this process
// fetched or resumed, those of one segment oldest first. Their records are read and parsed again, so it costs about
// what storing a page does.
//
// A segment may be sealed meanwhile: then the store has its fetches, and the result may have them too. So who calls it
// takes a snapshot of the store afterwards, and keeps only what is of segments that are open in that. Nothing is there
// twice then, and nothing is missing.
func (g *Segments) Unsealed(u urlkey.URL) (list []Unsealed, err error) {
	hash := xxh3.Hash(u.AppendKey(nil))
	for _, number := range g.parts.unsealed() {
		n := g.parts.notedOf(number)
		if n == nil {
			continue
		}
		for _, at := range n.find(hash) {
			f, ok, err := g.readUnsealed(u, number, at)
			if errors.Is(err, fs.ErrNotExist) && g.parts.notedOf(number) != n {
				break // it was sealed, and Purge has put another file in the place of this one
			}
			if err != nil {
				return nil, fmt.Errorf("fetch of %s in segment %d, which is not sealed: %w", u, number, err)
			}
			if ok {
				list = append(list, f)
			}
		}
	}
	return list, nil
}

// readUnsealed reads one fetch of a segment back. ok is false if the record is of another URL.
func (g *Segments) readUnsealed(u urlkey.URL, number uint32, at warc.Location) (was Unsealed, ok bool, err error) {
	path := g.env.Dir + "/" + at.File
	size, err := g.env.FS.Size(path)
	if err != nil {
		return was, false, err
	}
	f, err := g.env.FS.Open(path)
	if err != nil {
		return was, false, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	rec, err := warc.NewReaderOptions(f, size, warc.ReaderOptions{File: at.File, Start: at.Offset}).Next()
	if errors.Is(err, io.EOF) {
		err = fmt.Errorf("%s has %d bytes, and a record should begin at %d", path, size, at.Offset)
	}
	if err != nil || rec.URI != u.String() {
		return was, false, err
	}
	a, ok, err := storedAttempt(rec)
	if err != nil || !ok {
		return was, false, err
	}
	if a.Response != nil {
		defer a.Response.Release()
	}
	var scratch Scratch
	g.readAgain(a, &scratch)
	if was.Segment = number; a.Response != nil {
		was.Capture = captureOf(number, a, &scratch.outcome)
	}
	// Encoded and decoded it is what the store will have, and shares no memory with the response.
	encoded := storage.AppendFetchOutcome(nil, &scratch.outcome)
	if err := storage.DecodeFetchOutcome(encoded, &was.Outcome); err != nil || !hasText(&scratch.outcome) {
		return was, true, err
	}
	was.Text = &storage.ParseText{}
	return was, true, storage.DecodeParseText(storage.AppendParseText(nil, &scratch.text), was.Text)
}

// readAgain is readOutcome of an attempt that was read back. A body that the WARC lacks cannot be parsed.
func (g *Segments) readAgain(a *Attempt, scratch *Scratch) { g.readOutcome(a, scratch, a.dropped == 0) }

// UnsealedCaptures calls fn with the key and the value that cdx will have of each capture that is durable in a segment
// as Unsealed has them, in no order. It reads these segments from their first to their last page, and parses all.
func (g *Segments) UnsealedCaptures(ctx context.Context, fn func(key, value []byte) error) error {
	for _, number := range g.parts.unsealed() {
		n := g.parts.notedOf(number)
		if n == nil {
			continue
		}
		for file, offsets := range n.all() {
			err := g.capturesIn(ctx, number, file, offsets, fn)
			if errors.Is(err, fs.ErrNotExist) && g.parts.notedOf(number) != n {
				break // as in Unsealed
			}
			if err != nil {
				return fmt.Errorf("captures of segment %d, which is not sealed, in %s: %w", number, file, err)
			}
		}
	}
	return nil
}

// capturesIn is UnsealedCaptures for records of one file.
func (g *Segments) capturesIn(
	ctx context.Context, number uint32, file string, offsets []int64, fn func(key, value []byte) error,
) (err error) {
	path := g.env.Dir + "/" + file
	size, err := g.env.FS.Size(path)
	if err != nil {
		return err
	}
	f, err := g.env.FS.Open(path)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	r := warc.NewReaderOptions(f, size, warc.ReaderOptions{File: file, Start: offsets[0]})
	var scratch Scratch
	var key, row []byte
	for len(offsets) > 0 && ctx.Err() == nil {
		rec, err := r.Next()
		if err != nil {
			return err
		}
		if rec.Offset != offsets[0] { // a request, a robots.txt, or what is not synced yet
			continue
		}
		offsets = offsets[1:]
		a, ok, err := storedAttempt(rec)
		if err != nil {
			return err
		}
		if !ok || a.Response == nil {
			continue
		}
		g.readAgain(a, &scratch)
		scratch.key = a.URL.AppendKey(scratch.key[:0])
		scratch.cdx = captureOf(number, a, &scratch.outcome)
		key = storage.AppendCDXKey(key[:0], scratch.key, scratch.outcome.Time)
		row = storage.AppendCDX(row[:0], &scratch.cdx)
		a.Response.Release()
		if err := fn(key, row); err != nil {
			return err
		}
	}
	return ctx.Err()
}
