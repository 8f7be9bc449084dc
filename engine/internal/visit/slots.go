// SPDX-License-Identifier: Apache-2.0

package visit

import (
	"cmp"

	"github.com/seine-crawler/seine/engine/internal/segment"
)

// slots are the places in which responses are decoded, parsed and packed. That is work for processors, so a few are
// enough, and what it needs of memory does not grow with the number of fetchers: a fetcher has no more than the bytes
// as received. Who has a slot waits for no other one, nor for a body.
type slots chan *segment.Scratch

func newSlots(n int) slots {
	n = cmp.Or(n, 2)
	s := make(slots, n)
	for range n {
		s <- new(segment.Scratch)
	}
	return s
}

// take waits for a slot. Its owner has the slot's scratch, and must put it back.
func (s slots) take() *segment.Scratch { return <-s }

func (s slots) put(scratch *segment.Scratch) { s <- scratch }
