// SPDX-License-Identifier: Apache-2.0

package index

import (
	"errors"
	"fmt"

	"github.com/RoaringBitmap/roaring/v2"

	"github.com/seine-crawler/seine/storage"
	"github.com/seine-crawler/seine/storage/urlkey"
)

// BuilderPart takes a part of a Builder's documents and inverts them on the goroutine of its caller, one at a time. See
// Builder.Parts.
type BuilderPart struct {
	intake
	to *segmentBuilder
}

// Add is Builder.Add.
func (p *BuilderPart) Add(d *Document) error {
	if err := d.Check(); err != nil {
		return err
	}
	if err := p.takes(d.Key); err != nil {
		return err
	}
	return p.to.add(d)
}

// Delete is Builder.Delete.
func (p *BuilderPart) Delete(key urlkey.Key) error { return p.deletes(key) }

// Finish writes what is left of the part, on the goroutine of its caller. Builder.Finish comes after that of all parts.
func (p *BuilderPart) Finish() error { return p.to.write() }

// Parts returns n parts, at most Options.Builders of them, for goroutines that make documents and invert them side by
// side. Each has an equal share of the memory, and makes index segments of its own. They take the place of Add and
// Delete. A URL comes to one part only, and those of each come in key order. Call Finish of each part, then that of the
// Builder; Abort only once their goroutines have ended.
func (b *Builder) Parts(n int) ([]*BuilderPart, error) {
	if b.err != nil {
		return nil, b.err
	}
	for i := range max(min(n, b.x.o.Builders), 1) {
		in, err := newIntake(b)
		if err != nil {
			return nil, err
		}
		b.parts = append(b.parts, &BuilderPart{in, b.newSegmentBuilder(i)})
	}
	return b.parts, nil
}

// intake takes the keys of documents and deletions in order, and marks earlier versions as deleted. It belongs to one
// goroutine at a time.
type intake struct {
	x         *Index
	directory *locatedSorter
	report    BuildReport
	deleted   map[uint32]*roaring.Bitmap // by index segment
	last      urlkey.Key
	found     *storage.Scanner // of Located, moving with the keys
	moved     *moved           // what Located may say of merged index segments
}

func newIntake(b *Builder) (intake, error) {
	moved, err := newMoved(b.x.s)
	if err != nil {
		return intake{}, err
	}
	return intake{
		x: b.x, directory: &b.located, deleted: map[uint32]*roaring.Bitmap{}, moved: moved,
		found: b.x.s.Scan(Located(), nil, nil),
	}, nil
}

// order checks that keys come in order, and marks an earlier version of the document as deleted.
func (in *intake) order(key urlkey.Key) (known bool, err error) {
	if key <= in.last {
		return false, fmt.Errorf("BUG: index: document %q after %q", key, in.last)
	}
	in.last = key
	if !in.found.SeekGE([]byte(key)) || string(in.found.Key()) != string(key) {
		return false, in.found.Err()
	}
	at, err := DecodeLocated(in.found.Value())
	if err == nil {
		at, err = in.moved.follow(string(key), at)
	}
	if err != nil {
		return false, err
	}
	bits := in.deleted[at.Segment]
	if bits == nil {
		if bits, err = readDeleted(in.x.s, at.Segment); err != nil {
			return false, err
		}
		if bits == nil {
			bits = roaring.New()
		}
		in.deleted[at.Segment] = bits
	}
	bits.Add(at.Doc)
	return true, nil
}

// takes counts a document that is about to be added.
func (in *intake) takes(key urlkey.Key) error {
	known, err := in.order(key)
	if err != nil {
		return err
	}
	in.report.Added++
	if known {
		in.report.Replaced++
	}
	return nil
}

func (in *intake) deletes(key urlkey.Key) error {
	known, err := in.order(key)
	if err != nil || !known {
		return err
	}
	in.report.Deleted++
	return in.directory.add(string(key), nil)
}

// add adds what another one took.
func (in *intake) add(other *intake) {
	in.report.Added += other.report.Added
	in.report.Replaced += other.report.Replaced
	in.report.Deleted += other.report.Deleted
	for number, bits := range other.deleted {
		if in.deleted[number] == nil {
			in.deleted[number] = bits
		} else {
			in.deleted[number].Or(bits)
		}
	}
}

func (in *intake) close() error {
	if in.found == nil {
		return nil
	}
	return errors.Join(in.found.Err(), in.found.Close())
}
