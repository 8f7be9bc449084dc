// SPDX-License-Identifier: Apache-2.0

// Package hosts lets Go peers connect to the addresses of a hosts(5) file, as users do who test a crawler against a web
// of their own.
//
// # What it is
//
// One function, Dialer. A peer gives its result to its http.Transport and requests URLs by name.
//
//	hosts file ──Dialer──▶ names → addresses (RAM) ──DialContext──▶ connection
//
// # Life
//
// The file is read once, when Dialer is called. The map lives as long as the function that Dialer returned and never
// changes, so that function may be called from many goroutines. The connections are the caller's.
//
// # Invariants
//
// A name that is not in the file is an error, never a query to DNS: a benchmark does not leave this machine.
package hosts
