// SPDX-License-Identifier: Apache-2.0

package storage

import (
	"errors"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"os"
	"strconv"
	"sync"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs/errorfs"
)

// crashesEnv sets the number of power losses of TestPowerLoss: SEINE_CRASHES=100000 for a run overnight.
const crashesEnv = "SEINE_CRASHES"

// TestPowerLoss runs random workloads. At random filesystem operations, on any of Pebble's goroutines, it
// copies what a power loss would leave: nothing of the unsynced data, all of it, or each piece with some
// probability. Every copy must open and contain exactly the state after some operation between the last
// acknowledged one and the last begun one: nothing acknowledged is lost, and no operation is half done.
// Sometimes opening is interrupted too, and must then work again.
func TestPowerLoss(t *testing.T) {
	want := 300
	if n, err := strconv.Atoi(os.Getenv(crashesEnv)); err == nil {
		want = n
	}
	taken := 0
	for seed := uint64(1); taken < want; seed++ {
		w := crashWorkload{t: t, seed: seed, rng: rand.New(rand.NewPCG(seed, 1))}
		crashes := w.run()
		if t.Failed() {
			return
		}
		for _, c := range crashes {
			w.check(c)
		}
		taken += len(crashes)
		if t.Failed() {
			t.Logf("seed %d", seed)
			return
		}
	}
	t.Logf("%d power losses", taken)
}

// crash is what one power loss left, and the range of operations that it may contain.
type crash struct {
	fs     *CrashableFS
	at     string // the operation of the filesystem
	lo, hi int    // indexes of crashWorkload.states
}

type crashWorkload struct {
	t    *testing.T
	seed uint64
	rng  *rand.Rand

	segments []Segment
	model    map[string]string
	states   []uint64 // digest after each operation; 0 is the fresh store

	mu      sync.Mutex // guards all below
	ops     *rand.Rand // chooses the moments of power losses
	fs      *CrashableFS
	acked   int
	begun   int
	crashes []crash
}

// operationsPerWorkload and crashesPerWorkload: an operation of the workload makes some 20 filesystem
// operations, of which about one in thirty becomes a power loss.
const (
	operationsPerWorkload = 60
	crashesPerWorkload    = 40
)

// observe receives every operation of the filesystem and lets all of them pass.
func (w *crashWorkload) observe(op errorfs.Op) error {
	if op.Kind.ReadOrWrite() == errorfs.OpIsRead {
		return nil
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.acked < 0 || len(w.crashes) >= crashesPerWorkload || w.ops.IntN(30) != 0 {
		return nil
	}
	lo := w.acked
	percent := []int{0, 10, 50, 90, 100}[w.ops.IntN(5)]
	clone := w.fs.Crash(percent, w.ops.Uint64())
	at := fmt.Sprintf("%v (%d%% of unsynced data kept)", op, percent)
	w.crashes = append(w.crashes, crash{clone, at, lo, w.begun})
	return nil
}

func (w *crashWorkload) run() []crash {
	w.fs = NewCrashableFS()
	w.ops = rand.New(rand.NewPCG(w.seed, 2))
	w.model = map[string]string{}
	w.acked = -1
	fs := errorfs.Wrap(w.fs, errorfs.InjectorFunc(w.observe))
	s, err := Open("data/store", Options{FS: fs, MemTableBytes: 128 << 10})
	if err != nil {
		w.t.Fatal(err)
	}
	w.states = append(w.states, digestOf(w.model))
	w.mu.Lock()
	w.acked = 0
	w.mu.Unlock()
	for i := 1; i <= operationsPerWorkload; i++ {
		operate := w.choose(s)
		w.states = append(w.states, digestOf(w.model))
		w.mu.Lock()
		w.begun = i
		w.mu.Unlock()
		if err := operate(); err != nil {
			w.t.Fatalf("seed %d: operation %d: %v", w.seed, i, err)
		}
		w.mu.Lock()
		w.acked = i
		w.mu.Unlock()
		if w.rng.IntN(25) == 0 {
			if err := s.Close(); err != nil {
				w.t.Fatal(err)
			}
			if s, err = Open("data/store", Options{FS: fs, MemTableBytes: 128 << 10}); err != nil {
				w.t.Fatalf("seed %d: opening again: %v", w.seed, err)
			}
		}
	}
	if got := w.content(s); got != w.states[len(w.states)-1] {
		w.t.Errorf("seed %d: the store itself differs from the model", w.seed)
	}
	if err := s.Close(); err != nil {
		w.t.Fatal(err)
	}
	return w.crashes
}

var crashRanges = []Range{
	Crawldb(), HostCountsRange(), CDXRange(), Linkdb(),
	Fetchlist(1), Fetchlist(2), Fetchlist(3), ParseLinks(1), ParseLinks(2), ParseTextRange(1),
	Segments(), Marks(), // not written as the others
}

// writtenRanges are those of crashRanges that Apply and tables write.
var writtenRanges = crashRanges[:len(crashRanges)-2]

// choose changes the model and returns the operation that changes the store in the same way.
func (w *crashWorkload) choose(s *Store) func() error {
	if w.rng.IntN(2) == 0 {
		return w.chooseApply(s)
	}
	return w.chooseIngestion(s)
}

func (w *crashWorkload) chooseApply(s *Store) func() error {
	type write struct {
		r          Range
		key, value string
	}
	var writes []write
	for range 1 + w.rng.IntN(4) {
		r := writtenRanges[w.rng.IntN(len(writtenRanges))]
		wr := write{r, fmt.Sprintf("key %02d", w.rng.IntN(40)), w.value()}
		writes = append(writes, wr)
		w.model[r.String()+wr.key] = wr.value
	}
	return func() error {
		return s.Apply(func(b *Batch) error {
			for _, wr := range writes {
				if err := b.Set(wr.r, []byte(wr.key), []byte(wr.value)); err != nil {
					return err
				}
			}
			return nil
		})
	}
}

func (w *crashWorkload) chooseIngestion(s *Store) func() error {
	in := s.NewIngestion()
	in.large.Store(w.rng.IntN(2) == 0)
	for _, r := range writtenRanges {
		what := w.rng.IntN(6)
		if what <= 1 { // delete, or replace
			if err := in.DeleteRange(r); err != nil {
				w.t.Fatal(err)
			}
			for k := range 40 {
				delete(w.model, r.String()+fmt.Sprintf("key %02d", k))
			}
		}
		if what == 1 || what == 2 {
			for k := w.rng.IntN(5); k < 40; k += 1 + w.rng.IntN(10) {
				key, value := fmt.Sprintf("key %02d", k), w.value()
				if err := in.Table(r).Set([]byte(key), []byte(value)); err != nil {
					w.t.Fatal(err)
				}
				w.model[r.String()+key] = value
			}
		}
	}
	marks := Marks()
	if in.unmarks() {
		delete(w.model, marks.String()+"all")
	}
	if w.rng.IntN(3) == 0 {
		value := w.value()
		in.Mark("all", []byte(value), s.Moment())
		w.model[marks.String()+"all"] = value
	}
	w.advance(in)
	return func() error { defer in.Abort(); return in.Commit() }
}

// advance opens a segment or moves one forward.
func (w *crashWorkload) advance(in *Ingestion) {
	if i := w.rng.IntN(len(w.segments) + 1); i == len(w.segments) {
		w.segments = append(w.segments, Segment{Number: uint32(i + 1), State: SegmentOpen})
		w.putSegment(in, i)
	} else if w.segments[i].State < SegmentIndexed {
		w.segments[i].State++
		w.putSegment(in, i)
	}
}

func (w *crashWorkload) putSegment(in *Ingestion, i int) {
	seg := w.segments[i]
	if err := in.PutSegment(seg); err != nil {
		w.t.Fatal(err)
	}
	segments := Segments()
	w.model[segments.String()+string(AppendSegmentKey(nil, seg.Number))] = string(AppendSegment(nil, &seg))
}

// value is sometimes large, so that memtables fill up.
func (w *crashWorkload) value() string {
	b := make([]byte, []int{4, 40, 4000, 20000}[w.rng.IntN(4)])
	for i := range b {
		b[i] = byte(w.rng.Uint32())
	}
	return string(b)
}

// check opens what a power loss left, and also interrupts that once.
func (w *crashWorkload) check(c crash) {
	var again []*CrashableFS
	rng := rand.New(rand.NewPCG(w.seed, uint64(c.lo)))
	var mu sync.Mutex
	watch := errorfs.InjectorFunc(func(op errorfs.Op) error {
		mu.Lock()
		defer mu.Unlock()
		if len(again) == 0 && op.Kind.ReadOrWrite() == errorfs.OpIsWrite && rng.IntN(10) == 0 {
			again = append(again, c.fs.Crash(rng.IntN(101), rng.Uint64()))
		}
		return nil
	})
	w.checkOpen(c, errorfs.Wrap(c.fs, watch), "")
	for _, fs := range again {
		w.checkOpen(c, fs, " and again while opening")
	}
}

func (w *crashWorkload) checkOpen(c crash, fs FS, also string) {
	// A new store may be lost together with its directory; then it has the content of a new one.
	s, err := Open("data/store", Options{FS: fs, MemTableBytes: 128 << 10})
	if err != nil {
		w.t.Errorf("seed %d: power loss at %s%s: %v", w.seed, c.at, also, err)
		return
	}
	got := w.content(s)
	if err := s.Close(); err != nil {
		w.t.Errorf("seed %d: power loss at %s%s: closing: %v", w.seed, c.at, also, err)
	}
	for n := c.lo; n <= c.hi; n++ {
		if w.states[n] == got {
			return
		}
	}
	found := "no state at all"
	for n, state := range w.states {
		if state == got {
			found = fmt.Sprintf("the state after operation %d", n)
		}
	}
	w.t.Errorf("seed %d: power loss at %s%s: %s, want one of %d to %d", w.seed, c.at, also, found, c.lo, c.hi)
}

// content digests everything that the workload writes.
func (w *crashWorkload) content(s *Store) uint64 {
	got := map[string]string{}
	var errs []error
	for _, r := range crashRanges {
		sc := s.Scan(r, nil, nil)
		for sc.Next() {
			got[r.String()+string(sc.Key())] = string(sc.Value())
		}
		errs = append(errs, sc.Close())
	}
	if err := errors.Join(errs...); err != nil {
		w.t.Error(err)
	}
	return digestOf(got)
}

// digestOf is independent of order.
func digestOf(m map[string]string) (sum uint64) {
	for k, v := range m {
		h := fnv.New64a()
		fmt.Fprintf(h, "%d %s %s", len(k), k, v)
		sum += h.Sum64()
	}
	return sum
}

// TestParentsLoss: what was written survives a power loss although the store's directory, and one above it, had been
// made and not synced before the store was opened.
func TestParentsLoss(t *testing.T) {
	fs := NewCrashableFS()
	if err := fs.MkdirAll("crawls/store", 0o755); err != nil {
		t.Fatal(err)
	}
	s, err := Open("crawls/store", Options{FS: fs})
	if err != nil {
		t.Fatal(err)
	}
	err = s.Apply(func(b *Batch) error { return b.Set(Crawldb(), []byte("key"), []byte("value")) })
	if err != nil {
		t.Fatal(err)
	}
	left := fs.Crash(0, 1)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	after, err := Open("crawls/store", Options{FS: left, MustExist: true})
	if err != nil {
		t.Fatal(err)
	}
	defer after.Close()
	if value, ok, err := after.Get(Crawldb(), []byte("key"), nil); string(value) != "value" || !ok || err != nil {
		t.Errorf("%q, %t, %v", value, ok, err)
	}
}
