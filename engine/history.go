// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"cmp"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/seine-crawler/seine/storage"
)

// history is three series of samples, in memory and in rows of meta. The rows are few and have fixed names: a newer
// sample takes the place of an old one, so the history has a bound, and nothing needs to be deleted.
type history struct {
	mu     sync.Mutex
	loaded bool
	series [3]series
}

// series is one of them.
type series struct {
	name    string        // begins the names of its rows
	spans   time.Duration // it serves spans of this length; 0: of any
	step    float64       // seconds in a sample
	keep    int           // samples
	thins   bool          // with too many samples, it merges each two; otherwise it forgets the oldest
	first   uint64        // number of samples[0], counted from the first that there was
	samples []Sample
	open    Sample // being filled
	stored  uint64 // samples below this number are stored
	whole   bool   // all rows must be written again
}

// Bounds of the history. With rows of sampleRow samples of 264 bytes, the three series take 0.9 MB, and what changes is
// written every flushEvery.
const (
	sampleEvery = time.Second
	flushEvery  = 15 * time.Second
	sampleRow   = 16
)

// begin loads what is stored, once. h.mu is held.
func (h *history) begin(store storage.Reader) error {
	if h.loaded {
		return nil
	}
	h.series = [3]series{
		{name: "history/1s/", spans: 10 * time.Minute, step: 1, keep: 600},
		{name: "history/15s/", spans: 6 * time.Hour, step: 15, keep: 1440},
		{name: "history/all/", step: 60, keep: 1500, thins: true},
	}
	for i := range h.series {
		if err := h.series[i].load(store); err != nil {
			return fmt.Errorf("reading the history of crawls: %w", err)
		}
	}
	h.loaded = true
	return nil
}

// last returns the samples of a span of time.
func (h *history) last(store storage.Reader, span time.Duration) ([]Sample, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if err := h.begin(store); err != nil {
		return nil, err
	}
	i := slices.IndexFunc(h.series[:], func(s series) bool { return s.spans == 0 || span > 0 && span <= s.spans })
	s := &h.series[i]
	list := slices.Clip(s.samples)
	if s.open.Seconds > 0 {
		list = append(list, s.open)
	}
	if len(list) == 0 {
		return nil, nil
	}
	if span > 0 {
		from := list[len(list)-1].Time.Add(-span)
		for len(list) > 0 && !list[0].Time.After(from) {
			list = list[1:]
		}
	}
	list = slices.Clone(list)
	for i := range list {
		list[i].CPU = slices.Clone(list[i].CPU)
	}
	return list, nil
}

// newest returns the newest sample of a second that ended after a time; nil: there is none.
func (h *history) newest(after time.Time) *Sample {
	h.mu.Lock()
	defer h.mu.Unlock()
	list := h.series[0].samples
	if len(list) == 0 || !list[len(list)-1].Time.After(after) {
		return nil
	}
	s := list[len(list)-1]
	s.CPU = slices.Clone(s.CPU)
	return &s
}

// add adds a sample to all series.
func (h *history) add(s *Sample) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for i := range h.series {
		h.series[i].add(s)
	}
}

// end closes the samples that are being filled, because the crawl ends.
func (h *history) end() {
	h.mu.Lock()
	defer h.mu.Unlock()
	for i := range h.series {
		h.series[i].close()
	}
}

func (s *series) add(sample *Sample) {
	s.open.add(sample)
	if s.open.Seconds >= s.step-sampleEvery.Seconds()/2 {
		s.close()
	}
}

// close ends the sample that is being filled.
func (s *series) close() {
	if s.open.Seconds <= 0 {
		return
	}
	s.samples = append(s.samples, s.open)
	s.open = Sample{}
	switch {
	case len(s.samples) <= s.keep:
	case s.thins:
		s.thin()
	default:
		s.samples = s.samples[1:] // append moves them all together, now and then, where Delete would each second
		s.first++
	}
}

// thin merges each two samples. One without a partner is filled on. The step doubles where the samples are that long by
// then: those of many short crawls are not.
func (s *series) thin() {
	half, seconds := s.samples[:0], 0.0
	for i := 0; i+1 < len(s.samples); i += 2 {
		merged := s.samples[i]
		merged.add(&s.samples[i+1])
		half = append(half, merged)
		seconds += merged.Seconds
	}
	if len(s.samples)%2 == 1 {
		s.open = s.samples[len(s.samples)-1]
	}
	clear(s.samples[len(half):])
	s.samples = half
	if seconds > s.step*float64(len(half)) {
		s.step *= 2
	}
	s.first, s.stored, s.whole = 0, 0, true
}

// flush stores what is new. The goroutine that adds samples calls it. The disk is waited for without h.mu, which who
// asks for the status takes: a disk that does not answer is what the status must tell.
func (h *history) flush(store *storage.Store) error {
	var rows []historyRow
	var ends [len(h.series)]uint64
	h.mu.Lock()
	for i := range h.series {
		rows = h.series[i].appendRows(rows)
		ends[i] = h.series[i].first + uint64(len(h.series[i].samples))
	}
	h.mu.Unlock()
	err := store.Apply(func(b *storage.Batch) error {
		for _, r := range rows {
			if err := r.write(b); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("storing the history of crawls: %w", err)
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	for i := range h.series {
		h.series[i].stored, h.series[i].whole = ends[i], false
	}
	return nil
}

// historyRow is a row to be written, or deleted if value is nil.
type historyRow struct{ name, value []byte }

func (r *historyRow) write(b *storage.Batch) error {
	if r.value == nil {
		return b.Delete(storage.Meta(), r.name)
	}
	return b.Set(storage.Meta(), r.name, r.value)
}

// rows is the number of rows that a series has at most: one more than its samples fill, since the oldest and the newest
// may not be full.
func (s *series) rows() uint64 { return uint64(s.keep)/sampleRow + 2 }

// appendRows appends the rows with new samples.
func (s *series) appendRows(list []historyRow) []historyRow {
	if s.whole {
		for row := range s.rows() {
			list = append(list, historyRow{s.rowName(row), nil})
		}
	}
	end := s.first + uint64(len(s.samples))
	for n := max(s.stored, s.first) / sampleRow; n*sampleRow < end; n++ {
		from := max(n*sampleRow, s.first)
		some := s.samples[from-s.first : min((n+1)*sampleRow, end)-s.first]
		list = append(list, historyRow{s.rowName(n % s.rows()), appendSamples(nil, from, s.step, some)})
	}
	return list
}

func (s *series) rowName(row uint64) []byte { return fmt.Appendf(nil, "%s%03d", s.name, row) }

// load reads the rows of a series. A row of another format is left out.
func (s *series) load(store storage.Reader) error {
	type numbered struct {
		first   uint64
		samples []Sample
	}
	var rows []numbered
	end := []byte(s.name)
	end[len(end)-1]++
	sc := store.Scan(storage.Meta(), []byte(s.name), end)
	defer sc.Close()
	for sc.Next() {
		if first, step, samples, ok := readSamples(sc.Value()); ok {
			rows = append(rows, numbered{first, samples})
			s.step = max(s.step, step)
		}
	}
	slices.SortFunc(rows, func(a, b numbered) int { return cmp.Compare(a.first, b.first) })
	for _, r := range rows {
		if next := s.first + uint64(len(s.samples)); r.first != next { // older ones are incomplete
			s.first, s.samples = r.first, nil
		}
		s.samples = append(s.samples, r.samples...)
	}
	if more := len(s.samples) - s.keep; more > 0 {
		s.first, s.samples = s.first+uint64(more), slices.Delete(s.samples, 0, more)
	}
	s.stored = s.first + uint64(len(s.samples))
	return sc.Err()
}
