// SPDX-License-Identifier: Apache-2.0

package measure

import (
	"testing"

	"github.com/google/pprof/profile"
)

// TestSole: a goroutine is known by the function that it begins with, whatever it calls.
func TestSole(t *testing.T) {
	const seine = "github.com/seine-crawler/seine/"
	for begins, want := range map[string]string{
		seine + "engine.(*conductor).update":             "update",
		seine + "engine.(*conductor).index":              "index",
		seine + "frontier.(*Frontier).puller":            "frontier",
		seine + "frontier.(*Frontier).refiller":          "",
		seine + "engine/internal/visit.(*Pool).syncer":   "sync",
		seine + "engine/internal/visit.(*Pool).fetch":    "",
		seine + "index.(*worker).run":                    "",
		"runtime.main":                                   "main",
		"runtime.mcall":                                  "",
		"github.com/cockroachdb/pebble/v2.(*DB).flush":   "flush",
		"github.com/cockroachdb/pebble/v2.(*DB).compact": "",
	} {
		at := func(name string) *profile.Location {
			return &profile.Location{Line: []profile.Line{{Function: &profile.Function{Name: name}}}}
		}
		s := &profile.Sample{Location: []*profile.Location{at(seine + "frontier.(*Frontier).Next"), at(begins)}}
		if got := soleOf(s); got != want {
			t.Errorf("%s: %q, want %q", begins, got, want)
		}
	}
	if got := soleOf(&profile.Sample{}); got != "" {
		t.Errorf("no stack: %q", got)
	}
}
