// SPDX-License-Identifier: Apache-2.0

package measure

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"golang.org/x/sys/unix"

	"github.com/seine-crawler/seine/bench/simweb"
)

// LongOptions say what Long measures. All fields but Dir are required.
type LongOptions struct {
	Binary string // path of seine's executable
	// Pages and Hosts are those of the web. Short is how many of its pages the crawl fetches that the long one is
	// compared with.
	Pages, Hosts, Short int
	Dir                 string // for data; "": the system's temporary folder
	// Fetched asks the crawl of a data directory how many pages it has fetched. ok is false if it does not answer. It
	// is called on the goroutine of Long, every second.
	Fetched func(ctx context.Context, data string) (pages int, ok bool)
	// Line is called with every result as it comes, Log with a text before each run, both on the goroutine of Long.
	Line func(Line)
	Log  func(string)
}

// LongSample is a moment of a crawl.
type LongSample struct {
	At    time.Duration // since the first page
	Pages int           // that were fetched
	CPU   time.Duration // of the crawler's process since it began
}

// LongRun is how a crawl went, from its first page until no more were fetched, a sample a second.
type LongRun struct{ Samples []LongSample }

// longWindow is the time over which rates are looked at.
const longWindow = 10 * time.Second

// longTick is the time between two looks at a crawl.
const longTick = time.Second

// Long crawls a web as far as Short pages and then, into another data directory, to its end, and returns how the second
// crawl went. What a page costs and how many are fetched a second should be the same in both and throughout: a crawler
// whose work grows with what it knows fails that.
//
// A line has the processor time of a page, to the end of the process, how much that is of what it takes in the short
// crawl, pages/s while pages are fetched, the least of these in ten seconds as a part of the mean, and peak memory.
func Long(ctx context.Context, o LongOptions) (whole LongRun, err error) {
	short, _, err := o.round(ctx, o.Short)
	if err != nil {
		return whole, err
	}
	long, whole, err := o.round(ctx, 0)
	if err != nil {
		return whole, err
	}
	for _, l := range []*Line{&short, &long} {
		mine, _ := l.Value("cpu-µs/page")
		least, _ := short.Value("cpu-µs/page")
		l.Metrics = append(l.Metrics, Metric{"cpu/short", mine / least})
		o.Line(*l)
	}
	return whole, nil
}

// round is one crawl, up to a number of pages; 0: all.
func (o *LongOptions) round(ctx context.Context, most int) (l Line, r LongRun, err error) {
	w, err := syntheticWorld("", o.Hosts, max(1, o.Pages/o.Hosts))
	if err != nil {
		return l, r, err
	}
	pages := w.pages
	if most > 0 {
		pages = min(most, pages)
	}
	l.Name = fmt.Sprintf("Long/hosts=%d/pages=%d", o.Hosts, pages)
	o.Log(l.Name)
	dir, err := os.MkdirTemp(o.Dir, "seine-bench-")
	if err != nil {
		return l, r, err
	}
	defer os.RemoveAll(dir)
	server, err := start(ctx, dir, o.Binary, append([]string{
		"simweb", "--json", "--hosts-file", "hosts", "--seeds-file", "seeds",
	}, w.args...)...)
	if err != nil {
		return l, r, err
	}
	for _, file := range []string{"hosts", "seeds"} {
		if err := server.waitForFile(ctx, filepath.Join(dir, file)); err != nil {
			return l, r, err
		}
	}
	u, crawlErr := o.crawl(ctx, dir, most, &r)
	served, err := server.interrupt()
	if err := errors.Join(crawlErr, err); err != nil {
		return l, r, err
	}
	var report simweb.Report
	if err := json.Unmarshal(served.stdout, &report); err != nil {
		return l, r, fmt.Errorf("simweb's report %q: %w", served.stdout, err)
	}
	var c crawled
	if err := json.Unmarshal(u.stdout, &c); err != nil {
		return l, r, fmt.Errorf("the report of %s %q: %w", l.Name, u.stdout, err)
	}
	if report.Twice > 0 || !report.Polite() || c.Fetched < pages || most == 0 && c.Fetched != pages {
		return l, r, fmt.Errorf("%s: of %d pages %d were fetched: %s", l.Name, pages, c.Fetched, report)
	}
	rate, least := r.rates()
	if rate == 0 { // it was over before there was a second look
		rate = float64(c.Fetched) / u.wall.Seconds()
		least = rate
	}
	l.Count = c.Fetched
	l.Metrics = []Metric{
		{"cpu-µs/page", float64(u.cpu.Microseconds()) / float64(c.Fetched)},
		{"pages/s", rate},
		{"least-pages/s", least},
		{"least/mean", least / rate},
		{"drain-s", c.Draining},
		{"peak-MB", float64(u.peakKB) / 1024},
	}
	return l, r, nil
}

// crawl runs the crawler and looks at it.
func (o *LongOptions) crawl(ctx context.Context, dir string, most int, r *LongRun) (usage, error) {
	args := []string{
		"crawl", "--dir", "data", "--seeds", "seeds", "--hosts", "hosts", "--allow-private", "--scope", "any",
		"--delay", "0s", "--json", "--quiet",
	}
	if most > 0 {
		args = append(args, "--max-pages", strconv.Itoa(most))
	}
	c, err := start(ctx, dir, o.Binary, args...)
	if err != nil {
		return usage{}, err
	}
	return r.follow(ctx, c, filepath.Join(dir, "data"), o.Fetched)
}

// follow looks at a crawl every second until it has ended.
func (r *LongRun) follow(
	ctx context.Context, c *child, data string, fetched func(context.Context, string) (int, bool),
) (usage, error) {
	tick := time.NewTicker(longTick)
	defer tick.Stop()
	var first time.Time
	for {
		select {
		case <-c.done:
			r.trim()
			return c.wait()
		case now := <-tick.C:
			pages, ok := fetched(ctx, data)
			if !ok || pages == 0 {
				continue // it begins or ends
			}
			cpu, err := processTimeOf(c.cmd.Process.Pid)
			if err != nil {
				continue // it has ended
			}
			if len(r.Samples) == 0 {
				first = now
			}
			r.Samples = append(r.Samples, LongSample{At: now.Sub(first), Pages: pages, CPU: cpu})
		}
	}
}

// processTimeOf is the processor time that a process has used.
func processTimeOf(pid int) (time.Duration, error) {
	// Linux numbers the clocks of processes so: see clock_getcpuclockid(3).
	const ofProcess = 2
	var t unix.Timespec
	err := unix.ClockGettime(int32(^pid<<3|ofProcess), &t)
	return time.Duration(t.Nano()), err
}

// trim drops the samples after the last page.
func (r *LongRun) trim() {
	for n := len(r.Samples); n > 1 && r.Samples[n-2].Pages == r.Samples[n-1].Pages; n-- {
		r.Samples = r.Samples[:n-1]
	}
}

// rate returns the pages a second between two samples.
func rate(a, b LongSample) float64 { return float64(b.Pages-a.Pages) / (b.At - a.At).Seconds() }

// rates returns the mean pages a second, and the least of any longWindow, or of the whole if that is shorter.
func (r *LongRun) rates() (mean, least float64) {
	s := r.Samples
	if len(s) < 2 {
		return 0, 0
	}
	mean = rate(s[0], s[len(s)-1])
	least = mean
	for from, i := 0, 0; i < len(s); i++ {
		for from+1 < i && s[i].At-s[from+1].At >= longWindow-longTick/2 {
			from++
		}
		if s[i].At-s[from].At >= longWindow-longTick/2 {
			least = min(least, rate(s[from], s[i]))
		}
	}
	return mean, least
}

// growth is what a page of the last quarter costs, in units of what one of the first does; nothing if that is not
// known.
func (r *LongRun) growth() []Metric {
	first, last := r.quarters()
	if first == 0 {
		return nil
	}
	return []Metric{{"last/first", float64(last) / float64(first)}}
}

// quarters returns what one of the first quarter of the pages costs, and one of the last; 0, 0: it was looked at too
// few times.
func (r *LongRun) quarters() (first, last time.Duration) {
	s := r.Samples
	if len(s) < 5 {
		return 0, 0
	}
	begin, end := s[0], s[len(s)-1]
	at := func(part int) LongSample {
		pages := begin.Pages + (end.Pages-begin.Pages)*part/4
		i, _ := slices.BinarySearchFunc(s, pages, func(l LongSample, n int) int { return cmp.Compare(l.Pages, n) })
		return s[i]
	}
	cost := func(a, b LongSample) time.Duration { return (b.CPU - a.CPU) / time.Duration(max(1, b.Pages-a.Pages)) }
	return cost(begin, at(1)), cost(at(3), end)
}
