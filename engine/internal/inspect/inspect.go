// SPDX-License-Identifier: Apache-2.0

package inspect

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"iter"
	"time"

	"github.com/seine-crawler/seine/engine/internal/admission"
	"github.com/seine-crawler/seine/index"
	"github.com/seine-crawler/seine/storage"
	"github.com/seine-crawler/seine/storage/urlkey"
	"github.com/seine-crawler/seine/storage/warc"
)

// ErrNotFound is wrapped by the error of a look-up of what the store does not have.
var ErrNotFound = errors.New("not found")

// Env is what the room needs. Every field is required, except where it says otherwise. Verify alone needs only what
// it names.
type Env struct {
	Store *storage.Store
	Index *index.Index
	// FS holds the WARC files, Dir is their directory. SortFS holds what sorters spill; nil: the disk.
	FS     warc.FS
	Dir    string
	SortFS storage.FS
	// SegmentOf returns the number of the segment that a WARC file belongs to, by its name, Page whether a record is
	// the response to a request for a page, and HasBody whether it has the body that came. They are for Verify.
	SegmentOf func(file string) (number uint32, ok bool)
	Page      func(rec *warc.Record) bool
	HasBody   func(rec *warc.Record) bool
	Admission *admission.Admission
	Now       func() time.Time
	// Robots says what the facts of an authority imply for a URL: whether robots.txt was reachable, and why it
	// denies the URL ("": it does not). It is only called with facts of a robots.txt that was requested. It must be
	// safe for concurrent use.
	Robots func(f *storage.HostFacts, u urlkey.URL) (reachable bool, denied string)
	// Unsealed returns the durable fetches of a URL in segments that are not sealed, oldest first, and may return some
	// that have been sealed since. nil: there are none.
	Unsealed func(u urlkey.URL) ([]Unsealed, error)
	// UnsealedCaptures calls fn with rows of cdx, in no order: the captures of all URLs that Unsealed has. nil: there
	// are none.
	UnsealedCaptures func(ctx context.Context, fn func(key, value []byte) error) error
}

// Unsealed is a fetch whose segment is not sealed: what sealing will write of it.
type Unsealed struct {
	Segment uint32
	Outcome storage.FetchOutcome
	Capture storage.CDX        // of the response; zero without one
	Text    *storage.ParseText // nil: the page is not indexed, or was not parsed
}

// Inspect answers questions about one store. Safe for concurrent use.
type Inspect struct{ env Env }

// New returns an Inspect of a store.
func New(env Env) *Inspect { return &Inspect{env} }

// entry is a key of a range with its decoded value. Both are valid until the next step of the iteration.
type entry[T any] struct {
	key   []byte
	value *T
}

// scan decodes the entries of a range from from (inclusive, nil: the first) to to (exclusive, nil: the last).
func scan[T any](
	ctx context.Context, rd storage.Reader, r storage.Range, from, to []byte, decode func(value []byte, v *T) error,
) iter.Seq2[entry[T], error] {
	return func(yield func(entry[T], error) bool) {
		sc := rd.Scan(r, from, to)
		defer sc.Close()
		var v T
		for n := 0; sc.Next(); n++ {
			if n%contextEvery == 0 && ctx.Err() != nil {
				yield(entry[T]{}, ctx.Err())
				return
			}
			if err := decode(sc.Value(), &v); err != nil {
				yield(entry[T]{}, fmt.Errorf("reading %s at %q: %w", r, sc.Key(), err))
				return
			}
			if !yield(entry[T]{sc.Key(), &v}, nil) {
				return
			}
		}
		if err := sc.Err(); err != nil {
			yield(entry[T]{}, fmt.Errorf("reading %s: %w", r, err))
		}
	}
}

// prefixBounds returns the bounds of all keys that begin with a prefix. People write prefixes: they may hold any byte.
func prefixBounds(prefix []byte) (from, to []byte) {
	to = bytes.TrimRight(bytes.Clone(prefix), "\xff")
	if len(to) == 0 {
		return prefix, nil
	}
	to[len(to)-1]++
	return prefix, to
}
