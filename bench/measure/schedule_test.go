// SPDX-License-Identifier: Apache-2.0

package measure_test

import (
	"encoding/xml"
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/seine-crawler/seine/bench/measure"
)

// TestSchedules: with as many fetches, the schedule that spends them on freshness keeps more pages fresh than a fixed
// one, and than an adaptive one. The plot is well-formed and has a curve for each.
func TestSchedules(t *testing.T) {
	list, err := measure.Schedules(measure.ScheduleOptions{Each: 30, Interval: 48 * time.Hour, Days: 60})
	if err != nil || len(list) != 3 {
		t.Fatal(list, err)
	}
	fixed, adaptive, freshness := &list[0], &list[1], &list[2]
	if freshness.Mean() < fixed.Mean()+.03 || freshness.Mean() < adaptive.Mean()+.03 ||
		freshness.Fetches != fixed.Fetches || adaptive.Fetches != fixed.Fetches {
		t.Errorf("freshness %v", list)
	}
	for _, interval := range []time.Duration{-time.Hour, 0, 30 * time.Minute, 400 * 24 * time.Hour} {
		o := measure.ScheduleOptions{Each: 2, Interval: interval, Days: 2}
		if _, err := measure.Schedules(o); err == nil || !strings.Contains(err.Error(), "want 1h") {
			t.Errorf("an interval of %s: %v", interval, err)
		}
	}
	svg := measure.SchedulesSVG(list)
	for i := range list {
		if !strings.Contains(svg, list[i].Name) {
			t.Errorf("no curve of %s", list[i].Name)
		}
	}
	for d := xml.NewDecoder(strings.NewReader(svg)); ; {
		if _, err := d.Token(); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
	}
}
