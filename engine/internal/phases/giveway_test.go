// SPDX-License-Identifier: Apache-2.0

package phases

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/seine-crawler/seine/engine/internal/admission"
	"github.com/seine-crawler/seine/engine/policy"
	"github.com/seine-crawler/seine/storage"
)

func second[T any](_ T, err error) error { return err }

// TestGiveWay: each loop over what the store has gives way again and again, beside the sorters, which do not here.
func TestGiveWay(t *testing.T) {
	t.Parallel()
	const pages, times = 640, 9 // 64 a time, less the first
	w := newWorld(t, admission.Options{Scope: policy.ScopeAny})
	defer w.close()
	w.processors = 1
	w.restart()
	w.p.nearScanKeys = 0
	var urls []string
	for i := range pages {
		urls = append(urls, fmt.Sprintf("http://h%d.example/%d", i%5, i))
	}
	w.inject(urls...)
	var fetched []page
	for i, url := range urls {
		to := urls[(i+1)%pages]
		fetched = append(fetched, page{url: url, content: 1, near: storage.SimHash(i + 1), links: []string{to}})
	}
	segment := w.seal(fetched...)
	gave := 0
	w.p.env.GiveWay = func(worked time.Duration) {
		if worked < 0 {
			t.Errorf("worked for %v", worked)
		}
		gave++
	}
	ctx := context.Background()
	for _, phase := range []struct {
		name  string
		least int
		run   func() error
	}{
		{"updatedb", times, func() error { return second(w.p.UpdateDB(ctx, segment)) }},
		{"invertlinks", 0, func() error { return second(w.p.InvertLinks(ctx, segment)) }},
		{"replaced versions, all captures", times, func() error {
			w.p.captureSteps = 0
			_, _, err := w.p.dropReplaced(ctx, nil)
			return err
		}},
		{"mergelinkdb", times, func() error { return second(w.p.MergeLinks(ctx, 0, nil)) }},
		{"near-duplicates", times, func() error { return second(w.p.GroupNear(ctx, false)) }},
		{"near-duplicates beside those that are stored", (1 + storage.NearTables) * times, func() error {
			again := slices.Clone(fetched)
			for i := range again {
				again[i].near, again[i].at = storage.SimHash(i+1)<<40, 1
			}
			_, err := w.p.UpdateDB(ctx, w.seal(again...))
			gave = 0
			return errors.Join(err, second(w.p.GroupNear(ctx, false)))
		}},
		{"near-duplicates beside those that are stored, by a scan", 3 * times, func() error {
			w.p.nearScanKeys = 1 << 20
			again := slices.Clone(fetched)
			for i := range again {
				again[i].near, again[i].at = storage.SimHash(i+1)<<20, 2
			}
			_, err := w.p.UpdateDB(ctx, w.seal(again...))
			gave = 0
			return errors.Join(err, second(w.p.GroupNear(ctx, false)))
		}},
		{"dedup", times, func() error { return second(w.p.Dedup(ctx, DedupOptions{})) }},
		{"dedup that marks", 2 * times, func() error { return second(w.p.Dedup(ctx, DedupOptions{MarkNear: true})) }},
	} {
		gave = 0
		if err := phase.run(); err != nil {
			t.Fatalf("%s: %v", phase.name, err)
		}
		if gave < phase.least {
			t.Errorf("%s gave way %d times, want at least %d", phase.name, gave, phase.least)
		}
	}
}
