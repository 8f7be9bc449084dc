// SPDX-License-Identifier: Apache-2.0

package phases

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/seine-crawler/seine/engine/internal/admission"
	"github.com/seine-crawler/seine/storage"
	"github.com/seine-crawler/seine/storage/urlkey"
)

// InjectOptions say which seeds to inject and what becomes of URLs that are already known.
type InjectOptions struct {
	URLs    []string   // seed lines
	Sources []SeedFile // more of them
	// Overwrite replaces a known record; Update changes only its score, interval and metadata.
	// Without either a known record is kept as it is.
	Overwrite, Update bool
}

// Injected counts what became of seed lines.
type Injected struct {
	Lines      uint64
	New        uint64 // records made, also of withheld links that the seeds bring into scope
	Known      uint64 // kept as they were, but for their depth
	Changed    uint64 // by Overwrite or Update
	Merged     uint64 // lines with the same URL as a later one
	Filtered   uint64
	Malformed  uint64
	Assumed    uint64   // lines without a scheme, injected with https
	Examples   []string // the first lines that were filtered or are malformed: where they are, and why
	Readmitted Readmitted
	Woken      []urlkey.HostKey // hosts of changed records that have something due, in key order
}

// Inject makes records of seeds. A seed line is a URL, then optional TAB-separated key=value
// pairs; empty lines and lines that begin with '#' are skipped. A URL without a scheme gets https, and http is tried
// when no https connection can be made (ParseSeed). Malformed lines are counted and quoted in the result, and the
// rest is injected. The seeds' hosts become part of the scope, and withheld links that
// come into scope are readmitted.
//
// A known URL, whatever becomes of it, is of depth 0 from now on, and its links of depth 1.
//
// Steps: parse, normalize and filter each line, on all processors; sort by key, the last of equal URLs winning;
// merge-join with crawldb; ingest.
func (p *Phases) Inject(ctx context.Context, o InjectOptions) (Injected, error) {
	in := injection{
		p: p, o: o, changes: p.env.Admission.NewChanges(),
		signatures: signatureNotes{sorter: p.env.Sorter(storage.FoldLast)},
	}
	defer func() {
		in.seeds.close()
		in.signatures.sorter.Close()
	}()
	left, err := p.lower(ctx) // by a crash, or an error
	if err == nil {
		err = in.readAll(ctx)
	}
	if err == nil {
		err = in.merge(ctx)
	}
	if err == nil {
		in.result.Readmitted, err = p.Readmit(ctx)
		in.result.New += in.result.Readmitted.New
		in.result.Woken = mergeHosts(mergeHosts(in.result.Woken, in.result.Readmitted.Woken), left.Woken)
	}
	if err != nil {
		return in.result, fmt.Errorf("injecting: %w", err)
	}
	return in.result, nil
}

// AnySeed reads seed lines until it finds one of which Inject would make a record, and counts the others.
func (p *Phases) AnySeed(ctx context.Context, o InjectOptions) (found bool, others Injected, err error) {
	seeds := p.newSeedRun(p.env.TableBytes, storage.FoldLast)
	defer seeds.close()
	err = seeds.read(ctx, o.URLs, o.Sources, func(r *seedReader, line *seedLine) error {
		if r.takes(line, new(storage.Record), new(float64)) {
			return errFound
		}
		return nil
	})
	c := seeds.counts()
	others = Injected{Lines: c.lines, Filtered: c.filtered, Malformed: c.broken, Examples: c.quoted()}
	if errors.Is(err, errFound) {
		return true, others, nil
	}
	return false, others, err
}

// injection is one run of Inject.
type injection struct {
	p          *Phases
	o          InjectOptions
	seeds      *seedRun       // key → place of the line, record of the seed
	signatures signatureNotes // of records that are overwritten
	changes    *admission.Changes
	result     Injected
}

// readAll parses, normalizes and filters the lines, and sorts them.
func (in *injection) readAll(ctx context.Context) error {
	in.seeds = in.p.newSeedRun(in.p.env.TableBytes*injectSorters, foldLatest)
	err := in.seeds.read(ctx, in.o.URLs, in.o.Sources, in.p.addSeed)
	c := in.seeds.counts()
	in.result.Lines, in.result.Filtered, in.result.Malformed = c.lines, c.filtered, c.broken
	in.result.Assumed, in.result.Examples = c.assumed, c.quoted()
	return err
}

// addSeed adds the record of a seed line.
func (p *Phases) addSeed(w *seedReader, line *seedLine) error {
	r := storage.Record{Status: storage.StatusUnfetched, Interval: p.interval, FetchTime: w.run.now}
	given := math.NaN()
	if !w.takes(line, &r, &given) {
		return nil
	}
	if line.assumed {
		w.assumed++
		r.Meta = append(r.Meta, storage.Field{Name: storage.MetaScheme, Value: storage.SchemeAssumed})
	}
	r.Score = p.seedScore()
	if !math.IsNaN(given) {
		r.Score = finite(p.env.Scorer.Inject(given))
	}
	w.key = w.memo.AppendKey(w.key[:0], line.url)
	w.value = storage.AppendRecord(appendPlace(w.value[:0], line.place), &r)
	return w.add()
}

// merge joins the sorted seeds with crawldb and ingests the outcome.
func (in *injection) merge(ctx context.Context) error {
	store := in.p.env.Store
	sorters, added := in.seeds.sorters(), uint64(0)
	for _, s := range sorters {
		added += uint64(s.Len())
	}
	parts, err := in.p.sortParts(sorters)
	if err != nil {
		return fmt.Errorf("sorting seeds: %w", err)
	}
	ing := store.NewIngestion()
	defer ing.Abort()
	all, err := in.p.newRewritings(ing, parts)
	seedings := make([]*seeding, len(all))
	for i := range all {
		seedings[i] = &seeding{rewriting: all[i], in: in, changes: in.p.env.Admission.NewChanges()}
		defer seedings[i].close()
	}
	if err != nil {
		return err
	}
	err = in.p.together(ctx, StepInject, len(seedings), func(ctx context.Context, i int) error {
		return seedings[i].run(ctx)
	})
	if err != nil {
		return err
	}
	in.result.Merged = added
	tallies := make([]*hostTally, len(seedings))
	for i, s := range seedings {
		tallies[i] = s.hosts
		in.changes.Add(s.changes)
		in.result.Merged -= s.kept
		in.result.New, in.result.Changed = in.result.New+s.fresh, in.result.Changed+s.changed
		in.result.Known += s.known
	}
	if err := finishDays(tallies); err != nil {
		return err
	}
	if err := writeSignatures(ctx, in.signatures.sorter, ing); err != nil {
		return err
	}
	withheld, err := in.p.anyWithheld()
	if err != nil {
		return err
	}
	if err := in.changes.WriteTo(ing, withheld); err != nil {
		return err
	}
	if err := in.p.commit(StepInject, ing); err != nil {
		return err
	}
	for _, t := range tallies {
		in.result.Woken = append(in.result.Woken, t.woken...)
	}
	return in.changes.Commit()
}

// seeding joins a part of the seeds with crawldb. It belongs to one goroutine.
type seeding struct {
	rewriting
	in      *injection
	changes *admission.Changes

	kept, fresh, changed, known uint64
}

func (s *seeding) run(ctx context.Context) error {
	return s.join(ctx, func(key []byte, values [][]byte, old []byte) error {
		s.kept++
		s.changes.Seed(urlkey.Key(key))
		return s.one(key, values[0][placeBytes:], old)
	})
}

// one makes the record of one seed.
func (s *seeding) one(key, seed, old []byte) error {
	in := s.in
	var r, was storage.Record
	if err := storage.DecodeRecord(seed, &r); err != nil {
		return fmt.Errorf("record of the seed %s: %w", key, err)
	}
	if old != nil {
		if err := storage.DecodeRecord(old, &was); err != nil {
			return fmt.Errorf("crawldb record %s: %w", key, err)
		}
	}
	switch {
	case old == nil:
		s.fresh++
	case in.o.Overwrite:
		s.changed++
	case in.o.Update:
		s.changed++
		r = in.p.updatedSeed(was, r)
	default:
		s.known++
		assumes := r.SchemeAssumed() && was.LastFetch == 0 && !was.SchemeAssumed()
		if was.IsSeed() && !assumes {
			return nil
		}
		given := r.Meta
		if r = was; assumes { // it was given with https before, and was never reached
			r.Meta = append(r.Meta, given...)
		}
	}
	r.Depth, r.Hops = 0, 0 // it is a seed now
	endSitemap(&r)
	in.p.scoreByDepth(&r)
	if old != nil {
		if err := noteLowered(s.lowered, key, &was, &r); err != nil {
			return err
		}
	}
	if err := in.signatures.note(key, &was, &r); err != nil {
		return err
	}
	if err := s.hosts.change(key, old != nil, &was, &r); err != nil {
		return err
	}
	return s.set(key, &r)
}

// updatedSeed is a known record with the seed's score, interval and metadata, where the seed
// line says something other than the default.
func (p *Phases) updatedSeed(was, seed storage.Record) storage.Record {
	if seed.Score != p.seedScore() {
		was.Score = seed.Score
	}
	if seed.Interval != p.interval {
		was.Interval = seed.Interval
	}
	was.Meta = slices.Clone(was.Meta) // the caller compares with what was
	for _, f := range seed.Meta {
		replaced := false
		for i := range was.Meta {
			if was.Meta[i].Name == f.Name {
				was.Meta[i].Value, replaced = f.Value, true
			}
		}
		if !replaced {
			was.Meta = append(was.Meta, f)
		}
	}
	return was
}
