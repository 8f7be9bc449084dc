// SPDX-License-Identifier: Apache-2.0

package content

import "testing"

// TestThreshold: the groups with the best F1 that can be expected are content, and none if that is of few words.
func TestThreshold(t *testing.T) {
	f := func(want float32, groups ...group) {
		t.Helper()
		o := Outline{groups: groups}
		for i := range groups { // they are given by falling chance
			o.order = append(o.order, int32(i))
		}
		if got := o.threshold(); got != want {
			t.Errorf("threshold %v, want %v", got, want)
		}
	}
	of := func(words int32, chance float32) group { return group{sum: sum{words: words}, chance: chance} }
	f(0.9, of(100, 0.9), of(100, 0.1))
	f(0.5, of(100, 0.9), of(100, 0.5), of(100, 0.1))
	f(0.25, of(40, 0.25))
	f(2, of(36, 0.25))
	f(2, of(9, 1))
	f(2)
}
