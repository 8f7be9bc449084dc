// SPDX-License-Identifier: Apache-2.0

package measure

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"github.com/seine-crawler/seine/bench/simweb"
)

// PoliteOptions say what Polite measures. All fields but Dir are required.
type PoliteOptions struct {
	Binary       string // path of seine's executable
	Hosts, Pages int    // hosts of the web, and pages of a host in the mean
	Delay        time.Duration
	Fetchers     int
	Time         time.Duration // after which the polite crawl ends, if it has not ended before
	Dir          string        // for data; "": the system's temporary folder
	// Fetched asks the crawl of a data directory how many pages it has fetched. ok is false if it does not answer. It
	// is called on the goroutine of Polite, every second.
	Fetched func(ctx context.Context, data string) (pages int, ok bool)
	// Line is called with every result as it comes, Log with a text before each run, both on the goroutine of Polite.
	Line func(Line)
	Log  func(string)
}

const (
	// politeMaxPages bounds the pages of a host, or politeMaxTimes the mean does if that is more.
	politeMaxPages = 600
	politeMaxTimes = 2
	// smallTable is the size in bytes of a table that is not worth its file.
	smallTable = 4 << 10
)

// Polite crawls a lively web with a delay between the requests to a host, as on the real web, and again without a
// delay, up to as many pages. Hosts are slow, fail, ask for longer delays and come to their ends one by one, so most of
// the time the crawler waits. The servers judge that it was polite.
//
// A line has what a page takes of the processor, how much of it that is of what it takes without a delay, and how much
// one of the last quarter of the pages takes of what one of the first does; the segments, the WARC files and the tables
// that were made; and the bytes that were written for a page.
func Polite(ctx context.Context, o PoliteOptions) error {
	slow, pages, err := o.round(ctx, o.Delay, "--max-time", o.Time.String())
	if err != nil {
		return err
	}
	fast, _, err := o.round(ctx, 0, "--max-pages", strconv.Itoa(pages))
	if err != nil {
		return err
	}
	for _, l := range []*Line{&slow, &fast} {
		mine, _ := l.Value("cpu-µs/page")
		least, _ := fast.Value("cpu-µs/page")
		l.Metrics = append(l.Metrics, Metric{"cpu/without-delay", mine / least})
		o.Line(*l)
	}
	return nil
}

// round is one crawl.
func (o *PoliteOptions) round(ctx context.Context, delay time.Duration, limit ...string) (l Line, n int, err error) {
	name := fmt.Sprintf("Polite/hosts=%d/delay=%s", o.Hosts, delay)
	o.Log(name)
	dir, err := os.MkdirTemp(o.Dir, "seine-bench-")
	if err != nil {
		return l, 0, err
	}
	defer os.RemoveAll(dir)
	web, err := start(
		ctx, dir, o.Binary, "simweb", "--shape", "lively", "--web-hosts", strconv.Itoa(o.Hosts), "--pages",
		strconv.Itoa(o.Pages), "--max-pages", strconv.Itoa(max(politeMaxPages, politeMaxTimes*o.Pages)),
		"--delay", delay.String(), "--seed-hosts", "0", "--json", "--hosts-file", "hosts", "--seeds-file", "seeds",
	)
	if err != nil {
		return l, 0, err
	}
	for _, file := range []string{"hosts", "seeds"} {
		if err := web.waitForFile(ctx, filepath.Join(dir, file)); err != nil {
			return l, 0, err
		}
	}
	var r LongRun
	u, crawlErr := o.crawl(ctx, dir, delay, limit, &r)
	served, err := web.interrupt()
	if err := errors.Join(crawlErr, err); err != nil {
		return l, 0, err
	}
	var report simweb.Report
	if err := json.Unmarshal(served.stdout, &report); err != nil {
		return l, 0, fmt.Errorf("simweb's report %q: %w", served.stdout, err)
	}
	if !report.Polite() {
		return l, 0, fmt.Errorf("%s was not polite: %s", name, report)
	}
	var c crawled
	if err := json.Unmarshal(u.stdout, &c); err != nil {
		return l, 0, fmt.Errorf("the report of %s %q: %w", name, u.stdout, err)
	}
	made, err := filesMade(filepath.Join(dir, "data"))
	if err != nil {
		return l, 0, err
	}
	pages := float64(max(1, c.Fetched))
	return Line{Name: name, Count: c.Fetched, Metrics: slices.Concat([]Metric{
		{"cpu-µs/page", float64(u.cpu.Microseconds()) / pages},
		{"pages/s", float64(c.Fetched) / u.wall.Seconds()},
		{"segments", float64(c.Segments)},
		{"written-KB/page", float64(u.written) / 1024 / pages},
		{"peak-MB", float64(u.peakKB) / 1024},
	}, r.growth(), made)}, c.Fetched, nil
}

// crawl runs the crawler and looks at it.
func (o *PoliteOptions) crawl(
	ctx context.Context, dir string, delay time.Duration, limit []string, r *LongRun,
) (usage, error) {
	c, err := start(ctx, dir, o.Binary, append([]string{
		"crawl", "--dir", "data", "--seeds", "seeds", "--hosts", "hosts", "--allow-private", "--scope", "any",
		"--delay", delay.String(), "--concurrency", strconv.Itoa(o.Fetchers), "--json", "--quiet",
	}, limit...)...)
	if err != nil {
		return usage{}, err
	}
	return r.follow(ctx, c, filepath.Join(dir, "data"), o.Fetched)
}

// filesMade counts the WARC files and the tables of a crawl's directory.
func filesMade(data string) ([]Metric, error) {
	warcs, err := filepath.Glob(filepath.Join(data, "warc", "*.warc.gz"))
	if err != nil {
		return nil, err
	}
	tables, err := filepath.Glob(filepath.Join(data, "store", "*.sst"))
	if err != nil {
		return nil, err
	}
	var bytes int64
	small := 0
	for _, table := range tables {
		info, err := os.Stat(table)
		if err != nil {
			return nil, err
		}
		if bytes += info.Size(); info.Size() < smallTable {
			small++
		}
	}
	return []Metric{
		{"WARC-files", float64(len(warcs))}, {"tables", float64(len(tables))}, {"small-tables", float64(small)},
		{"KB/table", float64(bytes) / 1024 / float64(max(1, len(tables)))},
	}, nil
}
