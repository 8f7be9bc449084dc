// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

type loadOptions struct {
	peers, documents, root, work, profile string
	pages, connections, memory            int
	rate, crawlRate                       float64
	crawlPages, crawls                    int
	span                                  time.Duration
}

func loadMain(ctx context.Context, f *flag.FlagSet, args []string) error {
	o := loadOptions{}
	f.StringVar(&o.peers, "peers", "api,page,bleve,first,crawl", "comma-separated measurements")
	f.StringVar(&o.documents, "documents", "", "file of documents (default: passages are made, as by speed)")
	f.StringVar(&o.root, "root", "", "folder with unpacked Debian packages (default: realweb's)")
	f.StringVar(&o.work, "work", "", "folder for what is built, and used again (default: bench/out/peers/load)")
	f.StringVar(&o.profile, "profile", "", "folder for CPU profiles of the servers")
	f.IntVar(&o.pages, "pages", 1_000_000, "pages")
	f.Float64Var(&o.rate, "rate", 2000, "searches a second")
	f.DurationVar(&o.span, "time", time.Minute, "how long")
	f.IntVar(&o.connections, "connections", 64, "connections")
	f.IntVar(&o.memory, "memory", storeMemory>>20, "MiB that seine's server may take")
	f.Float64Var(&o.crawlRate, "crawl-rate", 20, "searches a second during a crawl")
	f.IntVar(&o.crawlPages, "crawl-pages", 50_000, "pages of each crawl")
	f.IntVar(&o.crawls, "crawls", 2, "crawls with and without searches")
	if err := f.Parse(args); err != nil {
		return err
	}
	return load(ctx, o)
}

// load makes what is missing of the stores, then measures.
func load(ctx context.Context, o loadOptions) error {
	d, err := findFolders()
	if err != nil {
		return err
	}
	if o.work == "" {
		o.work = filepath.Join(d.out, "load")
	}
	work := filepath.Join(o.work, strconv.Itoa(o.pages))
	if err := os.MkdirAll(work, 0o755); err != nil {
		return err
	}
	if o.documents == "" {
		if o.documents, err = loadDocuments(d, o, work); err != nil {
			return err
		}
	}
	w, err := openPassages(o.documents, o.pages)
	if err != nil {
		return err
	}
	defer w.file.Close()
	wants := func(name string) bool { return slices.Contains(split(o.peers), name) }
	store, bleveDir := filepath.Join(work, "seine"), filepath.Join(work, "bleve")
	if err := once(store, "seine's store", func() error { return buildStore(ctx, w, store) }); err != nil {
		return err
	}
	if wants("bleve") {
		if err := once(bleveDir, "bleve's index", func() error { return buildBleve(w, bleveDir) }); err != nil {
			return err
		}
	}
	count := int(o.rate * o.span.Seconds())
	log, err := drawLog(w, count+count/10+firstPages+newQueries)
	if err != nil {
		return err
	}
	log, further := log[:count+count/10], log[count+count/10:]
	fmt.Fprintln(os.Stderr, describeLog(log))
	printHeader()
	for _, name := range []string{"api", "page", "bleve"} {
		if wants(name) {
			dir := store
			if name == "bleve" {
				dir = bleveDir
			}
			if err := loadOne(ctx, d, o, name, dir, log); err != nil {
				return err
			}
		}
	}
	if wants("first") {
		if err := firstPage(ctx, d, o, store, warming(log), further); err != nil {
			return err
		}
	}
	if wants("crawl") {
		return crawlBeside(ctx, d, o, store, log)
	}
	return nil
}

// loadDocuments makes the passages, as speed does.
func loadDocuments(d folders, o loadOptions, work string) (string, error) {
	name := filepath.Join(work, "documents.tsv")
	if o.root == "" {
		o.root = defaultRoot(d)
	}
	return name, once(name, "the passages", func() error {
		manuals, pages, err := manualsCorpus(o.root, name+".manuals")
		if err == nil {
			err = os.Remove(manuals.file)
		}
		if err == nil {
			_, err = passagesCorpus(pages, o.pages, name)
		}
		return err
	})
}

// once makes a file or a folder, unless an earlier run has completed it.
func once(name, what string, make func() error) error {
	if _, err := os.Stat(name + ".done"); err == nil {
		return nil
	}
	fmt.Fprintf(os.Stderr, "making %s …", what)
	start := time.Now()
	if err := os.RemoveAll(name); err != nil {
		return err
	}
	if err := make(); err != nil {
		return fmt.Errorf("making %s: %w", what, err)
	}
	fmt.Fprintf(os.Stderr, " %.0f s\n", time.Since(start).Seconds())
	return os.WriteFile(name+".done", nil, 0o644)
}

// target says which server a measurement asks, and how.
func target(name string, a *asked) (path string) {
	v := url.Values{}
	offset := strconv.Itoa((a.page - 1) * 10)
	switch name {
	case "api":
		v.Set("q", a.text())
		v.Set("limit", "10")
		v.Set("offset", offset)
		return "/api/v1/search?" + v.Encode()
	case "page":
		v.Set("q", a.text())
		if a.page > 1 {
			v.Set("page", strconv.Itoa(a.page))
		}
		return "/?" + v.Encode()
	}
	for name, value := range map[string]string{"q": a.words, "kind": a.kind, "filter": a.filter, "offset": offset} {
		v.Set(name, value)
	}
	return "/search?" + v.Encode()
}

// requestsOf are the heads of the requests of a log.
func requestsOf(name, address string, log []asked) [][]byte {
	out := make([][]byte, len(log))
	for i := range log {
		out[i] = fmt.Appendf(nil, "GET %s HTTP/1.1\r\nHost: %s\r\n\r\n", target(name, &log[i]), address)
	}
	return out
}

// patience is how long answers are waited for after the last request was due.
const patience = 10 * time.Second

// warming is the last eleventh of a log, which comes first and does not count: a server that people use has its caches
// and its connections.
func warming(log []asked) []asked { return log[len(log)-len(log)/11:] }

// loadOne sends a log to one server.
func loadOne(ctx context.Context, d folders, o loadOptions, name, dir string, log []asked) (err error) {
	engine := "seine"
	if name == "bleve" {
		engine = name
	}
	s, err := startServer(d, o, engine, dir)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.stop()) }()
	run := loadRun{
		address: s.address, rate: o.rate, connections: o.connections, patience: patience,
		requests: requestsOf(name, s.address, warming(log)), partial: []byte(`"partial":true`),
	}
	run.send(ctx, nil)
	if o.profile != "" {
		if _, err := s.tell("profile " + filepath.Join(o.profile, name+".prof")); err != nil {
			return err
		}
	}
	if _, err := s.tell("spent"); err != nil {
		return err
	}
	run.requests = requestsOf(name, s.address, log[:len(log)-len(warming(log))])
	keptBefore, madeBefore, err := s.answers()
	if err != nil {
		return err
	}
	before := ownCPU()
	r := run.send(ctx, nil)
	sender := ownCPU() - before
	spent, err := s.tell("spent")
	if err != nil {
		return err
	}
	r.print(fmt.Sprintf("Load/pages=%d/%s", o.pages, name), o.rate, spent.CPU, sender)
	kept, made, err := s.answers()
	if kept, made = kept-keptBefore, made-madeBefore; err == nil && kept+made > 0 {
		fmt.Fprintf(os.Stderr, "%-28s %.0f%% of the answers were kept of an earlier one\n", name,
			100*kept/(kept+made))
	}
	return err
}

// print prints a line for benchstat, and one for people.
func (r *loaded) print(name string, rate float64, cpu, sender time.Duration) {
	answers := r.sent - r.failed - r.refused
	micros := float64(cpu.Microseconds()) / float64(max(answers, 1))
	perSecond := float64(answers) / r.span.Seconds()
	fmt.Printf("BenchmarkPeer%s %d %d p50-ns %d p99-ns %d p99.9-ns %d max-ns %.1f answers/s %.1f cpu-µs/answer "+
		"%d failed %d refused %d partial %.0f B/answer\n", name, r.sent, r.at(.5), r.at(.99), r.at(.999), r.at(1), perSecond,
		micros, r.failed, r.refused, r.partial, float64(r.bytes)/float64(max(answers, 1)))
	ms := func(q float64) float64 { return float64(r.at(q).Microseconds()) / 1000 }
	fmt.Fprintf(os.Stderr, "%-28s %5.0f/s asked, %6.1f/s answered; ms: p50 %.1f, p90 %.1f, p99 %.1f, p99.9 %.1f, "+
		"max %.1f; cpu µs each: %.0f, sender %.0f; %d failed, %d refused, %d partial, %.1f KB each\n", name, rate, perSecond,
		ms(.5), ms(.9), ms(.99), ms(.999), ms(1), micros, float64(sender.Microseconds())/float64(max(r.sent, 1)),
		r.failed, r.refused, r.partial, float64(r.bytes)/float64(max(answers, 1))/1000)
	if r.err != nil {
		fmt.Fprintf(os.Stderr, "%-28s the first failure: %v\n", name, r.err)
	}
}

// crawlBeside crawls webs into a copy of the store, with and without searches, in turns.
func crawlBeside(ctx context.Context, d folders, o loadOptions, store string, log []asked) error {
	dir := store + "-crawl"
	if err := errors.Join(os.RemoveAll(dir), os.CopyFS(dir, os.DirFS(store))); err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	var rates [2][]float64
	for i := range 2 * o.crawls {
		searched := (i+i/2)%2 == 1 // without, with, with, without, …
		rate, err := crawlLoad(ctx, d, o, dir, log, searched)
		if err != nil {
			return err
		}
		rates[boolInt(searched)] = append(rates[boolInt(searched)], rate)
	}
	mean := func(v []float64) (m float64) {
		for _, x := range v {
			m += x / float64(len(v))
		}
		return m
	}
	without, with := mean(rates[0]), mean(rates[1])
	fmt.Printf("BenchmarkPeerCrawlBeside/pages=%d %d %.1f pages/s-without %.1f pages/s-with %.1f lost-%%\n", o.pages,
		o.crawls, without, with, 100-100*with/without)
	fmt.Fprintf(os.Stderr, "crawl: %.0f pages/s without searches, %.0f with %.0f a second: it loses %.1f%%\n", without,
		with, o.crawlRate, 100-100*with/without)
	return nil
}

// crawlLoad crawls one web, and returns pages a second.
func crawlLoad(
	ctx context.Context, d folders, o loadOptions, dir string, log []asked, searched bool,
) (rate float64, err error) {
	work, err := os.MkdirTemp(o.work, "web-")
	if err != nil {
		return 0, err
	}
	defer os.RemoveAll(work)
	w, err := startWeb(work, o.crawlPages/200, 200)
	if err != nil {
		return 0, err
	}
	defer func() {
		_, err2 := w.stop()
		err = errors.Join(err, err2)
	}()
	s, err := startServer(d, o, "seine", dir, w.hostsFile)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, s.stop()) }()
	run := loadRun{
		address: s.address, rate: o.rate, connections: o.connections, patience: patience,
		requests: requestsOf("api", s.address, warming(log)), partial: []byte(`"partial":true`),
	}
	run.send(ctx, nil) // also where the crawl is alone: both begin alike
	run.rate, run.requests = o.crawlRate, requestsOf("api", s.address, log)
	over, sent := make(chan struct{}), make(chan loaded, 1)
	if searched {
		if o.profile != "" {
			if _, err := s.tell("profile " + filepath.Join(o.profile, "crawl.prof")); err != nil {
				return 0, err
			}
		}
		go func() { sent <- run.send(ctx, over) }()
	}
	if _, err := s.tell("spent"); err != nil { // until here
		return 0, err
	}
	r, err := s.tell("crawl " + w.seedsFile)
	close(over)
	if err != nil {
		return 0, err
	}
	rate = float64(r.Crawled) / r.Wall.Seconds()
	if searched {
		l := <-sent
		l.print(fmt.Sprintf("LoadBesideCrawl/pages=%d/api", o.pages), o.crawlRate, 0, 0)
	}
	fmt.Fprintf(os.Stderr, "%s %d pages in %.1f s: %.0f pages/s, %.0f cpu-µs/page\n",
		strings.TrimSpace("crawled "+map[bool]string{true: "beside searches", false: ""}[searched]), r.Crawled,
		r.Wall.Seconds(), rate, float64(r.CPU.Microseconds())/float64(max(r.Crawled, 1)))
	return rate, nil
}
