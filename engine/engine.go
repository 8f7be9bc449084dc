// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"sync"

	"github.com/seine-crawler/seine/engine/fetch"
	"github.com/seine-crawler/seine/engine/parse"
	"github.com/seine-crawler/seine/engine/policy"
	"github.com/seine-crawler/seine/index"
	"github.com/seine-crawler/seine/storage"
	"github.com/seine-crawler/seine/storage/urlkey"
	"github.com/seine-crawler/seine/storage/warc"
)

// Engine is one data directory, opened. Its methods may be called from several goroutines: phases
// that write the same key range take turns, readers never wait. Any number of engines live in one
// process, each on a directory of its own.
type Engine struct {
	o       Options
	store   *storage.Store
	warcFS  warc.FS
	index   *index.Index
	parsers *parse.Parsers
	scope   *policy.ScopeFilter
	hosts   *hostCache
	files   fileFilters
	clock   stageClock

	seedMu      sync.Mutex
	seedDomains map[string]bool // registered domains of the seeds

	// resolver and client are made at first use: a store can be read without a network.
	netOnce  sync.Once
	netErr   error
	resolver fetch.Resolver
	client   fetch.Protocol
	closeNet func()

	// crawldbMu is held by the phases that read and write crawldb: inject, generate, updatedb,
	// dedup. indexMu by those that write the index. Order: crawldbMu before indexMu.
	crawldbMu, indexMu sync.Mutex

	// Memory that phases leave to their next run.
	inversions spare[*inversion]
	updates    spare[*update]
	sitemaps   sitemaps  // of robots.txt files
	traps      trapWatch // of Dedup, asked by all that filter
	// fetchMu is held while URLs are fetched: one crawl or fetch at a time.
	fetchMu sync.Mutex
}

// Open opens the data directory, creating it when it does not exist. An open segment that an
// earlier process left behind is taken up by the next Fetch or Crawl.
func Open(o Options) (*Engine, error) {
	o = o.withDefaults()
	if err := o.validate(); err != nil {
		return nil, fmt.Errorf("opening a crawl: %w", err)
	}
	store, err := storage.Open(filepath.Join(o.Dir, "store"), storage.Options{
		FS: o.FS, Now: o.Now, MustExist: o.MustExist, OnFatal: o.OnFatal,
		CacheBytes: o.Memory / 4, MemTableBytes: 8 << 20,
		Identity: map[string]string{"key-format": "surt-1", "parser": parse.Version, "analyzer": index.AnalyzerVersion},
		Initial:  map[string]string{settingSignature: cmp.Or(o.Signature, signatureContent)},
		Logger:   func(format string, args ...any) { warnf(o, format, args...) },
	})
	if err != nil {
		return nil, err
	}
	if err := o.chooseSigner(store); err != nil {
		return nil, errors.Join(err, store.Close())
	}
	e := &Engine{o: o, store: store, warcFS: store.WARCFS(), parsers: parse.New(o.Parsers), scope: policy.NewScopeFilter(o.Scope)}
	e.hosts = newHostCache(e)
	if e.files, err = o.openFilterFiles(); err != nil {
		return nil, errors.Join(err, store.Close())
	}
	if err := e.openRest(); err != nil {
		return nil, errors.Join(err, store.Close())
	}
	return e, nil
}

func warnf(o Options, format string, args ...any) {
	if o.Events.Warning != nil {
		o.Events.Warning(fmt.Errorf(format, args...))
	}
}

func (e *Engine) openRest() (err error) {
	if e.index, err = index.Open(e.store, index.Options{MemoryBytes: e.o.Memory / 8}); err != nil {
		return err
	}
	if err := e.warcFS.MkdirAll(e.warcDir()); err != nil {
		return fmt.Errorf("creating %s: %w", e.warcDir(), err)
	}
	if err := e.loadSeedHosts(); err != nil {
		return err
	}
	if err := e.openTraps(); err != nil {
		return err
	}
	return e.compareLogs()
}

// Close ends the engine. No method may run or be called any more.
func (e *Engine) Close() error {
	if e.closeNet != nil {
		e.closeNet()
	}
	return errors.Join(e.hosts.flush(), e.index.Close(), e.store.Close())
}

// Store gives access to the data for reading: readdb and its like are built on it.
func (e *Engine) Store() *storage.Store { return e.store }

func (e *Engine) warcDir() string { return filepath.Join(e.o.Dir, "warc") }

func (e *Engine) nowMS() int64 { return e.o.Now().UnixMilli() }

// done tells the listener that a phase ended.
func (e *Engine) done(r Report) {
	if e.o.Events.PhaseDone != nil {
		e.o.Events.PhaseDone(r)
	}
}

func (e *Engine) reached(segment uint32, state storage.SegmentState) {
	if e.o.Events.SegmentState != nil {
		e.o.Events.SegmentState(segment, state)
	}
}

// newSorter returns a sorter with the engine's share of memory.
func (e *Engine) newSorter(combine func(dst, a, b []byte) []byte) *storage.Sorter {
	return storage.NewSorter(storage.SorterOptions{
		Dir: filepath.Join(e.o.Dir, "store", "tmp-sort"), FS: e.o.FS, MemoryBytes: e.o.Memory / 8, Combine: combine,
	})
}

// network makes the resolver and the client.
func (e *Engine) network() error {
	e.netOnce.Do(func() {
		e.netErr = e.openNetwork()
	})
	return e.netErr
}

func (e *Engine) openNetwork() error {
	e.resolver, e.client, e.closeNet = e.o.Resolver, e.o.Protocol, func() {}
	if e.resolver == nil {
		var hosts fetch.Hosts
		if e.o.HostsFile != "" {
			var err error
			if hosts, err = fetch.LoadHosts(e.o.HostsFile); err != nil {
				return err
			}
		}
		e.resolver = fetch.NewResolver(fetch.ResolverOptions{Hosts: hosts, Servers: e.o.NameServers})
	}
	if e.client != nil {
		return nil
	}
	c, err := fetch.NewClient(fetch.Options{
		UserAgent: e.o.UserAgent, Resolver: e.resolver, Dialer: e.o.Dial, AllowPrivate: e.o.AllowPrivate,
		LoopbackOnly: !e.o.hasContact(), TotalTimeout: e.o.FetchTimeout, MemoryBytes: e.o.Memory / 4, Proxy: e.o.Proxy, TLSInsecure: e.o.InsecureTLS, Accept: e.o.acceptsType,
	})
	if err != nil {
		return err
	}
	e.client, e.closeNet = c, c.Close
	return nil
}

// requireContact refuses, before anything is sent, a crawl that would leave loopback without
// telling webmasters whom to ask. The client holds to the same rule at every dial.
func (e *Engine) requireContact(ctx context.Context, hosts []urlkey.HostKey) error {
	if e.o.hasContact() || e.o.Protocol != nil {
		return nil
	}
	for _, h := range hosts {
		addrs, err := e.resolver.Lookup(ctx, h.Host())
		if err != nil {
			continue // a host without an address is not fetched from
		}
		for _, a := range addrs {
			if !a.Unmap().IsLoopback() {
				return fmt.Errorf("refusing to crawl %s: %w: webmasters must be able to reach you; "+
					"give --contact https://your.site/crawler (or a mail address)", h, ErrNoContact)
			}
		}
	}
	return nil
}

// loadSeedHosts fills the scope from the store.
func (e *Engine) loadSeedHosts() error {
	sc := e.store.Scan(storage.Meta(), []byte(seedHostPrefix), []byte(seedHostPrefix+"\xff"))
	defer sc.Close()
	for sc.Next() {
		h := urlkey.HostKey(strings.TrimPrefix(string(sc.Key()), seedHostPrefix))
		e.scope.Admit(h)
		e.noteSeed(h)
	}
	if err := sc.Err(); err != nil || !e.scope.NeedsURLs() {
		return err
	}
	urls := e.store.Scan(storage.Meta(), []byte(seedURLPrefix), []byte(seedURLPrefix+"\xff"))
	defer urls.Close()
	for urls.Next() {
		u, err := urlkey.Key(strings.TrimPrefix(string(urls.Key()), seedURLPrefix)).URL()
		if err != nil {
			return fmt.Errorf("%w: seed %q: %w", storage.ErrCorrupt, urls.Key(), err)
		}
		e.scope.AdmitURL(u)
	}
	return urls.Err()
}

// filter asks the filters, then those in files and what was found to be a trap.
func (e *Engine) filter(u urlkey.URL) (reason string) {
	if reason = e.o.Filters.Accept(u); reason == "" {
		reason = e.mayChange(u)
	}
	return reason
}

// seedHostPrefix begins the meta keys that remember the seeds' hosts: the scope of every later run.
const seedHostPrefix = "seed-host/"

// seedURLPrefix begins those that remember the seeds themselves, for scopes that are narrower than hosts.
const seedURLPrefix = "seed-url/"

// admitSeeds takes hosts (in key order) into the scope and remembers them.
func (e *Engine) admitSeeds(ing *storage.Ingestion, hosts []urlkey.HostKey, urls []urlkey.Key) error {
	if len(hosts) == 0 {
		return nil
	}
	return e.writeSeeds(ing.Table(storage.Meta()), hosts, urls)
}

// writeSeeds is admitSeeds into a table of meta.
func (e *Engine) writeSeeds(w *storage.TableWriter, hosts []urlkey.HostKey, urls []urlkey.Key) error {
	for _, h := range hosts {
		e.scope.Admit(h)
		e.noteSeed(h)
		if err := w.Set([]byte(seedHostPrefix+string(h)), nil); err != nil {
			return err
		}
	}
	for _, k := range urls {
		u, err := k.URL()
		if err != nil {
			return fmt.Errorf("%w: seed %q: %w", storage.ErrCorrupt, k, err)
		}
		e.scope.AdmitURL(u)
		if err := w.Set([]byte(seedURLPrefix+string(k)), nil); err != nil {
			return err
		}
	}
	return nil
}

// accept is the whole question whether a URL belongs to the crawl.
func (e *Engine) accept(u urlkey.URL) (reason string) {
	if reason = e.filter(u); reason != "" {
		return reason
	}
	return e.scope.Accept(u)
}
