// SPDX-License-Identifier: Apache-2.0

package engine_test

import (
	"bytes"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/seine-crawler/seine/engine"
	"github.com/seine-crawler/seine/storage/warc"
)

// damagesEnv is the number of damages of TestDamage, killsEnv that of kills of TestKills: `make damage` sets both to
// 500. damageSeedEnv chooses others.
const (
	damagesEnv    = "SEINE_DAMAGES"
	killsEnv      = "SEINE_KILLS"
	damageSeedEnv = "SEINE_DAMAGE_SEED"
)

// number is that of an environment variable.
func number(name string, otherwise int) int {
	if n, err := strconv.Atoi(os.Getenv(name)); err == nil {
		return n
	}
	return otherwise
}

// damageKinds are what is damaged: records of a kind in WARC files, by the kind, and files of the store, by the pattern
// of their names.
var damageKinds = []struct{ name, record, files string }{
	{name: "WARC warcinfo", record: "warcinfo"},
	{name: "WARC request", record: "request"},
	{name: "WARC response", record: "response"},
	{name: "WARC metadata", record: "metadata"},
	{name: "WARC robots.txt", record: "robots"},
	{name: "table", files: "*.sst"},
	{name: "WAL", files: "*.log"},
	{name: "MANIFEST", files: "MANIFEST-*"},
	{name: "marker", files: "marker.*"},
	{name: "OPTIONS", files: "OPTIONS-*"},
}

// damageCount is a row of the summary.
type damageCount struct{ tried, found, harmless, due int }

// TestDamage flips a bit in, or cuts, a file of a crawl's directory: of one whose crawl has ended, of one that a
// process was crawling when it was killed. Verify finds it, or it does no harm. What is found, Repair mends: Verify
// finds nothing afterwards, and every URL that crawldb had is still there. A crawl that goes on ends with what an
// undamaged one has: what was lost is fetched again.
func TestDamage(t *testing.T) {
	web := anyHostWeb(t, 6, 15)
	whole, want := crawled(t, web)
	killed := web.options(dataDir(t))
	acked := killMidway(t, web, killed)
	seed := uint64(number(damageSeedEnv, 1))
	rng := rand.New(rand.NewPCG(seed, 16))
	counts := map[string]*damageCount{}
	var rows []string
	damages := 4 * len(damageKinds)
	if testing.Short() {
		damages = len(damageKinds) // each kind once; every other one in the directory of the killed crawl
	}
	for i := range number(damagesEnv, damages) {
		kind := damageKinds[i%len(damageKinds)]
		base, must := whole, []string(nil)
		if (i+i/len(damageKinds))%2 == 1 {
			base, must = killed, acked
		}
		o := web.options(filepath.Join(t.TempDir(), "data"))
		copyDir(t, base.Dir, o.Dir)
		cut := rng.IntN(3) == 0
		what := spoil(t, rng, o.Dir, kind.record, kind.files, cut)
		if what == "" {
			continue // such a crawl has no such record
		}
		row := kind.name + ", flipped"
		if cut || kind.name == "marker" {
			row = kind.name + ", cut"
		}
		c := counts[row]
		if c == nil {
			c = &damageCount{}
			counts[row], rows = c, append(rows, row)
		}
		c.tried++
		checkDamage(t, web, o, must, withoutScores(want), c)
		if t.Failed() {
			t.Fatalf("damage %d of seed %d (the crawl was killed: %t): %s", i, seed, must != nil, what)
		}
		if err := os.RemoveAll(o.Dir); err != nil {
			t.Fatal(err)
		}
	}
	slices.Sort(rows)
	total := damageCount{}
	t.Logf("%-26s %6s %6s %9s %12s", "damaged", "tried", "found", "harmless", "pages due")
	for _, row := range rows {
		c := counts[row]
		t.Logf("%-26s %6d %6d %9d %12d", row, c.tried, c.found, c.harmless, c.due)
		total.tried, total.found, total.harmless = total.tried+c.tried, total.found+c.found, total.harmless+c.harmless
		total.due += c.due
	}
	t.Logf("%-26s %6d %6d %9d %12d", "all", total.tried, total.found, total.harmless, total.due)
}

// checkDamage verifies and repairs a damaged directory and lets the crawl go on.
func checkDamage(t *testing.T, web equalWeb, o engine.Options, must []string, want string, c *damageCount) {
	t.Helper()
	o.Events = engine.EventListener{}
	r, err := engine.Verify(ctx, o)
	if err != nil {
		t.Errorf("verify: %v", err)
		return
	}
	if r.Problems == 0 {
		c.harmless++
	} else {
		c.found++
		repaired, err := engine.Repair(ctx, o)
		if err != nil || repaired.Left.Problems > 0 {
			t.Errorf("repair: %v\n%s\nleft:\n%s", err, repaired, repaired.Left)
			return
		}
		c.due += int(repaired.Due)
	}
	e, err := engine.Open(o)
	if err != nil {
		t.Errorf("after %d problems: %v", r.Problems, err)
		return
	}
	if err := e.Recover(ctx); err != nil {
		t.Error(err)
	}
	for _, u := range must {
		if _, err := e.Inspect().Record(u); err != nil {
			t.Errorf("%s was acknowledged and is lost: %v", u, err)
		}
	}
	verify(t, e)
	mustClose(t, e)
	if t.Failed() {
		return
	}
	crawlInTurns(t, o, web.seeds, 0)
	sameDigest(t, withoutScores(digestOf(t, o)), want)
}

// killMidway crawls in processes of their own and kills them, until some of the web is fetched. It returns the URLs
// that they had acknowledged.
func killMidway(t *testing.T, web equalWeb, o engine.Options) (acked []string) {
	t.Helper()
	hosts := hostsFile(t, web.hosts)
	wait := 100 * time.Millisecond
	for range 100 {
		out, killed := crawlAndKill(t, o, hosts, web.seeds.URLs, wait)
		acked = append(acked, strings.Fields(out)...)
		switch {
		case !killed: // it was too fast: begin anew
			acked, wait = nil, wait*2/3
			if err := os.RemoveAll(o.Dir); err != nil {
				t.Fatal(err)
			}
		case len(acked) > 10:
			return acked
		default:
			wait = wait*5/4 + time.Millisecond
		}
	}
	t.Fatal("no kill in the middle of a crawl")
	return nil
}

// spoil flips a bit of a random record of a kind, or of a file of the store, or cuts the file there. It says what it
// did; "" means that there is no such record or file. A marker, which is empty, is removed.
func spoil(t *testing.T, rng *rand.Rand, dir, record, files string, cut bool) string {
	t.Helper()
	var path string
	var from, to int64
	if record != "" {
		places := recordsOf(t, dir, record)
		if len(places) == 0 {
			return ""
		}
		at := places[rng.IntN(len(places))]
		path, from, to = filepath.Join(dir, "warc", at.File), at.Offset, at.Offset+at.Length
	} else {
		names, err := filepath.Glob(filepath.Join(dir, "store", files))
		if err != nil || len(names) == 0 {
			return ""
		}
		path = names[rng.IntN(len(names))]
		info, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		if to = info.Size(); to == 0 {
			if err := os.Remove(path); err != nil {
				t.Fatal(err)
			}
			return path + " removed"
		}
	}
	at := from + rng.Int64N(to-from)
	if cut {
		if err := os.Truncate(path, at); err != nil {
			t.Fatal(err)
		}
		return fmt.Sprintf("%s cut at %d", path, at)
	}
	b, err := os.ReadFile(path)
	if err == nil {
		b[at] ^= 1 << rng.IntN(8)
		err = os.WriteFile(path, b, 0o666)
	}
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf("%s: a bit of byte %d of %d flipped", path, at, len(b))
}

// recordsOf returns the places of the records of a kind in the WARC files of a directory.
func recordsOf(t *testing.T, dir, kind string) (places []warc.Location) {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(dir, "warc", "*.warc.gz"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		b, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		err = warc.Scan(bytes.NewReader(b), name, int64(len(b)), func(rec *warc.Record) error {
			of := rec.Type
			if strings.HasSuffix(rec.URI, "/robots.txt") {
				of = "robots"
			}
			if of == kind {
				places = append(places, rec.Location)
			}
			return nil
		}, func(warc.Fault) error { return nil })
		if err != nil {
			t.Fatal(err)
		}
	}
	return places
}

// copyDir copies a directory and all below it.
func copyDir(t *testing.T, from, to string) {
	t.Helper()
	err := filepath.WalkDir(from, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name := filepath.Join(to, strings.TrimPrefix(path, from))
		if d.IsDir() {
			return os.MkdirAll(name, 0o777)
		}
		b, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		return os.WriteFile(name, b, 0o666)
	})
	if err != nil {
		t.Fatal(err)
	}
}

// TestDamagedLog: where the log of a killed process is damaged, a repair says that something is lost: what was written
// last is nowhere else.
func TestDamagedLog(t *testing.T) {
	web := anyHostWeb(t, 2, 3)
	o, _ := crawled(t, web)
	killed := web.options(dataDir(t))
	e := open(t, o)
	if _, err := e.Inject(ctx, seeds("http://never.example/")); err != nil {
		t.Fatal(err)
	}
	copyDir(t, o.Dir, killed.Dir)
	mustClose(t, e)
	logs, err := filepath.Glob(filepath.Join(killed.Dir, "store", "*.log"))
	if err != nil || len(logs) == 0 {
		t.Fatal(logs, err)
	}
	log := logs[len(logs)-1]
	b, err := os.ReadFile(log)
	if err != nil || len(b) < 30 {
		t.Fatalf("%s has %d bytes, %v", log, len(b), err)
	}
	b[25] ^= 1
	if err := os.WriteFile(log, b, 0o666); err != nil {
		t.Fatal(err)
	}
	r, err := engine.Repair(ctx, killed)
	if err != nil || r.Left.Problems > 0 || r.Gaps != 1 || !strings.Contains(r.String(), "inject the seeds again") {
		t.Errorf("%v: %s\n%s", err, r, r.Left)
	}
}
