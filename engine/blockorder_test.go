// SPDX-License-Identifier: Apache-2.0

package engine_test

import (
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/seine-crawler/seine/engine/internal/admission"
	"github.com/seine-crawler/seine/engine/policy"
)

// TestBlockBesideUnblock: of a Block and an Unblock at the same time the same one counts now and after the next start.
func TestBlockBesideUnblock(t *testing.T) {
	e := open(t, siteOptions(t))
	defer mustClose(t, e)
	for range 300 {
		var both sync.WaitGroup
		for _, do := range []func(...string) error{e.Block, e.Unblock, e.Block, e.Unblock} {
			both.Go(func() {
				if err := do("a.example"); err != nil {
					t.Error(err)
				}
			})
		}
		both.Wait()
		now, err := e.Inspect().Blocked()
		if err != nil {
			t.Fatal(err)
		}
		later := admission.New(admission.Options{Scope: policy.ScopeAny, Store: e.Store(), Now: time.Now})
		if err := later.Load(); err != nil {
			t.Fatal(err)
		}
		var stored []string
		for _, h := range later.Blocked() {
			stored = append(stored, h.String())
		}
		if !slices.Equal(now, stored) {
			t.Fatalf("%q are blocked now, and %q when the directory is opened again", now, stored)
		}
	}
}
