// SPDX-License-Identifier: Apache-2.0

// Package policytest holds the laws of the interfaces in package policy, as test functions.
//
// # What it is
//
// One function per interface. A test of an implementation calls it with the implementation and some
// inputs of its own choice.
//
// # Picture
//
//	func TestMyFilter(t *testing.T) { policytest.URLFilter(t, myFilter{}, urls) }
//
// # Life
//
// Nothing lives longer than the call.
//
// # Invariants
//
// What passes here may be put into engine.Options.
//
// # Who runs it
//
// The calling test, and some goroutines that end with the call: the laws include safety under
// concurrent use, which the race detector judges.
//
// # Bounds
//
// The time is that of a few calls per input.
//
// # Deliberately absent
//
// Judgement of what a policy decides.
//
// # Read first
//
// laws.go.
package policytest
