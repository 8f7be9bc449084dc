// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

type crawlOptions struct {
	peers                                string
	pages, hosts, runs, concurrency, max int
	timeout                              time.Duration
}

// crawled is one run of one crawler.
type crawled struct {
	used
	pages   int // 2xx responses, robots.txt left out
	proxied bool
	seen    webSeen
}

// crawl runs each crawler in turn, round by round, so that a slow minute of the machine affects all of them.
func crawl(ctx context.Context, o crawlOptions) error {
	if o.hosts < 1 || o.pages < o.hosts || o.runs < 1 || o.concurrency < 1 || o.max < 0 {
		return errors.New("want at least one host, one page a host, one run and one request at once")
	}
	d, err := findFolders()
	if err != nil {
		return err
	}
	chosen, err := chooseCrawlers(ctx, d, o.peers)
	if err != nil {
		return err
	}
	printHeader()
	results := map[string][]crawled{}
	failures := 0
	for run := range o.runs {
		for i := range chosen {
			p := chosen[(i+run)%len(chosen)] // each has each place in turn
			r, err := crawlOnce(ctx, d, p, o)
			if ctx.Err() != nil {
				return errors.New("interrupted")
			}
			if err != nil {
				failures++
				fmt.Fprintf(os.Stderr, "peers: run %d of %s: %v\n", run+1, p.name, err)
				continue
			}
			results[p.name] = append(results[p.name], r)
			fmt.Println(r.line(p.name))
			if r.seen.Found < r.seen.Reachable && o.max == 0 {
				fmt.Fprintf(
					os.Stderr, "peers: run %d of %s missed %d pages, such as %s\n", run+1, p.name,
					r.seen.Reachable-r.seen.Found, strings.Join(r.seen.Missed, ", "),
				)
			}
		}
	}
	printCrawls(chosen, results, o)
	if failures > 0 {
		return fmt.Errorf("%d of %d runs failed, see above", failures, o.runs*len(chosen))
	}
	return nil
}

func crawlOnce(ctx context.Context, d folders, p *crawler, o crawlOptions) (r crawled, err error) {
	work, err := os.MkdirTemp(d.out, "run-"+p.name+"-")
	if err != nil {
		return r, err
	}
	defer os.RemoveAll(work)
	w, err := startWeb(work, o.hosts, o.pages/o.hosts)
	if err != nil {
		return r, err
	}
	cmd := p.command(visit{d, w, filepath.Join(work, "data"), o.concurrency, o.max})
	ctx, cancel := context.WithTimeoutCause(ctx, o.timeout, errors.New("killed"))
	defer cancel()
	r.used, err = runProcess(ctx, cmd, filepath.Join(d.out, p.name+".log"), p.okExits...)
	r.seen, err = joinSeen(w, err)
	if err != nil {
		return r, err
	}
	r.pages = r.seen.Status[2] - r.seen.Robots // each host of this web has a robots.txt
	if r.pages <= 0 {
		return r, fmt.Errorf(
			"it fetched no page; the end of its output:\n%s", tail(filepath.Join(d.out, p.name+".log")),
		)
	}
	r.proxied = strings.Contains(tail(filepath.Join(d.out, p.name+".log")), "going through the proxy")
	return r, nil
}

// joinSeen stops the web also when the crawler failed.
func joinSeen(w *web, err error) (webSeen, error) {
	seen, err2 := w.stop()
	return seen, errors.Join(err, err2)
}

func (r *crawled) pagesPerSecond() float64 { return float64(r.pages) / r.wall.Seconds() }
func (r *crawled) newPerSecond() float64   { return float64(r.seen.Found) / r.wall.Seconds() }
func (r *crawled) microsPerPage(d time.Duration) float64 {
	return float64(d.Nanoseconds()) / 1000 / float64(r.pages)
}
func (r *crawled) found() float64 { return float64(r.seen.Found) / float64(r.seen.Reachable) }

// line returns a line for benchstat. The name has no "-2" for the number of CPUs: peers are not bound by GOMAXPROCS.
func (r *crawled) line(name string) string {
	return fmt.Sprintf("BenchmarkPeerCrawl/%s 1 %d ns/op %.1f pages/s %.1f cpu-µs/page %.1f server-cpu-µs/page "+
		"%.1f peak-MB %d asked-twice %.4f found/reachable %.1f new-pages/s",
		name, r.wall.Nanoseconds(), r.pagesPerSecond(), r.microsPerPage(r.cpu), r.microsPerPage(r.seen.CPU),
		float64(r.peakBytes)/1e6, r.seen.Twice, r.found(), r.newPerSecond())
}

// crawlColumns are the columns of the table for people: title, format, and value of a run.
var crawlColumns = []struct {
	title, format string
	value         func(r *crawled) float64
}{
	{"wall s", " %8.2f", func(r *crawled) float64 { return r.wall.Seconds() }},
	{"pages/s", " %8.0f", (*crawled).pagesPerSecond},
	{"new/s", " %8.0f", (*crawled).newPerSecond},
	{"cpu µs/page", " %12.0f", func(r *crawled) float64 { return r.microsPerPage(r.cpu) }},
	{"server µs", " %12.0f", func(r *crawled) float64 { return r.microsPerPage(r.seen.CPU) }},
	{"peak MB", " %8.1f", func(r *crawled) float64 { return float64(r.peakBytes) / 1e6 }},
	{"twice", " %6.0f", func(r *crawled) float64 { return float64(r.seen.Twice) }},
	{"found", " %6.3f", (*crawled).found},
	{"robots", " %6.0f", func(r *crawled) float64 { return float64(r.seen.Robots) }},
	{"connections", " %11.0f", func(r *crawled) float64 { return float64(r.seen.Connections) }},
}

// titleFormat turns the format of a number into the format of its title: " %8.2f" into " %8s".
func titleFormat(number string) string {
	width, _, _ := strings.Cut(number, ".")
	return width + "s"
}

// printCrawls prints the medians for people.
func printCrawls(chosen []*crawler, results map[string][]crawled, o crawlOptions) {
	fmt.Fprintf(os.Stderr, "\n%d pages on %d hosts, %d requests at once, no delay; medians of %d runs, "+
		"server and crawler on the same cores\n", o.pages/o.hosts*o.hosts, o.hosts, o.concurrency, o.runs)
	fmt.Fprintf(os.Stderr, "%-16s %5s", "peer", "runs")
	for _, c := range crawlColumns {
		fmt.Fprintf(os.Stderr, titleFormat(c.format), c.title)
	}
	fmt.Fprintln(os.Stderr, "  remark")
	for _, p := range chosen {
		rs := results[p.name]
		if len(rs) == 0 {
			fmt.Fprintf(os.Stderr, "%-16s failed\n", p.name)
			continue
		}
		remark := p.remark
		if rs[0].proxied {
			remark += "; through a proxy, so with other connections than the others"
		}
		fmt.Fprintf(os.Stderr, "%-16s %5d", p.name, len(rs))
		for _, c := range crawlColumns {
			fmt.Fprintf(os.Stderr, c.format, median(rs, c.value))
		}
		fmt.Fprintln(os.Stderr, "  "+remark)
	}
}

// median is the median of f over all; of an even number, the mean of the two in the middle.
func median[T any](of []T, f func(*T) float64) float64 {
	v := make([]float64, len(of))
	for i := range of {
		v[i] = f(&of[i])
	}
	slices.Sort(v)
	return (v[(len(v)-1)/2] + v[len(v)/2]) / 2
}
