// SPDX-License-Identifier: Apache-2.0

// Package invariants enables checks that are too expensive, or too drastic, for a release build.
//
// # What it is
//
// A constant, Enabled, that the build tags "invariants" and "race" make true, and Assert, which
// depends on it.
//
// # Picture
//
//	go build              Enabled = false   Assert does nothing
//	go test -race         Enabled = true    Assert panics with "BUG: …"
//	go build -tags invariants
//
// # Life
//
// Nothing needs to be created or closed.
//
// # Invariants
//
// With Enabled false Assert compiles to nothing.
//
// # Who runs it
//
// Everything is safe for concurrent use. The package starts no goroutine.
//
// # Bounds
//
// Nothing grows: no bounds are needed.
//
// # Deliberately absent
//
// Logging, and assertions about data from outside: bad input is an error, never a panic.
//
// # Read first
//
// invariants.go.
package invariants
