// SPDX-License-Identifier: Apache-2.0

package main

import (
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/seine-crawler/seine/engine/policy"
	"github.com/seine-crawler/seine/storage"
)

// TestShortSchedules: max-interval may be shorter than the least interval of a schedule. Intervals stay within it: a
// page with a longer one would be unfetched again after each fetch.
func TestShortSchedules(t *testing.T) {
	for _, schedule := range []string{"fixed", "adaptive", "freshness"} {
		for longest, seconds := range map[string]uint32{"20s": 20, "60s": 60, "90s": 90} {
			f := &flags{}
			cmd := &cobra.Command{Use: "test"}
			f.settings(cmd, inAll)
			if err := cmd.ParseFlags([]string{"--set", "schedule=" + schedule, "--set", "interval=20s", "--set",
				"max-interval=" + longest}); err != nil {
				t.Fatal(err)
			}
			o, err := f.options(cmd)
			if err != nil {
				t.Fatal(err)
			}
			if o.Schedule == nil { // the engine's default
				o.Schedule = policy.FixedSchedule{MaxInterval: seconds}
			}
			const now = 1_700_000_000_000
			r := storage.Record{Interval: 20, Visits: 9, Changes: 9, Watched: 180, ModifiedTime: now - 20_000}
			o.Schedule.Reschedule(&r, policy.ChangeModified, now)
			if r.Interval == 0 || r.Interval > seconds || r.FetchTime > now+int64(seconds)*1000 {
				t.Errorf("%s, max-interval %s: every %d s, due in %d ms", schedule, longest, r.Interval,
					r.FetchTime-now)
			}
		}
	}
}

// TestTypesTwice: a media type has one rule; a second one would do nothing.
func TestTypesTwice(t *testing.T) {
	f := &flags{}
	cmd := &cobra.Command{Use: "test"}
	f.settings(cmd, inAll)
	rules := "type-schedule=text/html min=1h, * max=9h, Text/HTML max=2h"
	if err := cmd.ParseFlags([]string{"--set", rules}); err != nil {
		t.Fatal(err)
	}
	if _, err := f.options(cmd); err == nil || !strings.Contains(err.Error(), "text/html has a rule already") {
		t.Errorf("%v", err)
	}
}
