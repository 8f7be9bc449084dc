// SPDX-License-Identifier: Apache-2.0

package phases

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/seine-crawler/seine/engine/internal/admission"
	"github.com/seine-crawler/seine/storage"
)

// TestGenerateKilled: a Generate or a FreeGenerate that loses power at a random moment has made its fetchlists or
// nothing; run again where it has made nothing, it makes those that an undisturbed one makes.
func TestGenerateKilled(t *testing.T) {
	const urls = 400
	ctx := context.Background()
	var lines []string
	for i := range urls {
		lines = append(lines, fmt.Sprintf("%sp%04d", []string{hostA, hostB}[i%2], i))
	}
	for name, phase := range map[string]func(p *Phases) error{
		"all, by day": func(p *Phases) error {
			_, err := p.Generate(ctx, GenerateOptions{AddDays: 60})
			return err
		},
		"two lists of the best": func(p *Phases) error {
			_, err := p.Generate(ctx, GenerateOptions{AddDays: 60, Lists: 2, Top: urls / 3, MaxPerHost: urls / 4})
			return err
		},
		"freegen": func(p *Phases) error {
			_, err := p.FreeGenerate(ctx, FreeList{Lines: lines[urls/2:]})
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, admission.Options{})
			w.close()
			fs := storage.NewCrashableFS()
			w.fs, w.store = fs, nil
			w.open()
			defer w.close()
			w.inject(lines...)
			var pages []page
			for i := range urls * 9 / 10 {
				pages = append(pages, page{url: lines[i], at: int64(i) * 1_000_000})
			}
			w.update(pages...)
			rng := rand.New(rand.NewPCG(uint64(len(name)), 3))
			first := fs.Crash(0, 1)
			want := afterGenerate(t, w, first, phase)
			if strings.Count(want, "\n") < urls/2 {
				t.Fatalf("chosen: %s", want)
			}
			done, failed := make(chan struct{}), make(chan error, 1)
			go func() {
				defer close(done)
				failed <- phase(w.p)
			}()
			copies := []*storage.CrashableFS{first}
			for running := true; running && len(copies) < 50; {
				select {
				case <-done:
					running = false
				default:
				}
				copies = append(copies, fs.Crash(rng.IntN(101), rng.Uint64()))
			}
			<-done
			copies = append(copies, fs.Crash(0, 1))
			if err := <-failed; err != nil {
				t.Fatal(err)
			}
			for i := range 8 { // the first and the last, and some of those between
				at := i * (len(copies) - 1) / 7
				if got := afterGenerate(t, w, copies[at], phase); got != want {
					t.Fatalf("power loss %d of %d: %s\nwant %s", at, len(copies), got, want)
				}
			}
		})
	}
}

// afterGenerate opens what a power loss left, runs the phase if it has not made its fetchlists, and returns these.
func afterGenerate(t *testing.T, of *world, fs *storage.CrashableFS, phase func(p *Phases) error) string {
	t.Helper()
	w := &world{t: t, fs: fs, now: of.now, options: of.options, segment: of.segment}
	w.open()
	defer w.close()
	made := func() string {
		var text strings.Builder
		list, err := w.store.SegmentList()
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range list {
			if !s.Batch || s.State != storage.SegmentOpen {
				continue
			}
			fmt.Fprintf(&text, "segment %d of %d\n", s.Number, s.Counts.Generated)
			sc := w.store.Scan(storage.Fetchlist(s.Number), nil, nil)
			for sc.Next() {
				fmt.Fprintf(&text, "%s %x\n", sc.Key(), sc.Value())
			}
			if err := sc.Close(); err != nil {
				t.Fatal(err)
			}
		}
		return text.String()
	}
	was := made()
	if was == "" {
		if err := phase(w.p); err != nil && !errors.Is(err, ErrNothingDue) {
			t.Fatal(err)
		}
		was = made()
	}
	w.check()
	return was
}
