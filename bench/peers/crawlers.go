// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// visit is the input of a crawler.
type visit struct {
	folders
	web         *web
	data        string // a folder that it may create; removed afterwards
	concurrency int
	max         int // pages; 0: to the end
}

func (v *visit) args() (concurrency, maxPages string) {
	return fmt.Sprint(v.concurrency), fmt.Sprint(v.max)
}

// withHosts runs a program that has no option for a hosts file.
func (v *visit) withHosts(program string, args ...string) *exec.Cmd {
	return exec.Command(
		filepath.Join(v.peers, "with-hosts.sh"),
		append([]string{v.web.hostsFile, v.web.Front, program}, args...)...,
	)
}

// crawler is a crawler that can be measured.
type crawler struct {
	name    string
	remark  string                                     // what it does less, or differently
	prepare func(ctx context.Context, d folders) error // its error says why it is not available
	command func(v visit) *exec.Cmd                    // runs until the web is crawled
	okExits []int                                      // beside 0
}

// crawlers are all crawlers, in the order of the table.
var crawlers = []*crawler{
	{
		name:    "seine",
		remark:  "stores WARC and records, indexes; one request at once to a host",
		prepare: findSeine,
		command: func(v visit) *exec.Cmd { return seineCommand(v) },
	},
	{
		name:    "seine-no-index",
		remark:  "stores WARC and records; no index",
		prepare: findSeine,
		command: func(v visit) *exec.Cmd { return seineCommand(v, "--set", "no-index=true") },
	},
	{
		name:    "colly",
		remark:  "no store, no index; queue in memory; with a set of visited URLs of the program's own",
		prepare: func(ctx context.Context, d folders) error { return buildGo(ctx, d, "colly") },
		command: func(v visit) *exec.Cmd { return goCommand(v, "colly", "-own-visited") },
	},
	{
		name:    "colly-bare",
		remark:  "the same without that set: colly's check and mark are two steps, so URLs come twice",
		prepare: func(ctx context.Context, d folders) error { return buildGo(ctx, d, "colly") },
		command: func(v visit) *exec.Cmd { return goCommand(v, "colly") },
	},
	{
		name:    "nethttp",
		remark:  "no store, no index; queue in memory; written for this comparison",
		prepare: func(ctx context.Context, d folders) error { return buildGo(ctx, d, "nethttp") },
		command: func(v visit) *exec.Cmd { return goCommand(v, "nethttp") },
	},
	{
		name:    "scrapy",
		remark:  "no store, no index; one process, one core",
		prepare: installed("venv/bin/scrapy"),
		command: func(v visit) *exec.Cmd {
			c, n := v.args()
			cmd := exec.Command(filepath.Join(v.out, "venv/bin/scrapy"),
				"runspider", filepath.Join(v.peers, "scrapy/spider.py"),
				"-a", "seed="+v.web.Seed, "-a", "hosts="+v.web.hostsFile,
				"-s", "CONCURRENT_REQUESTS="+c, "-s", "CONCURRENT_REQUESTS_PER_DOMAIN="+c,
				"-s", "CLOSESPIDER_PAGECOUNT="+n)
			cmd.Dir = v.out
			return cmd
		},
	},
	{
		name:    "crawlee",
		remark:  "no store, no index; one process, one core beside garbage collection",
		prepare: both(both(inPath("node"), installed("crawlee/node_modules/@crawlee/cheerio")), ownHosts),
		command: func(v visit) *exec.Cmd {
			c, n := v.args()
			cmd := v.withHosts("node", filepath.Join(v.peers, "crawlee/crawler.mjs"), v.web.Seed, c, n)
			cmd.Env = append(
				os.Environ(), "NODE_MODULES="+filepath.Join(v.out, "crawlee/node_modules"),
				"CRAWLEE_STORAGE_DIR="+v.data,
			)
			return cmd
		},
	},
	{
		name:    "wget2",
		remark:  "keeps pages as files, no index; has no limit of pages",
		prepare: inPath("wget2"),
		command: func(v visit) *exec.Cmd {
			c, _ := v.args()
			return v.withHosts("wget2", "--recursive", "--level=0", "--span-hosts", "--max-threads="+c, "--robots=on",
				"--no-config", "--tries=1", "--force-directories", "--directory-prefix="+v.data, "--no-verbose",
				v.web.Seed)
		},
		okExits: []int{8}, // some response was an error
	},
	{
		name: "spider-rs",
		remark: "no store, no index; is given the list of hosts, as it does not go from host to host; " +
			"one request at once to a host; -max is by host",
		prepare: installed("spider-rs/release/spider-peer"),
		command: func(v visit) *exec.Cmd {
			c, n := v.args()
			return v.withHosts(filepath.Join(v.out, "spider-rs/release/spider-peer"), v.web.Seed, v.web.hostsFile, c, n)
		},
	},
}

// chooseCrawlers prepares the named crawlers. Without names it takes all that are available and reports why the others
// are not.
func chooseCrawlers(ctx context.Context, d folders, names string) (chosen []*crawler, err error) {
	wanted := split(names)
	for _, name := range wanted {
		if !slices.ContainsFunc(crawlers, func(c *crawler) bool { return c.name == name }) {
			var known []string
			for _, c := range crawlers {
				known = append(known, c.name)
			}
			return nil, fmt.Errorf("no crawler %q; there are %s", name, strings.Join(known, ", "))
		}
	}
	for _, c := range crawlers {
		if len(wanted) > 0 && !slices.Contains(wanted, c.name) {
			continue
		}
		err := c.prepare(ctx, d)
		switch {
		case err == nil:
			chosen = append(chosen, c)
		case len(wanted) > 0:
			return nil, fmt.Errorf("%s: %w", c.name, err)
		default:
			fmt.Fprintf(os.Stderr, "peers: without %s: %v\n", c.name, err)
		}
	}
	if len(chosen) == 0 {
		return nil, errors.New("no crawler is available, see above")
	}
	return chosen, nil
}

func findSeine(_ context.Context, d folders) error {
	if _, err := os.Stat(d.seine); err != nil {
		return fmt.Errorf("%w; make build makes it", err)
	}
	return nil
}

func seineCommand(v visit, more ...string) *exec.Cmd {
	c, n := v.args()
	args := []string{
		"crawl", "--dir", v.data, "--seeds", v.web.seedsFile, "--hosts", v.web.hostsFile, "--allow-private",
		"--scope", "any", "--delay", "0s", "--concurrency", c, "--max-pages", n, "--json", "--quiet",
	}
	return exec.Command(v.seine, append(args, more...)...)
}

// buildGo builds one of the crawlers of this module.
func buildGo(ctx context.Context, d folders, name string) error {
	cmd := exec.CommandContext(ctx, "go", "build", "-o", filepath.Join(d.out, "bin", name), "./"+name)
	cmd.Dir = d.peers
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("go build: %w\n%s", err, out)
	}
	return nil
}

func goCommand(v visit, name string, more ...string) *exec.Cmd {
	c, n := v.args()
	return exec.Command(
		filepath.Join(v.out, "bin", name),
		append([]string{"-seed", v.web.Seed, "-hosts", v.web.hostsFile, "-concurrency", c, "-max", n}, more...)...,
	)
}

func installed(path string) func(context.Context, folders) error {
	return func(_ context.Context, d folders) error {
		if _, err := os.Stat(filepath.Join(d.out, path)); err != nil {
			return fmt.Errorf("it is not installed: install.sh puts it into %s", filepath.Join("bench/out/peers", path))
		}
		return nil
	}
}

func inPath(name string) func(context.Context, folders) error {
	return func(context.Context, folders) error {
		if _, err := exec.LookPath(name); err != nil {
			return fmt.Errorf("%w; install.sh tries to install it", err)
		}
		return nil
	}
}

// ownHosts fails where with-hosts.sh must use the proxy: crawlee requests robots.txt past its proxy, and waits each
// time for that to fail.
func ownHosts(ctx context.Context, _ folders) error {
	if out, err := exec.CommandContext(
		ctx, "unshare", "--user", "--map-root-user", "--mount", "true",
	).CombinedOutput(); err != nil {
		return fmt.Errorf(
			"this system allows no mount namespace, which it needs for its names: unshare: %w: %s", err,
			strings.TrimSpace(string(out)),
		)
	}
	return nil
}

func both(a, b func(context.Context, folders) error) func(context.Context, folders) error {
	return func(ctx context.Context, d folders) error { return errors.Join(a(ctx, d), b(ctx, d)) }
}
