// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"cmp"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/seine-crawler/seine/engine/internal/admission"
	"github.com/seine-crawler/seine/engine/internal/inspect"
	"github.com/seine-crawler/seine/engine/internal/phases"
	"github.com/seine-crawler/seine/engine/internal/segment"
	"github.com/seine-crawler/seine/engine/internal/visit"
	"github.com/seine-crawler/seine/engine/parse"
	"github.com/seine-crawler/seine/engine/policy"
	"github.com/seine-crawler/seine/index"
	"github.com/seine-crawler/seine/storage"
	"github.com/seine-crawler/seine/storage/urlkey"
	"github.com/seine-crawler/seine/storage/warc"
)

// Engine is one data directory, opened. Any goroutine may call its methods, at any time: phases that write the same
// key range take turns, searches and views never wait for them. One process may have any number of engines, each on a
// directory of its own. Open makes an Engine; the zero value is not usable.
//
// When its context ends, a phase returns the context's error and writes nothing. Crawl, Fetch and Index differ: see
// there.
// After Close every method returns ErrClosed.
type Engine struct {
	w *work
	guard
	*Upkeep

	running sync.Mutex // held by what writes or reads back open segments: one at a time
	sights
}

// sights are what Inspector shows of crawls of this process.
type sights struct {
	crawl   atomic.Pointer[conductor] // the running crawl; nil: none is
	last    atomic.Pointer[lastCrawl] // the one that ended last; nil: none has
	before  *endedCrawl               // the last one of an earlier process, when this one began; nil: there was none
	fetch   atomic.Pointer[oneFetch]  // the running call of Fetch; nil: none is
	census  census
	history history
}

// Open opens the data directory, and creates it if it does not exist. It sends nothing. What an earlier process left
// unfinished stays so until Crawl or Recover finishes it. The caller must call Close.
//
// Errors: ErrLocked, ErrFormat, ErrNoStore, ErrDamaged, *storage.IdentityError if the directory was created with
// other settings, and one error that lists all faults of the options.
func Open(o Options) (*Engine, error) {
	o = o.withDefaults()
	if err := o.validate(); err != nil {
		return nil, fmt.Errorf("opening data directory %q: %w", o.Dir, err)
	}
	w, err := openWork(o)
	if err != nil {
		return nil, damage(err, o.Dir)
	}
	before, err := loadEnded(w.store)
	if err != nil {
		return nil, errors.Join(damage(err, o.Dir), w.close())
	}
	e := &Engine{w: w, sights: sights{before: before}}
	e.guard.init(o.ReadOnly)
	e.Upkeep = &Upkeep{w: w, g: &e.guard, running: &e.running}
	return e, nil
}

// openWork opens the store and everything that is built on it.
func openWork(o Options) (*work, error) {
	w := &work{o: o}
	err := o.refuseLostStore()
	if err == nil {
		w.store, err = o.openStore(w.warn)
	}
	if err != nil {
		return nil, err
	}
	if err := w.openRooms(); err != nil {
		return nil, errors.Join(err, w.store.Close())
	}
	return w, nil
}

// openStore opens the store alone.
func (o *Options) openStore(warn func(error)) (*storage.Store, error) {
	s := o.shares()
	files, err := shareFiles(openFiles())
	if err != nil {
		return nil, err
	}
	return storage.Open(o.storeDir(), storage.Options{
		FS: o.FS, Now: o.Now, MustExist: o.MustExist, ReadOnly: o.ReadOnly, OnFatal: o.OnFatal,
		CacheBytes: s.cache, IdleCacheBytes: s.idleCache, MemTableBytes: s.memTable, OpenFiles: files.tables,
		Processors: o.Processors,
		Identity:   map[string]string{"key-format": "surt-1", "parser": parse.Version},
		Initial: map[string]string{
			settingSignature: cmp.Or(o.Signature, signatureContent), settingAnalyzer: index.AnalyzerVersion,
		},
		Logger: func(format string, args ...any) { warn(fmt.Errorf(format, args...)) },
	})
}

// openRooms opens the index, makes the rooms and compares the store with the WARC files.
func (w *work) openRooms() (err error) {
	o := &w.o
	if err := o.chooseSigner(w.store); err != nil {
		return err
	}
	w.warcFS = w.store.WARCFS()
	if !o.ReadOnly {
		if err := w.warcFS.MkdirAll(w.warcDir()); err != nil {
			return w.o.warcFault("creating", err)
		}
	}
	w.live.delay.Store(int64(o.Delay))
	w.live.fetchers.Store(int64(o.Concurrency))
	w.admission = admission.New(admission.Options{
		Filters: o.Filters, Live: o.LiveFilters, Scope: o.Scope, Hosts: o.HostPolicy,
		MaxDepth: o.MaxDepth, MaxRedirects: o.MaxRedirects, TrapPercent: o.TrapDuplicates,
		Host:   admission.Cost{URLs: o.HostPages, Bytes: o.HostBytes, Time: o.HostTime},
		Domain: admission.Cost{URLs: o.DomainPages, Bytes: o.DomainBytes, Time: o.DomainTime},
		Store:  w.store, Now: o.Now, Warn: w.warn,
	})
	if err := w.admission.Load(); err != nil {
		return err
	}
	w.segments = w.newSegments()
	w.phases = phases.New(phases.Env{
		Store: w.store, Admission: w.admission, Sorter: w.sorter, TableBytes: o.shares().keyTable, Now: o.Now,
		GiveWay:    func(worked time.Duration) { w.giveWay(worked) },
		Processors: o.sharers(), Busy: func(of phases.Step) func() { return w.stages.time(sharedStages[of]) },
		SorterOf: func(bytes int64, combine func(dst, a, b []byte) []byte) *storage.Sorter {
			return w.sorterOf(bytes)(combine)
		},
		Normalizers: o.normalizers(policy.NormalizeInject), Scorer: o.Scorer, Schedule: o.Schedule,
		TypeRules: o.TypeSchedules, Hints: o.ScheduleHints,
		MaxInterval: o.MaxInterval, Interval: o.Interval, SeedScore: max(o.SeedScore, 0),
		Links: o.Links, NoAdditions: o.NoAdditions, ChooseRedirectURL: o.ChooseRedirectURL,
		NoFollowLinks: o.NoFollowLinks, MaxInlinks: o.MaxInlinks, AnchorLength: o.AnchorLength,
		Sitemaps: w.sitemaps, Warn: w.warn,
		Deletes: func(ing *storage.Ingestion) phases.Deletes { return deletes{w.index.NewBuilder(ing)} },
	})
	if w.index, err = o.openIndex(w.store); err != nil {
		return err
	}
	w.indexMu, w.near.store = w.index.Writing(), w.store
	w.giveWay, w.answering = w.index.NewPace().Worked, w.index.Answering
	w.answers = newAnswers(o.shares().answers, func() uint64 { return w.index.Generation() + w.near.changes() })
	w.setIdle(true)
	w.inspect = inspect.New(inspect.Env{
		Store: w.store, Index: w.index, FS: w.warcFS, Dir: w.warcDir(), SortFS: o.FS, Admission: w.admission,
		Now: o.Now, SegmentOf: segment.NumberOf, Page: segment.IsPage, HasBody: segment.HasBody,
		Robots: func(f *storage.HostFacts, u urlkey.URL) (reachable bool, denied string) {
			rules, reachable := visit.RobotsRules(f, o.agentOf(u.HostKey()))
			return reachable, string(visit.Denied(rules, u, max(o.MaxCrawlDelay, 0)))
		},
		UnsealedCaptures: w.segments.UnsealedCaptures,
		Unsealed: func(u urlkey.URL) (list []inspect.Unsealed, err error) {
			fetched, err := w.segments.Unsealed(u)
			for _, f := range fetched {
				list = append(list, inspect.Unsealed(f))
			}
			return list, err
		},
	})
	if err = w.compareLogs(); err == nil && !o.ReadOnly {
		w.crawlLog, err = openCrawlLog(o.CrawlLog, w.store, w.warn)
	}
	if err != nil {
		return errors.Join(err, w.index.Close())
	}
	return nil
}

func (w *work) newSegments() *segment.Segments {
	o := &w.o
	var agentOf func(urlkey.HostKey) string
	if o.HostPolicy != nil {
		agentOf = o.agentOf
	}
	return segment.New(segment.Env{
		Store: w.store, FS: w.warcFS, Dir: w.warcDir(), Info: o.warcInfo(), FileAge: warcFileAge,
		Sorter: w.sorterOf(o.shares().segment), Processors: o.sharers(),
		Now: o.Now, Parsers: o.newParsers(), Agent: o.agentToken(), AgentOf: agentOf,
		Links: o.normalizers(policy.NormalizeOutlink), Redirects: o.normalizers(policy.NormalizeFetcher),
		ParseLater: o.ParseLater, NoContent: o.NoContent, Spent: w.stages.spentIn, Warn: w.warn,
		Log:   func(seg *storage.Segment, list []segment.Stored, again bool) { w.crawlLog.add(seg, list, again) },
		Flush: func() { w.crawlLog.flush() }, Replacing: &w.crawldbMu.crawldb,
	})
}

// warcInfo are the fields of the warcinfo record that begins each WARC file.
func (o *Options) warcInfo() []warc.Field {
	return []warc.Field{
		{Name: "software", Value: "seine/" + Version}, {Name: "http-header-user-agent", Value: o.UserAgent},
		{Name: "robots", Value: "obey"}, {Name: "operator", Value: o.Contact},
	}
}

// Close closes the engine. A running crawl or fetch stops as if its context had ended; streams of an Inspector and
// calls of DedupURLs, Filter, MergeDB and SplitDB end early with ErrClosed. Close waits for them and for all other
// calls. So callbacks must not call it, nor the body of a loop over a stream. A second call returns ErrClosed at once.
func (e *Engine) Close() error {
	if err := e.guard.end(); err != nil {
		return err
	}
	return e.w.close()
}

// Store returns the store, for reading. Closing it or writing to it damages the engine. After Close its methods return
// ErrClosed.
func (e *Engine) Store() *storage.Store { return e.w.store }
