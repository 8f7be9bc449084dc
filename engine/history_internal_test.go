// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"math"
	"reflect"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/seine-crawler/seine/storage"
)

// aSample is a sample of a second that ends n seconds after the start, whose numbers depend on n.
func aSample(start time.Time, n int) *Sample {
	s := &Sample{Time: start.Add(time.Duration(n+1) * time.Second).UTC(), Seconds: 1}
	for i, x := range s.numbers() {
		*x = float64(n * (i + 1))
	}
	for stage := range stages {
		s.CPU = append(s.CPU, StageSeconds{stageNames[stage], float64(n) / float64(stage+1)})
	}
	return s
}

// TestHistory: the history of many hours is bounded, its means are exact, and it is the same after every restart.
func TestHistory(t *testing.T) {
	dir := t.TempDir()
	reopen := func() *storage.Store {
		store, err := storage.Open(dir, storage.Options{})
		if err != nil {
			t.Fatal(err)
		}
		return store
	}
	store := reopen()
	h := &history{}
	if list, err := h.last(store, 0); err != nil || list != nil {
		t.Fatalf("an empty history: %v, %v", list, err)
	}
	start := time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC)
	const seconds = 60 * 60 * 40 // 2,400 minutes: the series of all is thinned once
	for n := range seconds {
		if h.add(aSample(start, n)); n%15 != 7 && n != seconds-1 {
			continue
		}
		if n%20000 < 15 || n == seconds-1 {
			if err := h.flush(store); err != nil {
				t.Fatal(err)
			}
			if err := store.Close(); err != nil {
				t.Fatal(err)
			}
			store = reopen()
			again := &history{}
			for i, span := range []time.Duration{10 * time.Minute, 6 * time.Hour, 0} {
				want, _ := h.last(store, span)
				if h.series[i].open.Seconds > 0 {
					want = want[:len(want)-1] // what was not full is not stored
				}
				got, err := again.last(store, span)
				if err != nil || len(got) != len(want) || len(got) > 0 && !reflect.DeepEqual(got, want) {
					t.Fatalf("after %d samples, %s: %d samples, want %d, %v", n, span, len(got), len(want), err)
				}
			}
		}
	}
	defer store.Close()
	for _, c := range []struct {
		span, step time.Duration
		length     int
	}{
		{time.Minute, time.Second, 60}, {10 * time.Minute, time.Second, 600},
		{time.Hour, 15 * time.Second, 240}, {6 * time.Hour, 15 * time.Second, 1440},
		{0, 2 * time.Minute, 1200}, {7 * time.Hour, 2 * time.Minute, 210}, {100 * time.Hour, 2 * time.Minute, 1200},
	} {
		list, err := h.last(store, c.span)
		if err != nil || len(list) != c.length {
			t.Errorf("%s: %d samples, want %d, %v", c.span, len(list), c.length, err)
			continue
		}
		end, sum := time.Duration(seconds)*time.Second, 0.0
		for i := len(list) - 1; i >= 0; i-- {
			s := list[i]
			sum += s.Seconds
			// Of the seconds end-step … end, the number of the middle one is the mean.
			mean := (end - c.step/2).Seconds() - 0.5
			if s.Seconds != c.step.Seconds() || !s.Time.Equal(start.Add(end)) ||
				math.Abs(s.FetchesPerSecond-2*mean) > 1e-6 || math.Abs(s.CPU[3].Seconds-mean/4) > 1e-6 {
				t.Fatalf("%s, sample %d: %+v, want one of %s until %s", c.span, i, s, c.step, end)
			}
			end -= c.step
		}
		if want := c.span.Seconds(); c.length < 1200 && sum != want {
			t.Errorf("%s: %f seconds", c.span, sum)
		}
	}
	rows := 0
	sc := store.Scan(storage.Meta(), []byte("history/"), []byte("history0"))
	defer sc.Close()
	for sc.Next() {
		rows++
		if _, _, _, ok := readSamples(sc.Value()[:len(sc.Value())-1]); ok {
			t.Error("a row that is cut off is read")
		}
	}
	if rows < 200 || rows > 39+92+95 {
		t.Errorf("%d rows", rows)
	}
}

// heldFS makes no log file before let is closed, and tells reached that it should. The types are those of storage.FS,
// which only package storage can name.
type heldFS[F, C any] struct {
	storage.FS
	create  func(string, C) (F, error)
	held    *atomic.Bool
	reached chan struct{}
	let     chan struct{}
}

func holdLogs[F, C any](fs storage.FS, create func(string, C) (F, error)) *heldFS[F, C] {
	return &heldFS[F, C]{fs, create, new(atomic.Bool), make(chan struct{}, 10), make(chan struct{})}
}

func (fs *heldFS[F, C]) Create(name string, category C) (F, error) {
	if fs.held.Load() && strings.HasSuffix(name, ".log") {
		fs.reached <- struct{}{}
		<-fs.let
	}
	return fs.create(name, category)
}

// TestHistoryOnSilentDisk: while the disk does not answer, the samples can be read, which a status needs.
func TestHistoryOnSilentDisk(t *testing.T) {
	memory := storage.NewMemFS()
	fs := holdLogs(memory, memory.Create)
	store, err := storage.Open("store", storage.Options{FS: fs, MemTableBytes: 256 << 10})
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	h := &history{}
	if _, err := h.last(store, 0); err != nil {
		t.Fatal(err)
	}
	start := time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC)
	for n := range 600 { // more than half a memtable, so that the batch begins another log
		h.add(aSample(start, n))
	}
	fs.held.Store(true)
	flushed, read := make(chan error, 1), make(chan *Sample, 1)
	go func() { flushed <- h.flush(store) }()
	select {
	case <-fs.reached:
	case err := <-flushed:
		t.Fatalf("the flush did not wait for the disk: %v", err)
	}
	go func() { read <- h.newest(start) }()
	select {
	case s := <-read:
		if want := aSample(start, 599); !reflect.DeepEqual(s, want) {
			t.Errorf("%+v, want %+v", s, want)
		}
	case <-time.After(10 * time.Second):
		t.Error("the newest sample waits for the disk")
	}
	close(fs.let)
	if err := <-flushed; err != nil {
		t.Fatal(err)
	}
	again := &history{}
	if list, err := again.last(store, 10*time.Minute); err != nil || len(list) != 600 {
		t.Errorf("%d samples are stored, %v", len(list), err)
	}
}

// TestHistoryOfShortCrawls: very many crawls of a few seconds do not make the samples of a long one after them long.
func TestHistoryOfShortCrawls(t *testing.T) {
	store, err := storage.Open("store", storage.Options{FS: storage.NewMemFS()})
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	start := time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC)
	h := &history{}
	if _, err := h.last(store, 0); err != nil {
		t.Fatal(err)
	}
	n := 0
	for range 5000 {
		for range 3 {
			h.add(aSample(start, n))
			n++
		}
		h.end()
	}
	const hours = 3
	for range hours * 3600 {
		h.add(aSample(start, n))
		n++
	}
	list, err := h.last(store, 0)
	if err != nil || len(list) > 1501 {
		t.Fatalf("%d samples, %v", len(list), err)
	}
	long, sum := 0, 0.0
	for _, x := range list {
		if sum += x.Seconds; x.Time.After(start.Add(5000 * 3 * time.Second)) {
			long++
		}
	}
	if long < hours*60 || sum != float64(n) {
		t.Errorf("the last %d hours have %d samples; all %d have %f of %d seconds", hours, long, len(list), sum, n)
	}
}
