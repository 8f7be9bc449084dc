// SPDX-License-Identifier: Apache-2.0

package measure

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/seine-crawler/seine/bench/simweb"
)

// Variants of a crawl.
const (
	VariantWhole   = "seine"          // everything: WARC, crawldb, linkdb, index
	VariantNoIndex = "seine-no-index" // everything but the index
	VariantLogged  = "seine-log"      // everything, and the crawl log
	VariantFloor   = "floor-fasthttp" // a bare fasthttp loop over the same pages, which keeps nothing
	// VariantLibraries is the same loop with every page lexed, digested, compressed and written: it takes what the
	// libraries alone take.
	VariantLibraries = "floor-libraries"
)

func isFloor(variant string) bool { return variant == VariantFloor || variant == VariantLibraries }

// Variants are the names of all variants of a crawl.
func Variants() []string {
	return []string{VariantWhole, VariantNoIndex, VariantLogged, VariantFloor, VariantLibraries}
}

// CrawlOptions say what Crawls measures. Binary, Runs, Line and Log are required.
type CrawlOptions struct {
	Binary string // path of seine's executable
	// Pages are the sizes of synthetic webs in pages: hosts of 100 pages of 12 KB with 50 links, as simweb.Bench makes
	// them. 0 is skipped.
	Pages []int
	// Hosts are the numbers of hosts of further such webs, with HostPages pages each. 0 is skipped.
	Hosts     []int
	HostPages int
	// Gzip makes synthetic webs compress their responses, as most of the web does.
	Gzip bool
	// Docs and DocsRoot name folders of HTML to crawl as well, as in seine simweb --docs; DocsName is their name in
	// lines.
	Docs               []string
	DocsRoot, DocsName string
	Variants           []string // nil: all of Variants; folders have no floors
	Runs               int      // of each variant of each web
	// Profile checks seine's accounting by stage against a CPU profile, in one more run of the first web, and shows
	// the work of the goroutines that there is only one of.
	Profile bool
	Dir     string // for data; "": the system's temporary folder
	// Line is called with every result as it comes, Log with a text before each run, both on the goroutine of Crawls.
	Line func(Line)
	Log  func(string)
}

// world is what one simweb serves.
type world struct {
	name  string
	args  []string
	pages int    // of a synthetic web
	each  int    // of them on a host
	scope string // documents link to hosts outside, which must not be crawled
}

const pagesPerHost = 100

// prerendered is how many bytes of pages a synthetic web makes before it is crawled: making them during the crawl would
// take processor time from the crawler.
const prerendered = "4GB"

func syntheticWorld(name string, hosts, each int) (world, error) {
	web, err := simweb.New(simweb.Bench(hosts, each), 0)
	if err != nil {
		return world{}, err
	}
	pages := 0
	for host := range web.Hosts() { // a host may have drawn a page less
		pages += web.Pages(host)
	}
	w := world{name: name, pages: pages, each: each, scope: "any", args: []string{
		"--shape", "bench", "--seed-hosts", "0", "--web-hosts", strconv.Itoa(hosts),
		"--pages", strconv.Itoa(each), "--max-pages", strconv.Itoa(each), "--prerender", prerendered,
	}}
	if hosts > 4000 { // simweb cannot listen on so many addresses one by one
		w.args = append(w.args, "--all-interfaces")
	}
	return w, nil
}

func (o *CrawlOptions) worlds() (out []world, err error) {
	for _, n := range o.Pages {
		if n > 0 {
			w, err := syntheticWorld("pages="+strconv.Itoa(n), max(1, n/pagesPerHost), pagesPerHost)
			if err != nil {
				return nil, err
			}
			out = append(out, w)
		}
	}
	for _, n := range o.Hosts {
		if n > 0 {
			w, err := syntheticWorld("hosts="+strconv.Itoa(n), n, o.HostPages)
			if err != nil {
				return nil, err
			}
			out = append(out, w)
		}
	}
	if o.Gzip {
		for i := range out {
			out[i].name += "-gzip"
			out[i].args = append(out[i].args, "--gzip")
		}
	}
	if len(o.Docs) > 0 {
		// Children run in a folder of their own.
		root, err := filepath.Abs(o.DocsRoot)
		if err != nil {
			return nil, err
		}
		w := world{name: o.DocsName, scope: "host", args: []string{"--docs-root", root}}
		for _, d := range o.Docs {
			name, dir, named := strings.Cut(d, "=")
			if !named {
				dir = name
			}
			if dir, err = filepath.Abs(dir); err != nil {
				return nil, err
			}
			if named {
				dir = name + "=" + dir
			}
			w.args = append(w.args, "--docs", dir)
		}
		out = append(out, w)
	}
	return out, nil
}

// Crawls crawls each web in each variant, Runs times, and passes each result to o.Line. It stops at the first error: a
// child that failed, a crawl that was not complete or not polite, or the end of ctx.
//
// A line has wall time per page as ns/op, pages/s, processor time of the crawler and of the server per page, peak
// memory, bytes on disk per page (WARC) and per URL (store), the percentage of wall time after the last request
// ended, and processor time per page by stage.
func Crawls(ctx context.Context, o CrawlOptions) error {
	all := Variants()
	if o.Variants == nil {
		o.Variants = all
	}
	for _, v := range o.Variants {
		if !slices.Contains(all, v) {
			return fmt.Errorf("variant %q: want %s", v, strings.Join(all, ", "))
		}
	}
	worlds, err := o.worlds()
	if err != nil {
		return err
	}
	for _, w := range worlds {
		for n := range o.Runs {
			for _, v := range o.Variants {
				if isFloor(v) && w.pages == 0 || v == VariantLibraries && o.Gzip {
					continue // there is nothing to lex in compressed pages
				}
				o.Log(fmt.Sprintf("%s, %s, run %d of %d", w.name, v, n+1, o.Runs))
				l, err := o.round(ctx, w, v, "")
				if err != nil {
					return err
				}
				o.Line(l)
			}
		}
		if o.Profile {
			o.Profile = false
			if err := o.stages(ctx, w); err != nil {
				return err
			}
		}
	}
	return nil
}

// crawled is the part of a crawler's JSON that is needed here.
type crawled struct {
	Fetched    int                `json:"fetched"`
	Discovered int                `json:"discovered"`
	CPUByStage map[string]float64 `json:"cpu_by_stage"`
	CPUSeconds float64            `json:"cpu_seconds"`
	Segments   int                `json:"segments"`
	Draining   float64            `json:"draining_seconds"`
}

// round is one crawl of one web.
func (o *CrawlOptions) round(ctx context.Context, w world, variant, profile string) (l Line, err error) {
	dir, err := os.MkdirTemp(o.Dir, "seine-bench-")
	if err != nil {
		return l, err
	}
	defer os.RemoveAll(dir)
	web, err := start(
		ctx, dir, o.Binary,
		append([]string{"simweb", "--json", "--hosts-file", "hosts", "--seeds-file", "seeds"}, w.args...)...,
	)
	if err != nil {
		return l, err
	}
	if err := web.waitForFile(ctx, filepath.Join(dir, "hosts")); err != nil {
		return l, err
	}
	u, crawlErr := run(ctx, dir, o.Binary, o.command(w, variant, profile)...)
	served, err := web.interrupt()
	if crawlErr != nil {
		return l, crawlErr
	}
	if err != nil {
		return l, err
	}
	var report simweb.Report
	if err := json.Unmarshal(served.stdout, &report); err != nil {
		return l, fmt.Errorf("simweb's report %q: %w", served.stdout, err)
	}
	var c crawled
	if err := json.Unmarshal(u.stdout, &c); err != nil {
		return l, fmt.Errorf("%s's report %q: %w", variant, u.stdout, err)
	}
	pages := report.Status[2]
	if w.pages > 0 {
		pages -= report.Robots // in this shape of web they are 200, too
	}
	if !isFloor(variant) && c.Fetched > report.Status[2] || w.pages > 0 && pages != w.pages {
		return l, fmt.Errorf(
			"%s of %s: the server served %d pages of %d, the crawler says %d", variant, w.name, pages,
			w.pages, c.Fetched,
		)
	}
	if report.Twice > 0 || !isFloor(variant) && !report.Polite() {
		return l, fmt.Errorf("%s of %s was not polite: %s", variant, w.name, report)
	}
	return o.line(w, variant, dir, pages, u, served, &c)
}

// command is the command line of a variant.
func (o *CrawlOptions) command(w world, variant, profile string) []string {
	if isFloor(variant) {
		args := []string{
			"bench", "floor", "--hosts", "hosts", "--seeds", "seeds", "--pages", strconv.Itoa(w.each),
			"--gzip=" + strconv.FormatBool(o.Gzip),
		}
		if variant == VariantLibraries {
			args = append(args, "--keep", "kept")
		}
		return args
	}
	args := []string{
		"crawl", "--dir", "data", "--seeds", "seeds", "--hosts", "hosts", "--allow-private", "--scope",
		w.scope, "--delay", "0s", "--json", "--quiet",
	}
	if variant == VariantNoIndex {
		args = append(args, "--set", "no-index=true")
	}
	if variant == VariantLogged {
		args = append(args, "--set", "crawl-log=crawl.log")
	}
	if profile != "" {
		args = append(args, "--cpuprofile", profile)
	}
	return args
}

func (o *CrawlOptions) line(w world, variant, dir string, pages int, u, served usage, c *crawled) (Line, error) {
	perPage := func(d time.Duration) float64 { return float64(d.Microseconds()) / float64(pages) }
	l := Line{Name: "Crawl/" + w.name + "/" + variant, Count: pages, Metrics: []Metric{
		{"ns/op", float64(u.wall.Nanoseconds()) / float64(pages)},
		{"pages/s", float64(pages) / u.wall.Seconds()},
		{"cpu-µs/page", perPage(u.cpu)},
		{"server-cpu-µs/page", perPage(served.cpu)},
		{"peak-MB", float64(u.peakKB) / 1024},
	}}
	if isFloor(variant) {
		return l, nil
	}
	warc, err := weigh(filepath.Join(dir, "data", "warc"))
	if err != nil {
		return l, err
	}
	store, err := weigh(filepath.Join(dir, "data", "store"))
	if err != nil {
		return l, err
	}
	l.Metrics = append(
		l.Metrics, Metric{"warc-B/page", float64(warc) / float64(pages)},
		Metric{"store-B/URL", float64(store) / float64(max(1, c.Discovered))},
		Metric{"drain-%", 100 * c.Draining / u.wall.Seconds()},
	)
	for _, s := range slices.Sorted(maps.Keys(c.CPUByStage)) {
		l.Metrics = append(l.Metrics, Metric{s + "-µs/page", c.CPUByStage[s] * 1e6 / float64(pages)})
	}
	return l, nil
}
