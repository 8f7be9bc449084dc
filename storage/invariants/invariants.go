// SPDX-License-Identifier: Apache-2.0

package invariants

import (
	"fmt"
	"math/rand/v2"
	"sync/atomic"
)

// Assert panics with "BUG: " and the message when ok is false and Enabled is true. A failure is a bug in
// seine, never bad input.
func Assert(ok bool, format string, args ...any) {
	if Enabled && !ok {
		panic("BUG: " + fmt.Sprintf(format, args...))
	}
}

// Sometimes returns true in about percent (0 to 100) of its calls when Enabled is true, else false. It
// makes tests take rare paths often.
func Sometimes(percent int) bool {
	return Enabled && rand.IntN(100) < percent
}

// CloseChecker detects a second Close and a use after Close. The zero value is open. It is safe for
// concurrent use.
type CloseChecker struct {
	closed atomic.Bool
}

// Close records the close. It panics if it is the second one and Enabled is true.
func (c *CloseChecker) Close() {
	if Enabled && c.closed.Swap(true) {
		panic("BUG: closed twice")
	}
}

// AssertOpen panics after Close if Enabled is true.
func (c *CloseChecker) AssertOpen() {
	if Enabled && c.closed.Load() {
		panic("BUG: used after close")
	}
}
