// SPDX-License-Identifier: Apache-2.0

package engine_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/seine-crawler/seine/engine"
	"github.com/seine-crawler/seine/engine/fetch"
	"github.com/seine-crawler/seine/engine/policy"
	"github.com/seine-crawler/seine/storage"
	"github.com/seine-crawler/seine/storage/urlkey"
)

// TestMain lets the test binary be the crawl that is killed.
func TestMain(m *testing.M) {
	if dir := os.Getenv("SEINE_TEST_CRAWL"); dir != "" {
		if err := crawlAsChild(dir, os.Getenv("SEINE_TEST_HOSTS"), os.Getenv("SEINE_TEST_SEED")); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// crawlAsChild crawls, printing each URL once its outcome is on disk.
func crawlAsChild(dir, hostsFile, seed string) error {
	hosts, err := fetch.LoadHosts(hostsFile)
	if err != nil {
		return err
	}
	e, err := engine.Open(engine.Options{Dir: dir, Memory: 64 << 20, Delay: -1, AllowPrivate: true, Scope: policy.ScopeAny, Concurrency: 8, Hosts: hosts,
		Events: engine.EventListener{PageStored: func(u urlkey.URL, _ *storage.FetchOutcome) { fmt.Println(u.String()) }}})
	if err != nil {
		return err
	}
	if _, err := e.Crawl(context.Background(), engine.CrawlOptions{Inject: engine.InjectOptions{URLs: []string{seed}}}); err != nil {
		return err
	}
	return e.Close()
}

// hostsFile writes the world's names for a child process.
func (w *world) hostsFile() string {
	name := w.t.TempDir() + "/hosts"
	f, err := os.Create(name)
	if err != nil {
		w.t.Fatal(err)
	}
	defer f.Close()
	if err := w.HostsFile(f); err != nil {
		w.t.Fatal(err)
	}
	return name
}

// TestKill: a crawl that is killed at ten random moments, and started again each time, ends with the
// same crawldb, linkdb and index as one that was left alone, and everything it had acknowledged is
// there after each kill.
func TestKill(t *testing.T) {
	w := newWorld(t, 16, 150)
	whole := dataDir(t)
	w.crawl(w.options(whole), engine.CrawlOptions{Inject: w.seeds()})
	e := open(t, w.options(whole))
	want := digest(t, e)
	mustClose(t, e)

	dir, hosts := dataDir(t), w.hostsFile()
	rng := rand.New(rand.NewPCG(1, 7))
	acked := map[string]bool{}
	kills := 0
	for range 60 {
		wait := time.Duration(0)
		if kills < 10 {
			wait = time.Duration(5+rng.IntN(90)) * time.Millisecond
		}
		out, killed := crawlAndKill(t, dir, hosts, w.Web.Root(0), wait)
		for _, u := range strings.Fields(out) {
			acked[u] = true
		}
		if !killed {
			break
		}
		kills++
		mustKeep(t, w.options(dir), acked)
	}
	if kills < 10 {
		t.Errorf("only %d kills before the crawl was done: make the web larger", kills)
	}
	e = open(t, w.options(dir))
	defer mustClose(t, e)
	w.checkTruth(e)
	verify(t, e)
	sameDigest(t, digest(t, e), want)
}

// crawlAndKill runs the crawl in a process of its own and kills it after a while (0: never).
func crawlAndKill(t *testing.T, dir, hosts, seed string, after time.Duration) (out string, killed bool) {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "SEINE_TEST_CRAWL="+dir, "SEINE_TEST_HOSTS="+hosts, "SEINE_TEST_SEED="+seed)
	var stdout, stderr strings.Builder
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if after > 0 {
		timer := time.AfterFunc(after, func() { cmd.Process.Kill() })
		defer timer.Stop()
	}
	err := cmd.Wait()
	if err != nil && cmd.ProcessState.ExitCode() != -1 {
		t.Fatalf("crawl: %v: %s", err, stderr.String())
	}
	text := stdout.String()
	return text[:strings.LastIndexByte(text, '\n')+1], err != nil
}

// mustKeep opens the store after a kill, seals what was open and looks for every acknowledged URL.
func mustKeep(t *testing.T, o engine.Options, acked map[string]bool) {
	t.Helper()
	e := open(t, o)
	defer mustClose(t, e)
	if err := e.Recover(context.Background()); err != nil {
		t.Fatal(err)
	}
	for u := range acked {
		r, err := e.Inspect().Record(u)
		if err != nil || r.LastFetch.IsZero() {
			t.Errorf("%s was acknowledged and is lost: %v", u, err)
		}
	}
	if t.Failed() {
		t.FailNow()
	}
}
