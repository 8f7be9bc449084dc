// SPDX-License-Identifier: Apache-2.0

// Package invariants switches the checks that are too dear, or too harsh, for a release build.
//
// # What it is
//
// A constant, Enabled, that the build tags "invariants" and "race" turn on, and three small tools
// built on it.
//
// # Picture
//
//	go build              Enabled = false   Assert is nothing
//	go test -race         Enabled = true    Assert panics with "BUG: …"
//	go build -tags invariants
//
// # Life
//
// There is nothing to make or to end; CloseChecker lives inside the type that it guards.
//
// # Invariants
//
// With Enabled false every function here compiles to nothing.
//
// # Who runs it
//
// Everything is safe for concurrent use.
//
// # Bounds
//
// None are needed.
//
// # Deliberately absent
//
// Logging, and assertions about data from outside: bad input is an error, never a panic.
//
// # Read first
//
// invariants.go.
package invariants
