// SPDX-License-Identifier: Apache-2.0

package engine_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
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
	for name, run := range map[string]func(dir string) error{
		"SEINE_TEST_CRAWL": crawlAsChild, "SEINE_TEST_REPAIR": repairAsChild, "SEINE_TEST_LOCKED": lockedForChild,
	} {
		if dir := os.Getenv(name); dir != "" {
			if err := run(dir); err != nil {
				fmt.Fprintln(os.Stderr, err)
				os.Exit(1)
			}
			os.Exit(0)
		}
	}
	os.Exit(m.Run())
}

// crawlAsChild crawls, printing each URL once its outcome is on disk. The environment says what.
func crawlAsChild(dir string) error {
	o, err := childOptions(dir)
	if err != nil {
		return err
	}
	o.Events.PageStored = func(u urlkey.URL, _ *storage.FetchOutcome) { fmt.Println(u.String()) }
	e, err := engine.Open(o)
	if err != nil {
		return err
	}
	seeds := engine.InjectOptions{URLs: strings.Fields(os.Getenv("SEINE_TEST_SEEDS"))}
	if _, err := e.Crawl(context.Background(), engine.CrawlOptions{Inject: seeds}); err != nil {
		return err
	}
	return e.Close()
}

// childOptions are those that the environment says.
func childOptions(dir string) (engine.Options, error) {
	hosts, err := fetch.LoadHosts(os.Getenv("SEINE_TEST_HOSTS"))
	if err != nil {
		return engine.Options{}, err
	}
	scope, err := policy.ParseScope(os.Getenv("SEINE_TEST_SCOPE"))
	return engine.Options{
		Dir: dir, Memory: 64 << 20, Delay: -1, AllowPrivate: true, Scope: scope, Concurrency: 8, Hosts: hosts,
	}, err
}

// repairAsChild repairs a directory, or makes its store anew if it has none.
func repairAsChild(dir string) error {
	o, err := childOptions(dir)
	if err != nil {
		return err
	}
	if os.Getenv("SEINE_TEST_REBUILD") != "" {
		_, err = engine.Rebuild(context.Background(), o)
	} else {
		_, err = engine.Repair(context.Background(), o)
	}
	return err
}

// TestKill: a crawl that is killed at random moments and started again each time ends with the same crawldb, linkdb and
// index as an undisturbed one. After each kill everything that it had acknowledged is there.
func TestKill(t *testing.T) {
	pages, kills := 150, 10
	if testing.Short() { // under the race detector, with which a process takes long to start
		pages, kills = 60, 4
	}
	for _, c := range []struct {
		name  string
		start func(t *testing.T) equalWeb
		kills int
	}{
		{"any host", func(t *testing.T) equalWeb { return anyHostWeb(t, 16, pages) }, kills},
		{"seeds' domains", equalWebs["seeds' domains"], 4},
		{"redirecting seeds, hosts", equalWebs["redirecting seeds, hosts"], 4},
		{"redirecting seeds, folders", equalWebs["redirecting seeds, folders"], 4},
	} {
		t.Run(c.name, func(t *testing.T) { killAndResume(t, c.start(t), c.kills) })
	}
}

func killAndResume(t *testing.T, w equalWeb, want int) {
	whole := w.options(dataDir(t))
	crawlInTurns(t, whole, w.seeds, 0)
	left := open(t, whole)
	defer mustClose(t, left)
	w.check(t, left)

	hosts := hostsFile(t, w.hosts)
	longest := 90 * time.Millisecond
	o, kills := killOften(t, w, hosts, want, longest)
	for ; kills < want && longest > time.Millisecond; longest /= 2 { // the machine is fast: kill earlier
		o, kills = killOften(t, w, hosts, want, longest/2)
	}
	if kills < want {
		t.Errorf("only %d kills before the crawl was done: make the web larger", kills)
	}
	e := open(t, o)
	defer mustClose(t, e)
	verify(t, e)
	sameDigest(t, digest(t, e), digest(t, left))
}

// killOften crawls in a directory until the crawl is done. It kills the first runs, as many as wanted, each at a moment
// up to 5 ms and the longest wait after its start, and returns how many it killed.
func killOften(t *testing.T, w equalWeb, hosts string, want int, longest time.Duration) (o engine.Options, kills int) {
	t.Helper()
	o = w.options(dataDir(t))
	rng := rand.New(rand.NewPCG(1, 7))
	acked := map[string]bool{}
	for range 60 {
		wait := time.Duration(0)
		if kills < want {
			wait = 5*time.Millisecond + time.Duration(rng.Int64N(int64(longest)))
		}
		out, killed := crawlAndKill(t, o, hosts, w.seeds.URLs, wait)
		for _, u := range strings.Fields(out) {
			acked[u] = true
		}
		if !killed {
			break
		}
		kills++
		mustKeep(t, o, acked)
	}
	return o, kills
}

// hostsFile writes names and addresses for a child process.
func hostsFile(t *testing.T, hosts fetch.Hosts) string {
	t.Helper()
	var b strings.Builder
	for host, addresses := range hosts {
		fmt.Fprintln(&b, addresses[0], host)
	}
	name := filepath.Join(t.TempDir(), "hosts")
	if err := os.WriteFile(name, []byte(b.String()), 0o666); err != nil {
		t.Fatal(err)
	}
	return name
}

// crawlAndKill runs the crawl in a process of its own and kills it after a while (0: never).
func crawlAndKill(
	t *testing.T, o engine.Options, hosts string, seeds []string, after time.Duration,
) (out string, killed bool) {
	t.Helper()
	return runAndKill(t, after, "SEINE_TEST_CRAWL="+o.Dir, "SEINE_TEST_HOSTS="+hosts,
		"SEINE_TEST_SCOPE="+o.Scope.String(), "SEINE_TEST_SEEDS="+strings.Join(seeds, " "))
}

// runAndKill runs a child with an environment and kills it after a while (0: never).
func runAndKill(t *testing.T, after time.Duration, env ...string) (out string, killed bool) {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), env...)
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
		t.Fatalf("%s: %v: %s", env[0], err, stderr.String())
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
