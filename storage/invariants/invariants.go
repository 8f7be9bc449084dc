// SPDX-License-Identifier: Apache-2.0

package invariants

import (
	"fmt"
	"math/rand/v2"
	"sync/atomic"
)

// Assert panics when ok is false and invariants are checked: a bug in seine, never bad input.
func Assert(ok bool, format string, args ...any) {
	if Enabled && !ok {
		panic("BUG: " + fmt.Sprintf(format, args...))
	}
}

// Sometimes returns true in about percent of calls when invariants are checked, else false: it
// turns rare paths into frequent ones under test.
func Sometimes(percent int) bool {
	return Enabled && rand.IntN(100) < percent
}

// CloseChecker finds a second Close and a use after Close. The zero value is open.
type CloseChecker struct {
	closed atomic.Bool
}

// Close notes the close and panics, when invariants are checked, if it is the second.
func (c *CloseChecker) Close() {
	if Enabled && c.closed.Swap(true) {
		panic("BUG: closed twice")
	}
}

// AssertOpen panics, when invariants are checked, after Close.
func (c *CloseChecker) AssertOpen() {
	if Enabled && c.closed.Load() {
		panic("BUG: used after close")
	}
}
