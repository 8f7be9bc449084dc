// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"

	"github.com/seine-crawler/seine/engine/internal/admission"
	"github.com/seine-crawler/seine/engine/internal/phases"
	"github.com/seine-crawler/seine/storage"
	"github.com/seine-crawler/seine/storage/urlkey"
)

// SplitDBOptions say which part of a crawl Upkeep.SplitDB takes where.
type SplitDBOptions struct {
	// Dir is the data directory that is made of the part. It must not have a store.
	Dir string
	// Part is the number of the part, from 1 on, if crawldb is cut into Parts of about equal numbers of records. Cuts
	// are between registered domains, or between hosts where a domain has more records than a part.
	Part, Parts int
	// Domain takes a registered domain in place of such a part. Where crawldb has nothing of it yet, the new directory
	// has no records; with Move it is refused then.
	Domain string
	// Move takes the part out of this directory once the other one has it.
	Move bool
}

// SplitDBReport says what Upkeep.SplitDB did.
type SplitDBReport struct {
	Part     string   `json:"part"`     // which keys it is
	Records  uint64   `json:"records"`  // of crawldb
	Links    uint64   `json:"links"`    // to URLs of the part
	LeftOut  uint64   `json:"left_out"` // targets with more links than a row can have, which have none there
	Withheld uint64   `json:"withheld"` // targets of links that the scope or a filter refused
	Moved    bool     `json:"moved"`    // the part has left this directory
	Captures uint64   `json:"captures"` // responses of it that stay in WARC files here until Purge
	Took     Duration `json:"seconds"`

	Writers []SendReport `json:"writers,omitempty"`
}

func (r SplitDBReport) String() string {
	done := "copied"
	if r.Moved {
		done = "moved"
	}
	s := fmt.Sprintf("splitdb: %s: %d records, %d links, %d withheld URLs %s in %.2fs", r.Part, r.Records, r.Links,
		r.Withheld, done, r.Took.Seconds())
	if r.LeftOut > 0 {
		s += fmt.Sprintf("; %d pages have too many links, and none there", r.LeftOut)
	}
	if r.Captures > 0 {
		s += fmt.Sprintf("; %d responses stay in the WARC files here until `seine purge`", r.Captures)
	}
	return s + sendLines(r.Writers)
}

// SplitDB makes a new data directory of a part of this crawl: the counterpart of MergeDB. The new directory has, of the
// URLs of the part, the records of crawldb with what is due, of their hosts what hostdb knows, the links to them,
// withheld links, and what is kept of the crawl and concerns them: the seeds of the part's domains, which are the scope
// (also of a domain that is cut), blocked hosts, closed prefixes, and the settings of the store. A crawl there goes on
// where this one was. As with MergeDB, contents stay: segments, WARC files and index. What is known there has neither
// signature nor validators, so the next fetch of a page brings its content.
//
// A part is a run of neighbouring keys. The same crawldb always has the same parts, which together have every URL once.
//
// With Move, the part then leaves this directory in one ingestion, as after Delete: crawldb, hostdb, parse records,
// captures and the index have nothing of it, and responses stay in the WARC files until Purge. Links between it and the
// pages here stay in linkdb. Until MergeDB brings the other directory back, its URLs are refused here (the reason is
// "split"), whatever finds them, and links to them are withheld. When a crash ends SplitDB, both directories have the
// part, or only one has it; called again, it does the rest.
//
// Errors: ErrBusy while a crawl, or other work that runs alone, is running; ErrNoPart, also if Dir has a store, unless
// it has this part and Move is set: then it is brought up to date; with Move, ErrNoPart for a Domain without records,
// ErrWrongState while a segment is fetched and not linked yet, and ErrNotSent of index writers.
func (u *Upkeep) SplitDB(ctx context.Context, o SplitDBOptions) (SplitDBReport, error) {
	leave, err := u.g.begin(ctx, "splitdb", o.Move)
	if err != nil {
		return SplitDBReport{}, err
	}
	defer leave()
	if !u.running.TryLock() {
		return SplitDBReport{}, wrapf(ErrBusy, "splitdb")
	}
	defer u.running.Unlock()
	defer u.w.takeMemory()()
	inner, cancel := u.g.within(ctx)
	defer cancel()
	r, err := u.w.splitDB(inner, o)
	return r, u.g.ended(ctx, wrapf(err, "splitdb"))
}

func (w *work) splitDB(ctx context.Context, o SplitDBOptions) (r SplitDBReport, err error) {
	start := w.now()
	if _, _, err := w.readmit(ctx); err != nil { // depths that fell are told while the links of the pages are here
		return r, err
	}
	if _, err := w.mergeLinks(ctx, linkRowsSettled); err != nil { // links that pages dropped are not taken along
		return r, err
	}
	gone, err := w.splitNow(ctx, o, &r)
	if err != nil {
		return r, err
	}
	if r.Moved {
		if err := w.afterMove(ctx, gone); err != nil {
			return r, err
		}
		if r.Writers, err = w.sendAll(ctx, nil, sendOptions{}); err != nil {
			return r, err
		}
	}
	r.Took = w.took(start)
	w.done(r)
	return r, nil
}

// afterMove is afterDelete, for what has left. If an earlier call moved it, it may not have come to this: all pages are
// compared, and all documents looked at.
func (w *work) afterMove(ctx context.Context, gone phases.Excised) error {
	if gone.Records == 0 {
		_, err := w.dedup(ctx, DedupOptions{})
		if err == nil && !w.o.NoIndex {
			_, err = w.buildIndex(ctx, IndexOptions{Segments: []uint32{}, Refresh: true})
		}
		return err
	}
	stale := w.sorter(storage.FoldLast)
	defer stale.Close()
	return w.afterDelete(ctx, &DeleteReport{}, gone.Signatures, stale)
}

// splitNow makes the other directory and takes the part out of this one, if it is to be moved. No other phase changes
// what is copied meanwhile.
func (w *work) splitNow(ctx context.Context, o SplitDBOptions, r *SplitDBReport) (gone phases.Excised, err error) {
	defer w.crawldbMu.LockWith(w.indexMu)()
	if o.Move {
		if err := w.requireLinked(0); err != nil {
			return gone, err
		}
	}
	made := w.partOptions(o.Dir)
	part, done, err := w.partOf(ctx, &o, made)
	if r.Part = part.String(); err != nil || done {
		r.Moved = done
		return gone, err
	}
	if err := w.makePart(ctx, made, part, r); err != nil {
		return gone, err
	}
	if !o.Move {
		return gone, nil
	}
	gone, err = w.phases.Excise(ctx, part)
	if r.Captures = gone.Captures; err == nil {
		r.Moved = true
		err = w.index.Refresh()
	}
	return gone, err
}

// partOptions are those of the directory of a part: half of the memory is for it, while this directory does nothing
// else.
func (w *work) partOptions(dir string) Options {
	return Options{
		Dir: dir, FS: w.o.FS, Now: w.o.Now, OnFatal: w.o.OnFatal, Processors: w.o.Processors, NoIndex: true,
		Memory: max(memoryMin, w.o.Memory/2), Events: EventListener{Warning: w.o.Events.Warning},
	}.withDefaults()
}

// partOf returns the part that the options name. done says that an earlier call has moved what the directory has.
func (w *work) partOf(ctx context.Context, o *SplitDBOptions, made Options) (part urlkey.Part, done bool, err error) {
	switch {
	case o.Domain != "":
		part, err = phases.DomainPart(o.Domain)
	case o.Parts < 1 || o.Part < 1 || o.Part > o.Parts || o.Parts > partsMax:
		err = phases.WithText(ErrNoPart, "part %d of %d: want one from 1 on, of at most %d", o.Part, o.Parts, partsMax)
	}
	if err != nil {
		return part, false, err
	}
	own, err := made.ownParts(w)
	if err == nil && len(own) > 0 {
		moved, err := admission.SplitParts(w.store)
		switch {
		case err != nil:
			return part, false, err
		case !o.Move:
			return part, false, phases.WithText(ErrNoPart, "%s has a store: name a new directory", o.Dir)
		case slices.Contains(moved, own[0]) && (o.Domain == "" || part == own[0]):
			return own[0], true, nil
		}
	}
	switch {
	case err != nil:
	case o.Domain == "":
		part, err = w.phases.Part(ctx, o.Part, o.Parts)
	case o.Move:
		err = w.requireRecords(part, o.Domain)
	}
	switch {
	case err != nil:
	case part.IsEmpty():
		err = phases.WithText(ErrNoPart, "part %d of %d is empty: there are too few domains and hosts", o.Part, o.Parts)
	case len(own) > 0 && own[0] != part:
		err = phases.WithText(ErrNoPart, "%s has another part (%v), not %v: name a new directory", o.Dir, own[0], part)
	}
	return part, false, err
}

// requireRecords refuses to move a domain of which crawldb has no record: one that is misspelled, or was moved before,
// would be refused here from then on, or be in two directories.
func (w *work) requireRecords(part urlkey.Part, domain string) error {
	some, err := w.phases.HasRecords(part)
	if err == nil && !some {
		err = phases.WithText(ErrNoPart, "crawldb has no record of %s: there is nothing to move", domain)
	}
	return err
}

// ownParts are the parts that a directory was made of; none: it has no store. One that has another store is refused.
func (o Options) ownParts(w *work) ([]urlkey.Part, error) {
	if w.o.isOwn(o.Dir) {
		return nil, phases.WithText(ErrNoPart, "%s is the directory that is to be split: name a new one", o.Dir)
	}
	if !o.hasStore() {
		some, err := o.hasWARC()
		if err == nil && (some || exists(storage.NewWARCFS(o.FS), filepath.Join(o.Dir, rebuiltName))) {
			err = phases.WithText(ErrNoPart, "%s is the directory of a crawl without its store: name a new one", o.Dir)
		}
		return nil, err
	}
	o.ReadOnly, o.MustExist = true, true
	store, err := o.openStore(w.warn)
	if err != nil {
		return nil, err
	}
	own, err := admission.OwnParts(store)
	if err == nil && len(own) == 0 {
		err = phases.WithText(ErrNoPart, "%s has a store: name a new directory", o.Dir)
	}
	return own, errors.Join(err, store.Close())
}

// makePart makes the directory of a part, or brings it up to date if it has its store. A new store gets its name when
// it is complete.
func (w *work) makePart(ctx context.Context, made Options, part urlkey.Part, r *SplitDBReport) error {
	if made.hasStore() {
		return w.fillPart(ctx, made, part, r)
	}
	store := made.storeDir()
	made.rebuilding = true
	err := storage.Clear(made.FS, made.storeDir())
	if err == nil {
		err = w.beginPart(made, part)
	}
	if err == nil {
		err = w.fillPart(ctx, made, part, r)
	}
	if err == nil {
		err = storage.Move(made.FS, made.storeDir(), store)
	}
	return err
}

// beginPart writes the rows of meta that the part has, so that they are known when the directory is opened.
func (w *work) beginPart(made Options, part urlkey.Part) (err error) {
	settings, err := w.store.Settings()
	if err != nil {
		return err
	}
	store, err := made.openStore(w.warn)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	if err := store.PutSettings(settings); err != nil {
		return err
	}
	rows := w.sorter(storage.FoldLast)
	defer rows.Close()
	if err := admission.PartRows(w.store, part, rows.Add); err != nil {
		return err
	}
	if ranked, err := isRanked(w.store); err != nil {
		return err
	} else if ranked {
		if err := rows.Add([]byte(storage.MetaLinkRank), nil); err != nil {
			return err
		}
	}
	run, err := rows.Sort()
	if err != nil {
		return err
	}
	defer run.Close()
	ing := store.NewIngestion()
	defer ing.Abort()
	for run.Next() {
		if err := ing.Table(storage.Meta()).Set(run.Key(), run.Value()); err != nil {
			return err
		}
	}
	return errors.Join(run.Err(), ing.Commit())
}

// fillPart brings records and links of the part into its directory.
func (w *work) fillPart(ctx context.Context, made Options, part urlkey.Part, r *SplitDBReport) (err error) {
	to, err := openWork(made)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, to.close()) }()
	from := phases.ImportOptions{Part: part}
	records, err := to.phases.ImportRecords(ctx, w.store, from)
	r.Records, r.Withheld = records.New+records.Newer, records.Withheld
	if err != nil {
		return err
	}
	links, err := to.phases.ImportLinks(ctx, w.store, from)
	r.Links, r.LeftOut = links.Links, links.LeftOut
	return err
}
