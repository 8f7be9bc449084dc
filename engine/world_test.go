// SPDX-License-Identifier: Apache-2.0

package engine_test

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"net/netip"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/seine-crawler/seine/bench/simweb"
	"github.com/seine-crawler/seine/engine"
	"github.com/seine-crawler/seine/engine/fetch"
	"github.com/seine-crawler/seine/engine/policy"
)

// world is a synthetic web on loopback, with a resolver for its names.
type world struct {
	*simweb.Server
	t     testing.TB
	hosts fetch.Hosts
}

// newWorld starts a web of about the given size.
func newWorld(t testing.TB, hosts, meanPages int) *world {
	t.Helper()
	p := simweb.Small()
	p.Hosts, p.MeanPages, p.MaxPages, p.PageBytes = hosts, meanPages, 3*meanPages, 1500
	return startWorld(t, p)
}

// startWorld starts the web of the given parameters.
func startWorld(t testing.TB, p simweb.Params) *world {
	t.Helper()
	s, err := simweb.Start(p, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	w := &world{Server: s, t: t, hosts: fetch.Hosts{}}
	for h := range p.Hosts {
		w.hosts[s.Web.Host(h)] = []netip.Addr{netip.MustParseAddr(s.Web.Address(h))}
	}
	return w
}

// options are those of a crawl of the world.
func (w *world) options(dir string) engine.Options {
	return engine.Options{
		Dir: dir, Memory: 64 << 20, Delay: -1, AllowPrivate: true, Scope: policy.ScopeAny, Concurrency: 8,
		Resolver: fetch.NewResolver(fetch.ResolverOptions{Hosts: w.hosts}),
		Events:   engine.EventListener{Warning: func(err error) { w.t.Log("warning:", err) }},
	}
}

func (w *world) seeds() engine.InjectOptions {
	return seeds(w.Web.Root(0))
}

// seeds are the options to inject URLs, crawlFrom those to crawl from them.
func seeds(urls ...string) engine.InjectOptions { return engine.InjectOptions{URLs: urls} }

func crawlFrom(urls ...string) engine.CrawlOptions {
	return engine.CrawlOptions{Inject: seeds(urls...)}
}

func open(t testing.TB, o engine.Options) *engine.Engine {
	t.Helper()
	e, err := engine.Open(o)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// crawl runs a crawl to its end and closes the engine.
func (w *world) crawl(o engine.Options, c engine.CrawlOptions) engine.CrawlReport {
	w.t.Helper()
	e := open(w.t, o)
	defer mustClose(w.t, e)
	r, err := e.Crawl(context.Background(), c)
	if err != nil {
		w.t.Fatal(err)
	}
	return r
}

func mustClose(t testing.TB, e *engine.Engine) {
	t.Helper()
	if err := e.Close(); err != nil {
		t.Error(err)
	}
}

// digest is everything that two crawls of one web must agree on, as text: crawldb without times and segments, linkdb,
// and the index.
func digest(t testing.TB, e *engine.Engine) string {
	t.Helper()
	ctx := context.Background()
	var b bytes.Buffer
	var urls []string
	for r, err := range e.Inspect().Records(ctx, engine.RecordFilter{}) {
		if err != nil {
			t.Fatal(err)
		}
		urls = append(urls, r.URL)
		fmt.Fprintf(&b, "%s %s http=%d score=%g depth=%d signature=%s retries=%d\n",
			r.URL, r.Status, r.HTTPStatus, r.Score, r.Depth, r.Signature, r.Retries)
	}
	for _, u := range urls {
		set := map[string]bool{}
		for l, err := range e.Inspect().Inlinks(ctx, u, 100_000) {
			if err != nil {
				t.Fatal(err)
			}
			set[l.From+" "+l.Anchor] = true
		}
		for _, l := range slices.Sorted(maps.Keys(set)) {
			fmt.Fprintf(&b, "%s <- %s\n", u, l)
		}
	}
	index, err := e.Inspect().IndexDigest(ctx)
	if err != nil {
		t.Fatal(err)
	}
	fmt.Fprintf(&b, "index %016x\n", index)
	return b.String()
}

// digestOf is the digest of a data directory.
func digestOf(t testing.TB, o engine.Options) string {
	t.Helper()
	e := open(t, o)
	defer mustClose(t, e)
	return digest(t, e)
}

// sameDigest fails with the first lines that differ.
func sameDigest(t testing.TB, got, want string) {
	t.Helper()
	if got == want {
		return
	}
	a, b := strings.Split(got, "\n"), strings.Split(want, "\n")
	shown := 0
	for i := 0; i < max(len(a), len(b)) && shown < 5; i++ {
		var x, y string
		if i < len(a) {
			x = a[i]
		}
		if i < len(b) {
			y = b[i]
		}
		if x != y {
			t.Errorf("line %d\n got %s\nwant %s", i, x, y)
			shown++
		}
	}
	t.Errorf("%d lines, want %d", len(a), len(b))
}

// byStatus lists the URLs of crawldb by status.
func byStatus(t testing.TB, e *engine.Engine) map[string]map[string]bool {
	t.Helper()
	sets := map[string]map[string]bool{}
	for r, err := range e.Inspect().Records(context.Background(), engine.RecordFilter{}) {
		if err != nil {
			t.Fatal(err)
		}
		status := r.Status.String()
		if sets[status] == nil {
			sets[status] = map[string]bool{}
		}
		sets[status][r.URL] = true
	}
	return sets
}

// checkTruth compares crawldb with what the web says is there.
func (w *world) checkTruth(e *engine.Engine) {
	w.t.Helper()
	truth := w.Web.Truth([]int{0}, nil)
	got := byStatus(w.t, e)
	fetched := maps.Clone(got["db_fetched"])
	maps.Copy(fetched, got["db_duplicate"])
	redirected := maps.Clone(got["db_redir_perm"])
	if redirected == nil {
		redirected = map[string]bool{}
	}
	maps.Copy(redirected, got["db_redir_temp"])
	gone := maps.Clone(truth.Gone)
	maps.Copy(gone, truth.Denied)
	for _, c := range []struct {
		name      string
		got, want map[string]bool
	}{
		{"fetched", fetched, truth.Fetched},
		{"redirected", redirected, truth.Redirected},
		{"gone or denied", got["db_gone"], gone},
		{"unfetched", got["db_unfetched"], nil},
	} {
		for u := range c.want {
			if !c.got[u] {
				w.t.Errorf("%s: missing %s", c.name, u)
			}
		}
		for u := range c.got {
			if !c.want[u] {
				w.t.Errorf("%s: %s does not belong", c.name, u)
			}
		}
	}
	if len(truth.Fetched) < 20 || len(truth.Redirected) == 0 || len(truth.Gone) == 0 || len(truth.Denied) == 0 {
		w.t.Errorf("the web is too tame to prove anything: %d fetched, %d redirected, %d gone, %d denied",
			len(truth.Fetched), len(truth.Redirected), len(truth.Gone), len(truth.Denied))
	}
}

func verify(t testing.TB, e *engine.Engine) {
	t.Helper()
	r, err := e.Inspect().Verify(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	if r.Problems > 0 {
		t.Errorf("%s", r)
	}
}

func dataDir(t testing.TB) string { return filepath.Join(t.TempDir(), "data") }

// watchedHosts follows a file of denied hosts.
func watchedHosts(t testing.TB, path string) []policy.LiveFilter {
	t.Helper()
	f, err := policy.WatchFile(path, "denied hosts", policy.ParseDeniedHosts)
	if err != nil {
		t.Fatal(err)
	}
	return []policy.LiveFilter{f}
}
