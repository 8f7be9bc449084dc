// SPDX-License-Identifier: Apache-2.0

package hostile

import "time"

const (
	// maxConns is how many connections are served at once.
	maxConns = 20_000
	// connTime ends a connection whose client never leaves.
	connTime = 10 * time.Minute
	// maxRequestHead is the largest request head that is read.
	maxRequestHead = 64 << 10
	// maxLogged is how many bytes of each direction of a connection the log keeps.
	maxLogged = 4 << 10
	// maxEvents is how many events the log keeps: some 100 MB at most.
	maxEvents  = 1 << 18
	eventBlock = 256
	// maxHeads is how many request heads a tally keeps.
	maxHeads = 64
	// bombBytes is what a small coded body comes to.
	bombBytes = 256 << 20
	// endless is how much a server that never stops sends at most.
	endless = 1 << 30
)
