// SPDX-License-Identifier: Apache-2.0

// Package hosts lets Go peers connect to the addresses of a hosts(5) file, as a user would who tests
// a crawler against a web of his own.
//
// # What it is
//
// One function, Dialer. A peer gives what it returns to its http.Transport, and asks for URLs by name.
//
//	hosts file ──Dialer──▶ names → addresses (RAM) ──DialContext──▶ connection
//
// # Life
//
// The file is read once, when Dialer is called; the map lives as long as the function that it returned,
// and never changes, so that function may be called from many goroutines. The connections are the
// caller's.
//
// # Invariants
//
// A name that is not in the file is an error, never a question to DNS: a benchmark does not leave this
// machine.
package hosts
