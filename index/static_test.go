// SPDX-License-Identifier: Apache-2.0

package index_test

import (
	"math"
	"testing"

	"github.com/seine-crawler/seine/index"
)

// TestStaticBoost: it is from 1 to 1.48, never falls, and rises only by doublings.
func TestStaticBoost(t *testing.T) {
	steps, last := 0, index.StaticBoost(0, 0)
	if last != 1 || index.StaticBoost(-1, -1) != 1 {
		t.Errorf("without links it is %v", last)
	}
	for n := range 5000 {
		boost := index.StaticBoost(n, n)
		if boost < last {
			t.Fatalf("%v for %d, less than %v before", boost, n, last)
		}
		if boost > last {
			steps++
		}
		last = boost
	}
	if most := index.StaticBoost(math.MaxInt, math.MaxInt); steps != 10 || last != most || math.Abs(most-1.48) > 1e-9 {
		t.Errorf("%d steps to %v, at most %v", steps, last, most)
	}
}
