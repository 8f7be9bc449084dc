// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/seine-crawler/seine/storage"
)

// RepairReport says what Repair found, what it did and what is left.
type RepairReport struct {
	Found   VerifyReport  `json:"found"` // before
	Rebuild RebuildReport `json:"rebuild"`
	Kept    uint64        `json:"kept"` // records of the damaged store that could be read
	Due     uint64        `json:"due"`  // pages that are lost and due again
	// Damaged is where the damaged store is kept; "" if there was none, or nothing to repair.
	Damaged string       `json:"damaged,omitempty"`
	Left    VerifyReport `json:"left"` // afterwards
	Took    Duration     `json:"seconds"`
}

// String is one line, then a line for each change of a WARC file.
func (r RepairReport) String() string {
	if r.Found.Problems == 0 {
		return fmt.Sprintf("repair: nothing is wrong in %.2fs", r.Took.Seconds())
	}
	var b strings.Builder
	fmt.Fprintf(&b, "repair: %d problems found, %d left; %d records kept, %d pages lost and due again, %d pages of %d "+
		"segments read in %.2fs",
		r.Found.Problems, r.Left.Problems, r.Kept, r.Due, r.Rebuild.Pages, r.Rebuild.Segments, r.Took.Seconds())
	if r.Damaged != "" {
		fmt.Fprintf(&b, "; the damaged store is in %s", r.Damaged)
	}
	for i, c := range r.Rebuild.Changed {
		if i == problemsShown {
			fmt.Fprintf(&b, "\n  and %d more; --json lists them", len(r.Rebuild.Changed)-i)
			break
		}
		b.WriteString("\n  " + c)
	}
	return b.String()
}

// Repair makes the best of a damaged directory. It cuts out of the WARC files what is not sound, makes a new store of
// them as Rebuild does, brings in what can be read of the old store, and verifies the outcome. Pages whose newest
// record is lost are due again; an older version stays if there is one. So are all pages of a crawl with NoContent,
// because their files do not have them. If nothing is wrong, nothing is changed.
//
// The options should be those of the crawl. The damaged store is kept beside the new one: remove it when all is well.
// A crash during Repair leaves the old store, or the new one, and Repair again finishes the work; the engine does not
// open in between. It takes as long as parsing, updating and indexing all pages.
//
// Errors: ErrLocked, ErrFormat, ErrNoStore if there are no WARC files either; those of the context and of the machine.
func Repair(ctx context.Context, o Options) (r RepairReport, err error) {
	o = o.withDefaults()
	if err := o.validate(); err != nil {
		return r, fmt.Errorf("repairing data directory %q: %w", o.Dir, err)
	}
	start := o.Now()
	defer func() {
		r.Took = Duration(o.Now().Sub(start))
		err = advised(wrapf(err, "repairing %s", o.Dir))
	}()
	if _, err := o.finishMove(); err != nil {
		return r, err
	}
	if r.Found, err = Verify(ctx, o); err != nil || r.Found.Problems == 0 {
		return r, err
	}
	if err := o.renew(ctx, &r); err != nil {
		return r, err
	}
	r.Left, err = Verify(ctx, o)
	return r, err
}

// renew makes the new store, while it keeps others out of the old one.
func (o Options) renew(ctx context.Context, r *RepairReport) (err error) {
	var old *oldStore // nil: nothing of it can be read
	s, err := storage.Open(filepath.Join(o.Dir, storeName), storage.Options{FS: o.FS, Now: o.Now, Salvage: true})
	switch {
	case err == nil:
		defer func() { err = errors.Join(err, s.Close()) }()
		old = newOldStore(s)
	case !errors.Is(err, ErrDamaged) && !errors.Is(err, ErrNoStore):
		return err
	}
	made, err := o.rebuild(ctx, old)
	r.Rebuild, r.Kept, r.Due = made.RebuildReport, made.restored.Records, made.restored.Due
	if err != nil {
		return err
	}
	r.Damaged, err = o.finishMove()
	return err
}
