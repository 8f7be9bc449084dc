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
	"strings"

	"github.com/seine-crawler/seine/bench/hostile"
)

// PeakOptions say what Peaks measures. Binary, Line and Log are required.
type PeakOptions struct {
	Binary   string   // path of seine's executable
	Kinds    []string // of hostile.HeavyKinds; nil: all
	Memory   []int    // --memory, in MB; nil: 256 and 512
	Fetchers []int    // --concurrency; nil: 64 and 200
	// Most is the permitted ratio of a peak to --memory; 0: any. What exceeds it is an error, after all runs.
	Most float64
	Dir  string // for data; "": the system's temporary folder
	// Line is called with every result as it comes, Log with a text before each run, both on the goroutine of Peaks.
	Line func(Line)
	Log  func(string)
}

// linkPages is how many pages of a web of many links are crawled: their links are more than a million URLs.
const linkPages = 550

// Peaks crawls heavy webs (see hostile.Heavy) in processes of their own and measures the largest resident set of each.
// There are as many hosts as fetchers, so that all of them hold as much as they can.
func Peaks(ctx context.Context, o PeakOptions) error {
	if o.Kinds == nil {
		o.Kinds = hostile.HeavyKinds
	}
	if o.Memory == nil {
		o.Memory = []int{256, 512}
	}
	if o.Fetchers == nil {
		o.Fetchers = []int{64, 200}
	}
	var over []error
	for _, kind := range o.Kinds {
		if !slices.Contains(hostile.HeavyKinds, kind) {
			return fmt.Errorf("there is no heavy web of %q: want %s", kind, strings.Join(hostile.HeavyKinds, ", "))
		}
		for _, memory := range o.Memory {
			for _, fetchers := range o.Fetchers {
				o.Log(fmt.Sprintf("peak of %s, --memory %dMB, %d fetchers", kind, memory, fetchers))
				l, ratio, err := o.round(ctx, kind, memory, fetchers)
				if err != nil {
					return err
				}
				o.Line(l)
				if o.Most > 0 && ratio > o.Most {
					over = append(over, fmt.Errorf("%s: the peak is %.2f times --memory, want at most %.2f",
						l.Name, ratio, o.Most))
				}
			}
		}
	}
	return errors.Join(over...)
}

func (o *PeakOptions) round(ctx context.Context, kind string, memory, fetchers int) (l Line, ratio float64, err error) {
	dir, err := os.MkdirTemp(o.Dir, "seine-bench-")
	if err != nil {
		return l, 0, err
	}
	defer os.RemoveAll(dir)
	web, err := hostile.StartHeavy(kind, fetchers, 1)
	if err != nil {
		return l, 0, err
	}
	defer web.Close()
	for name, text := range map[string]string{"hosts": web.Hosts(), "seeds": strings.Join(web.Seeds(), "\n")} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			return l, 0, err
		}
	}
	args := []string{
		"crawl", "--dir", "data", "--seeds", "seeds", "--hosts", "hosts", "--allow-private", "--delay", "0s",
		"--memory", strconv.Itoa(memory) + "MB", "--concurrency", strconv.Itoa(fetchers), "--json", "--quiet",
	}
	want := fetchers
	if kind == "links" {
		want = linkPages
		args = append(args, "--max-pages", strconv.Itoa(linkPages))
	}
	u, err := run(ctx, dir, o.Binary, args...)
	if err != nil {
		return l, 0, err
	}
	var c crawled
	if err := json.Unmarshal(u.stdout, &c); err != nil {
		return l, 0, fmt.Errorf("the report of a crawl %q: %w", u.stdout, err)
	}
	if c.Fetched != want {
		return l, 0, fmt.Errorf("%d pages of a heavy web of %s were fetched, want %d", c.Fetched, kind, want)
	}
	peak := float64(u.peakKB) / 1024 // MB as in --memory
	ratio = peak / float64(memory)
	return Line{
		Name:  fmt.Sprintf("Peak/%s/memory=%dMB/fetchers=%d", kind, memory, fetchers),
		Count: c.Fetched,
		Metrics: []Metric{
			{"peak-MB", peak}, {"peak/memory", ratio}, {"URLs", float64(c.Discovered)},
			{"pages/s", float64(c.Fetched) / u.wall.Seconds()},
		},
	}, ratio, nil
}
