// SPDX-License-Identifier: Apache-2.0

package invariants

import "fmt"

// Assert panics with "BUG: " and the message when ok is false and Enabled is true. A failure is a bug in
// seine, never bad input.
func Assert(ok bool, format string, args ...any) {
	if Enabled && !ok {
		panic("BUG: " + fmt.Sprintf(format, args...))
	}
}
