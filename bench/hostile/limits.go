// SPDX-License-Identifier: Apache-2.0

package hostile

import "time"

const (
	// maxConns is how many connections are served at once.
	maxConns = 20_000
	// connTime is the longest life of a connection.
	connTime = 10 * time.Minute
	// maxRequestHead is the largest request head that is read, in bytes.
	maxRequestHead = 64 << 10
	// maxLogged is how many bytes of each direction of a connection the log keeps.
	maxLogged = 4 << 10
	// maxEvents is how many events the log keeps, some 100 MB at most; it grows by blocks of eventBlock.
	maxEvents  = 1 << 18
	eventBlock = 256
	// maxHeads is how many request heads a tally keeps.
	maxHeads = 64
	// bombBytes is the decoded size of a bomb.
	bombBytes = 256 << 20
	// endless is how many bytes a server without an end sends at most.
	endless = 1 << 30
)
