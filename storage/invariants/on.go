// SPDX-License-Identifier: Apache-2.0

//go:build invariants || race

package invariants

// Enabled reports whether this build checks its invariants.
const Enabled = true
