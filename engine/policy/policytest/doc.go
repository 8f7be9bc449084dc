// SPDX-License-Identifier: Apache-2.0

// Package policytest holds the laws of the interfaces in package policy, as test functions.
//
// # What it is
//
// One function per interface. A test calls it with an implementation and with inputs of its own choice.
//
// # Picture
//
//	func TestMyFilter(t *testing.T) { policytest.URLFilter(t, myFilter{}, urls) }
//
// # Life
//
// Nothing outlives the call.
//
// # Invariants
//
// What passes here may be put into engine.Options.
//
// # Who runs it
//
// The calling test, and a few goroutines that end with the call: the laws include safety under concurrent use, which
// the race detector checks.
//
// # Bounds
//
// Each law takes a few calls per input.
//
// # Deliberately absent
//
// No law judges what a policy decides.
//
// # Read first
//
// laws.go, and host.go for the policies of hosts.
package policytest
