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
	// Gaps are the damaged places of the old store at which something is lost that no WARC file says: settings of
	// URLs that were not fetched, scores, what is known of hosts.
	Gaps uint64 `json:"gaps"`
	// Unread: nothing of the damaged store could be read.
	Unread bool `json:"unread,omitempty"`
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
	fmt.Fprintf(&b, "repair: %s found, %d left; %s kept, %s lost and due again, %s of %s read in %.2fs",
		count(r.Found.Problems, "problem"), r.Left.Problems, count(r.Kept, "record"), count(r.Due, "page"),
		count(r.Rebuild.Pages, "page"), count(r.Rebuild.Segments, "segment"), r.Took.Seconds())
	if r.Damaged != "" {
		fmt.Fprintf(&b, "; the damaged store is in %s", r.Damaged)
	}
	if r.Unread {
		b.WriteString("\n  nothing of the damaged store could be read: injected scores, URLs that were never fetched " +
			"and deletions are lost")
	}
	if r.Gaps > 0 {
		fmt.Fprintf(&b, "\n  %s of the damaged store could not be read: what only they said is lost, such as seeds' "+
			"hosts, injected scores, URLs that were never fetched and deletions; inject the seeds again",
			count(r.Gaps, "place"))
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
// because their files do not have them. If nothing is wrong, nothing is changed; the file that it locks stays. What
// index writers have acknowledged stays known as far as it can be read: the next call that sends brings them what
// differs, and deletions of what is lost.
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
	unlock, err := o.lockRebuild()
	if err != nil {
		return r, err
	}
	defer func() { err = errors.Join(err, unlock()) }()
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
		if old, err = newOldStore(s); err != nil {
			return err
		}
	case !errors.Is(err, ErrDamaged) && !errors.Is(err, ErrNoStore):
		return err
	}
	r.Unread = old == nil && !errors.Is(err, ErrNoStore)
	made, err := o.rebuild(ctx, old)
	r.Gaps = made.gaps + made.restored.Gaps
	if old != nil && old.LogFault() != nil {
		r.Gaps++
	}
	r.Rebuild, r.Kept, r.Due = made.RebuildReport, made.restored.Records, made.restored.Due
	if err != nil {
		return err
	}
	r.Damaged, err = o.finishMove()
	return err
}
