// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"

	"github.com/seine-crawler/seine/engine/internal/phases"
	"github.com/seine-crawler/seine/engine/internal/segment"
	"github.com/seine-crawler/seine/storage"
	"github.com/seine-crawler/seine/storage/warc"
)

// RebuildReport says what a store was made of.
type RebuildReport struct {
	Segments uint64   `json:"segments"`
	Pages    uint64   `json:"pages"` // outcomes of fetches, failures included
	Links    uint64   `json:"links"`
	Seeds    uint64   `json:"seeds"`   // URLs that were fetched and that no earlier page led to
	Changed  []string `json:"changed"` // WARC files that were not sound, and what became of them
	Took     Duration `json:"seconds"`
	// Earlier: a Rebuild that was killed had made the store already, and this one put it in its place. The numbers are
	// those of nothing.
	Earlier bool `json:"earlier,omitempty"`
}

// String is one line.
func (r RebuildReport) String() string {
	if r.Earlier {
		return "rebuild: the store that an earlier rebuild had made is in its place now"
	}
	return fmt.Sprintf("rebuild: %s, %s, %s, %s; %s of WARC files in %.2fs", count(r.Segments, "segment"),
		count(r.Pages, "page"), count(r.Links, "link"), count(r.Seeds, "seed"),
		count(uint64(len(r.Changed)), "change"), r.Took.Seconds())
}

// Rebuild makes the store of a directory that has none, or an empty one, of its WARC files alone: crawldb with its
// statuses, schedules and signatures, linkdb and the index. It takes the segments through all phases again, in order,
// with the options that it is given; they should be those of the crawl. What was not written completely, or is damaged,
// is cut out of the files.
//
// The files do not say which URLs were injected. One that was fetched, though no page before it led to it, must have
// been, and counts as a seed with the score 1. Lost are seeds that were never fetched, scores and intervals that seeds
// were given, what robots.txt files say and at which addresses hosts are (both are asked again), fetchlists that nobody
// began to fetch, what was recorded of hosts' pauses, what other directories brought, and deletions before the last
// purge. Pages that were stored with NoContent are not known to have been fetched. URLs that were not fetched are due
// from now on. A segment was created when its first record was written and sealed when its last one was; no segment was
// made by generate, and those into which nothing was fetched are gone. All else is shown as before. Index writers get
// every document again, but no deletion of what the other engine has beyond these: only the store said what was sent.
//
// A crash during Rebuild leaves the directory without a store, and Rebuild begins anew, or ends it. Errors: ErrLocked,
// also while another Rebuild or Repair runs; an error if there is a store; those of the machine.
func Rebuild(ctx context.Context, o Options) (_ RebuildReport, err error) {
	o = o.withDefaults()
	start := o.Now()
	if err := o.validate(); err != nil {
		return RebuildReport{}, fmt.Errorf("rebuilding data directory %q: %w", o.Dir, err)
	}
	if err := o.hasFiles(); err != nil { // before the lock, which would leave its file where no crawl is
		return RebuildReport{}, fmt.Errorf("rebuilding %s: %w", o.Dir, err)
	}
	unlock, err := o.lockRebuild()
	if err != nil {
		return RebuildReport{}, advised(wrapf(err, "rebuilding %s", o.Dir))
	}
	defer func() { err = errors.Join(err, unlock()) }()
	had := o.hasStore()
	if _, err := o.finishMove(); err != nil {
		return RebuildReport{}, advised(err)
	}
	if !had && o.hasStore() {
		return RebuildReport{Earlier: true, Took: Duration(o.Now().Sub(start))}, nil
	}
	if err := o.hasNoStore(); err != nil {
		return RebuildReport{}, fmt.Errorf("rebuilding %s: %w", o.Dir, err)
	}
	r, err := o.rebuild(ctx, nil)
	if err == nil {
		_, err = o.finishMove()
	}
	return r.RebuildReport, advised(wrapf(err, "rebuilding %s", o.Dir))
}

// hasNoStore returns an error if there is a store.
func (o *Options) hasNoStore() error {
	if !o.hasStore() {
		return nil
	}
	s, err := storage.Open(filepath.Join(o.Dir, storeName), storage.Options{FS: o.FS, Now: o.Now, Salvage: true})
	if errors.Is(err, ErrLocked) {
		return err
	}
	if err == nil {
		err = s.Close()
	}
	return errors.Join(fmt.Errorf("there is a store in %s: repair that with \"seine verify --repair\", which "+
		"keeps what can be read of it; or move it away first", filepath.Join(o.Dir, storeName)), err)
}

// hasFiles returns an error unless there are WARC files or there is a store, which may be complete and not in place.
func (o *Options) hasFiles() error {
	if o.hasStore() || exists(storage.NewWARCFS(o.FS), filepath.Join(o.Dir, rebuiltName)) {
		return nil
	}
	if some, err := o.hasWARC(); err != nil || some {
		return err
	}
	return fmt.Errorf("%w: there are no WARC files of a crawl in %s: name the data directory of one", ErrNoStore,
		o.warcDir())
}

// rebuilt is a RebuildReport with what was taken over from an old store.
type rebuilt struct {
	RebuildReport
	restored phases.Restored
	gaps     uint64 // damaged places in other ranges of the old store
}

// rebuild makes a store of the WARC files, and of what can be read of the old one unless that is nil. In the end it
// gives the store the name rebuiltName, which says that it is complete.
func (o Options) rebuild(ctx context.Context, old *oldStore) (r rebuilt, err error) {
	start := o.Now()
	if o.Events.RebuildStarts != nil {
		o.Events.RebuildStarts()
	}
	o.rebuilding, o.MustExist, o.ReadOnly = true, false, false
	if err := storage.Clear(o.FS, o.storeDir()); err != nil {
		return r, err
	}
	if r.Changed, err = o.mendFiles(ctx, old); err != nil {
		return r, err
	}
	if old != nil {
		if r.gaps, err = o.inherit(old); err != nil {
			return r, err
		}
	}
	events := o.Events
	o.Events = EventListener{Warning: events.Warning}
	w, err := openWork(o)
	if err != nil {
		return r, err
	}
	err = w.replay(ctx, old, &r)
	if err = errors.Join(err, w.close()); err != nil {
		return r, err
	}
	if err := storage.Move(o.FS, o.storeDir(), filepath.Join(o.Dir, rebuiltName)); err != nil {
		return r, err
	}
	r.Took = Duration(o.Now().Sub(start))
	return r, nil
}

// replay takes all segments through all phases. The records of an old store say what its updatedb made of the segments
// that it had updated. So they come in after those, and before the others.
func (w *work) replay(ctx context.Context, old *oldStore, r *rebuilt) error {
	list, err := w.store.SegmentList()
	if err != nil {
		return err
	}
	for _, seg := range list {
		if old == nil || old.hasUpdated(seg.Number) {
			if err := w.replaySegment(ctx, seg.Number, old, old == nil, r); err != nil {
				return err
			}
		}
	}
	if old != nil {
		if r.restored, err = w.phases.Restore(ctx, old.Store, old.gaps == 0); err != nil {
			return err
		}
		r.gaps += old.gaps
		if err := w.inheritRows(ctx, old, r); err != nil {
			return err
		}
	}
	for _, seg := range list {
		if old != nil && !old.hasUpdated(seg.Number) {
			if err := w.replaySegment(ctx, seg.Number, old, false, r); err != nil {
				return err
			}
		}
	}
	if err := w.inheritFetchlists(old, r); err != nil {
		return err
	}
	if _, _, err := w.readmit(ctx); err != nil { // pages whose depth fell; some of their records may be lost
		return err
	}
	if err := w.settle(ctx, &hooks{}); err != nil || w.o.NoIndex {
		return err
	}
	_, err = w.mergeLinks(ctx, linkRowsSettled) // documents of early segments lose what pages dropped in later ones
	if err == nil {
		_, err = w.settleIndex(ctx)
	}
	return err
}

// inheritRows copies what is beside records and not in WARC files either: pages whose depth fell, what is known of
// hosts and what they have cost, links of other directories, and what index writers were sent.
func (w *work) inheritRows(ctx context.Context, old *oldStore, r *rebuilt) error {
	gaps, err := w.phases.RestoreLinks(ctx, old.Store)
	r.gaps += gaps
	if err == nil {
		err = w.phases.RestoreCosts(ctx, old.Store)
	}
	for _, rows := range []struct {
		of    storage.Range
		check func(key, value []byte) error
	}{
		{storage.LoweredRange(), uncheckedRow}, {storage.HostFactsRange(), checkFacts},
		{storage.WithheldRange(), w.checkForeign},
	} {
		if err == nil {
			gaps, err = inheritRange(w.store, old.Store, rows.of, rows.check)
			r.gaps += gaps
		}
	}
	if err != nil {
		return err
	}
	return w.inheritSent(old, r)
}

// inheritFetchlists copies the fetchlists that nobody has begun to fetch.
func (w *work) inheritFetchlists(old *oldStore, r *rebuilt) error {
	if old == nil {
		return nil
	}
	for _, seg := range old.lists {
		_, begun, err := w.store.Segment(seg.Number)
		if err == nil && !begun {
			err = w.store.PutSegment(seg)
			if err == nil {
				var gaps uint64
				gaps, err = inheritRange(w.store, old.Store, storage.Fetchlist(seg.Number), uncheckedRow)
				r.gaps += gaps
			}
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// replaySegment takes a segment up to linked. With inferSeeds, pages that no page before links to count as seeds. An
// old store knows the seeds; pages whose referrers are lost must not become some, for a seed widens the scope.
func (w *work) replaySegment(
	ctx context.Context, number uint32, old *oldStore, inferSeeds bool, r *rebuilt,
) error {
	w.again = old.again(number)
	sealed, err := w.seal(ctx, number)
	if err != nil {
		return err
	}
	var seeds []string
	if inferSeeds {
		seeds, err = w.phases.Unknown(ctx, number)
	}
	if err == nil && len(seeds) > 0 {
		_, _, err = w.inject(ctx, InjectOptions{URLs: seeds})
	}
	if err == nil {
		_, _, err = w.updateDB(ctx, number)
	}
	if err == nil {
		_, err = w.invertLinks(ctx, number)
	}
	r.Segments++
	r.Pages += sealed.Pages
	r.Links += sealed.Links
	r.Seeds += uint64(len(seeds))
	return err
}

// mendFiles makes every WARC file sound. Where an old store says which files a sealed segment has, they lose what
// follows their ends, and others are given another name; so are files that are no WARC files.
func (o *Options) mendFiles(ctx context.Context, old *oldStore) (changed []string, err error) {
	fsys := storage.NewWARCFS(o.FS)
	if err := fsys.MkdirAll(o.warcDir()); err != nil {
		return nil, err
	}
	names, err := fsys.List(o.warcDir())
	if err != nil {
		return nil, err
	}
	slices.Sort(names)
	taken := slices.Clone(names)
	for _, name := range names {
		if err := ctx.Err(); err != nil {
			return changed, err
		}
		number, ok := segment.NumberOf(name)
		if !ok {
			continue
		}
		path := filepath.Join(o.warcDir(), name)
		if stray, err := old.stray(fsys, path, number, names); err != nil {
			return changed, err
		} else if stray {
			if err := o.setAside(path, "it belongs to no segment", &changed); err != nil {
				return changed, err
			}
			continue
		}
		size, err := fsys.Size(path)
		if err != nil {
			return changed, err
		}
		known := old.size(name)
		if junk, err := old.isJunk(fsys, path, known, size); err != nil {
			return changed, err
		} else if junk {
			if err := fsys.Truncate(path, known); err != nil {
				return changed, err
			}
			changed = append(changed, fmt.Sprintf("%s: %d bytes after its end were cut off", path, size-known))
			size = known
		}
		made, err := old.split(fsys, path, size, taken)
		if err != nil {
			return changed, err
		}
		taken = append(taken, made...)
		if err := o.mendFile(fsys, path, &changed); err != nil {
			return changed, err
		}
		for _, own := range made {
			changed = append(changed, fmt.Sprintf("%s: a part of it is in %s now, because the record that should say "+
				"whose it is cannot be read", path, own))
			if err := o.mendFile(fsys, filepath.Join(o.warcDir(), own), &changed); err != nil {
				return changed, err
			}
		}
	}
	return changed, nil
}

// mendFile makes a WARC file sound, or gives one that is none another name.
func (o *Options) mendFile(fsys warc.FS, path string, changed *[]string) error {
	_, _, faults, err := warc.Mend(fsys, path)
	var strange *warc.CorruptError
	if errors.As(err, &strange) {
		err = o.setAside(path, "it is no WARC file", changed)
	}
	if err != nil {
		return err
	}
	for _, f := range faults {
		*changed = append(*changed, fmt.Sprintf("%s: %v", path, f))
	}
	return nil
}

// setAside gives a file another name.
func (o *Options) setAside(path, why string, changed *[]string) error {
	name := freeName(storage.NewWARCFS(o.FS), path+".damaged")
	*changed = append(*changed, fmt.Sprintf("%s: %s: it is %s now", path, why, name))
	return storage.Move(o.FS, path, name)
}

// inherit begins the new store with what no WARC file says: the settings of the directory, the seeds' hosts and what
// else is in meta, and when segments began.
func (o *Options) inherit(old *oldStore) (gaps uint64, err error) {
	if signature, ok, err := old.Setting(settingSignature); err == nil && ok {
		o.Signature = signature
	} else if err == nil {
		o.Signature = signatureText
	}
	made, err := o.openStore((&work{o: *o}).warn)
	if err != nil {
		return 0, err
	}
	gaps, err = inheritRange(made, old.Store, storage.Meta(), storage.CheckMeta)
	if err == nil {
		err = o.inheritSegments(made, old)
	}
	return gaps, errors.Join(err, made.Close())
}

// inheritSegments makes the segments that the old store had, as they were when they began.
func (o *Options) inheritSegments(made *storage.Store, old *oldStore) error {
	names, err := storage.NewWARCFS(o.FS).List(o.warcDir())
	if err != nil {
		return err
	}
	slices.Sort(names)
	for _, seg := range old.segments(names) {
		if err := made.PutSegment(seg); err != nil {
			return err
		}
	}
	return nil
}

// inheritSent copies what index writers have acknowledged, so that they get only what differs, and deletions of what is
// lost. Rows of a writer whose name is lost are not copied: another writer may get its number.
func (w *work) inheritSent(old *oldStore, r *rebuilt) error {
	numbers, err := w.store.SentNumbers() // of the old store: inherit copied them
	for _, n := range numbers {
		if err == nil {
			var gaps uint64
			gaps, err = inheritRange(w.store, old.Store, storage.SentRange(n), storage.CheckSent)
			r.gaps += gaps
		}
	}
	return err
}

// checkFacts returns an error unless a row is what is known of a host.
func checkFacts(_, value []byte) error {
	var facts storage.HostFacts
	return storage.DecodeHostFacts(value, &facts)
}

// checkForeign returns an error unless a row is of links that another directory withheld, to a URL that is not known.
func (w *work) checkForeign(key, value []byte) error {
	target, segment, err := storage.SplitLinkdbKey(key)
	if err == nil && segment != storage.MergedSegment {
		err = errors.New("links of a segment")
	}
	var withheld storage.Withheld
	if err == nil {
		err = storage.DecodeWithheld(value, &withheld)
	}
	if err != nil {
		return err
	}
	_, known, err := w.store.Get(storage.Crawldb(), target, nil)
	if err == nil && known {
		err = errors.New("the URL is known")
	}
	return err
}

// uncheckedRow is for ranges whose rows are copied as they are: Verify then reports what is wrong with them.
func uncheckedRow(_, _ []byte) error { return nil }

// inheritRange copies what the new store does not have, except rows that check finds fault with; of settings the new
// store has its own. It returns the number of damaged places, behind which it goes on.
func inheritRange(
	made, old *storage.Store, r storage.Range, check func(key, value []byte) error,
) (gaps uint64, err error) {
	var keys, values [][]byte
	size := 0
	flush := func() error {
		err := made.Apply(func(b *storage.Batch) error {
			for i := range keys {
				if err := b.Set(r, keys[i], values[i]); err != nil {
					return err
				}
			}
			return nil
		})
		keys, values, size = nil, nil, 0
		return err
	}
	gaps, err = old.Salvage(r, storage.Beyond, func(key, value []byte) error {
		if check(key, value) != nil {
			return nil
		}
		if _, ok, err := made.Get(r, key, nil); ok || err != nil {
			return err
		}
		keys, values = append(keys, append([]byte(nil), key...)), append(values, append([]byte(nil), value...))
		if size += len(key) + len(value); size < inheritBytes {
			return nil
		}
		return flush()
	})
	return gaps, errors.Join(err, flush())
}
