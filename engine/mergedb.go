// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/seine-crawler/seine/engine/internal/admission"
	"github.com/seine-crawler/seine/engine/internal/phases"
	"github.com/seine-crawler/seine/storage"
)

// MergeDBOptions say what Upkeep.MergeDB merges.
type MergeDBOptions struct {
	// Dirs are data directories whose records are added. They must not be in use.
	Dirs []string
	// NoFilter takes all their records; without it, normalizers and filters apply.
	NoFilter bool
}

// MergeDBReport says what Upkeep.MergeDB did.
type MergeDBReport struct {
	Dirs    int      `json:"dirs"`
	New     uint64   `json:"new"`     // URLs that crawldb did not have
	Newer   uint64   `json:"newer"`   // known URLs that another directory fetched later
	Refused uint64   `json:"refused"` // URLs that a filter refuses
	Took    Duration `json:"seconds"`
}

func (r MergeDBReport) String() string {
	return fmt.Sprintf("mergedb: %d new URLs of %d directories, %d that were fetched later there, %d refused in %.2fs",
		r.New, r.Dirs, r.Newer, r.Refused, r.Took.Seconds())
}

// MergeDB adds the records of crawldb of other data directories to this one (Nutch: mergedb). Of a URL that both have,
// the record that was fetched last counts; metadata of both is joined. Contents stay where they are: a page that only
// another directory has fetched is known here with its status and when it is due. Seeds widen the scope here. What
// hostdb knows of the hosts is joined too, as are withheld links. A part that SplitDB moved to one of the directories
// is at home here again. A page that is gone there since leaves the index; its copies come back with Dedup and Index,
// or at the end of the next crawl, which also tell index writers.
//
// Each directory is one ingestion, and doing it again changes nothing.
//
// Errors: ErrBusy while a crawl, or other work that runs alone, is running; ErrNoStore if one of the directories has
// none, or is this one, before anything is added; ErrLocked and others of the other directories.
func (u *Upkeep) MergeDB(ctx context.Context, o MergeDBOptions) (MergeDBReport, error) {
	leave, err := u.g.begin(ctx, "mergedb", true)
	if err != nil {
		return MergeDBReport{}, err
	}
	defer leave()
	if !u.running.TryLock() {
		return MergeDBReport{}, wrapf(ErrBusy, "mergedb")
	}
	defer u.running.Unlock()
	inner, cancel := u.g.within(ctx)
	defer cancel()
	r, err := u.w.mergeDB(inner, o)
	return r, u.g.ended(ctx, err)
}

func (w *work) mergeDB(ctx context.Context, o MergeDBOptions) (r MergeDBReport, err error) {
	start := w.now()
	if err := w.o.checkOthers(o.Dirs, "records"); err != nil {
		return r, fmt.Errorf("mergedb: %w", err)
	}
	for _, dir := range o.Dirs {
		if err := w.importRecords(ctx, dir, o.NoFilter, &r); err != nil {
			return r, fmt.Errorf("mergedb: %s: %w", dir, err)
		}
		r.Dirs++
	}
	if _, _, err := w.readmit(ctx); err != nil {
		return r, fmt.Errorf("mergedb: %w", err)
	}
	r.Took = w.took(start)
	w.done(r)
	return r, nil
}

// checkOthers returns an error if what some directories have cannot be added to that of o, before any of it is.
func (o *Options) checkOthers(dirs []string, what string) error {
	for _, dir := range dirs {
		other := Options{Dir: dir, FS: o.FS}.withDefaults()
		switch {
		case o.isOwn(dir):
			return fmt.Errorf("%s: %w to add: it is the directory that its %s would be added to", dir, ErrNoStore, what)
		case !other.hasStore():
			return fmt.Errorf("%w in %s: name the data directory of a crawl", ErrNoStore, dir)
		}
	}
	return nil
}

// isOwn reports whether a name is one of the own data directory: on disk it may have several.
func (o *Options) isOwn(dir string) bool {
	if o.FS != nil {
		return filepath.Clean(dir) == filepath.Clean(o.Dir)
	}
	own, err := os.Stat(o.Dir)
	other, otherErr := os.Stat(dir)
	return err == nil && otherErr == nil && os.SameFile(own, other)
}

// openOther opens the store of another data directory, to read it.
func (w *work) openOther(dir string) (*storage.Store, error) {
	other := Options{Dir: dir, FS: w.o.FS, Memory: memoryMin, ReadOnly: true, MustExist: true}.withDefaults()
	return other.openStore(w.warn)
}

// importRecords adds the records of one directory.
func (w *work) importRecords(ctx context.Context, dir string, all bool, r *MergeDBReport) (err error) {
	store, err := w.openOther(dir)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	from := phases.ImportOptions{}
	if from.Joins, err = admission.OwnParts(store); err != nil {
		return err
	}
	if from.MovedOn, err = admission.SplitParts(store); err != nil {
		return err
	}
	if !all {
		from.Accept = w.accept
	}
	defer w.crawldbMu.LockWith(w.indexMu)()
	in, err := w.phases.ImportRecords(ctx, store, from)
	if err == nil {
		err = w.index.Refresh()
	}
	r.New, r.Newer, r.Refused = r.New+in.New, r.Newer+in.Newer, r.Refused+in.Refused
	return err
}
