// SPDX-License-Identifier: Apache-2.0

package engine_test

import (
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/seine-crawler/seine/engine"
)

// TestKills kills crawls, repairs of damaged directories and rebuilds of lost stores at random moments, again and again
// until each comes to its end. Nothing that a crawl acknowledged is ever lost, and each directory ends as one that
// nobody disturbed: sound, with the same crawldb, linkdb and index.
func TestKills(t *testing.T) {
	web := anyHostWeb(t, 6, 30)
	whole, want := crawled(t, web)
	k := kills{t: t, web: web, want: withoutScores(want), hosts: hostsFile(t, web.hosts),
		rng: rand.New(rand.NewPCG(uint64(number(damageSeedEnv, 1)), 17))}
	some := 12
	if testing.Short() {
		some = 3 // under the race detector, which does not reach into the processes that are killed at random
	}
	for all := number(killsEnv, some); k.crawls+k.repairs+k.rebuilds < all && !t.Failed(); {
		if k.crawls < all/2 {
			k.crawl()
		}
		k.repair(whole.Dir)
		k.rebuild(whole.Dir)
	}
	t.Logf("kills: %d of crawls, %d of repairs, %d of rebuilds; %d directories came to a sound end",
		k.crawls, k.repairs, k.rebuilds, k.ends)
}

type kills struct {
	t     *testing.T
	web   equalWeb
	want  string // digest without scores
	hosts string // file
	rng   *rand.Rand

	crawls, repairs, rebuilds, ends int
}

// crawl kills a crawl until it is done.
func (k *kills) crawl() {
	k.t.Helper()
	o := k.web.options(dataDir(k.t))
	acked := map[string]bool{}
	for try := range 100 {
		out, killed := crawlAndKill(k.t, o, k.hosts, k.web.seeds.URLs, k.wait(try, 60))
		for _, u := range strings.Fields(out) {
			acked[u] = true
		}
		if !killed {
			break
		}
		k.crawls++
		mustKeep(k.t, o, acked)
	}
	k.end(o)
}

// wait is how long a child may run: longer from try to try, so that it comes to its end.
func (k *kills) wait(try, most int) time.Duration {
	if testing.Short() {
		try *= 40 // there is less time, and a process takes longer to start
	}
	return time.Duration(3+k.rng.IntN(most)+3*try) * time.Millisecond
}

// repair damages a copy of a directory and kills its repair until it is done.
func (k *kills) repair(whole string) {
	k.t.Helper()
	o := k.web.options(dataDir(k.t))
	copyDir(k.t, whole, o.Dir)
	kind := damageKinds[[]int{1, 2, 3, 5, 7, 8}[k.rng.IntN(6)]]
	spoil(k.t, k.rng, o.Dir, kind.record, kind.files, k.rng.IntN(2) == 0)
	k.repairs += k.restart(o, "SEINE_TEST_REPAIR="+o.Dir)
	k.end(o)
}

// rebuild removes the store of a copy of a directory and kills its rebuild until it is done.
func (k *kills) rebuild(whole string) {
	k.t.Helper()
	o := k.web.options(dataDir(k.t))
	copyDir(k.t, whole, o.Dir)
	if err := os.RemoveAll(filepath.Join(o.Dir, "store")); err != nil {
		k.t.Fatal(err)
	}
	k.rebuilds += k.restart(o, "SEINE_TEST_REPAIR="+o.Dir, "SEINE_TEST_REBUILD=1")
	k.end(o)
}

// restart runs a child until it comes to its end, and returns how often it was killed before. A rebuild has come to its
// end when there is a store.
func (k *kills) restart(o engine.Options, env ...string) (killed int) {
	k.t.Helper()
	rebuild := len(env) > 1
	env = append(env, "SEINE_TEST_HOSTS="+k.hosts, "SEINE_TEST_SCOPE="+o.Scope.String())
	for try := range 100 {
		if _, err := os.Stat(filepath.Join(o.Dir, "store")); err == nil && rebuild {
			return killed
		}
		if _, dead := runAndKill(k.t, k.wait(10*try, 200), env...); !dead {
			return killed
		}
		killed++
	}
	k.t.Fatal("it never comes to its end")
	return killed
}

// end lets a crawl go on to its end and compares what it leaves.
func (k *kills) end(o engine.Options) {
	k.t.Helper()
	crawlInTurns(k.t, o, k.web.seeds, 0)
	e := open(k.t, o)
	verify(k.t, e)
	sameDigest(k.t, withoutScores(digest(k.t, e)), k.want)
	mustClose(k.t, e)
	if k.t.Failed() {
		k.t.Fatalf("kept: %s", o.Dir)
	}
	if err := os.RemoveAll(o.Dir); err != nil {
		k.t.Fatal(err)
	}
	k.ends++
}
