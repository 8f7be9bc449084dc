// SPDX-License-Identifier: Apache-2.0

package phases

import (
	"sync"

	"github.com/seine-crawler/seine/storage"
)

// Step is what a goroutine that a phase starts works for.
type Step uint8

// The phases that start goroutines which Env.Busy measures.
const (
	StepInject Step = iota
	StepUpdateDB
	StepInvertLinks
	StepDedup
	StepMergeLinks
)

// share says from when on several goroutines share the work of a phase: each has so much of it at least.
type share struct {
	pages   uint64
	bytes   int64 // of what is sorted
	partsOf func(r storage.Range, n int) (from [][]byte, err error)
}

// spare keeps the memory that a phase would otherwise allocate anew at each run, which was a quarter of its time.
// (A sync.Pool would lose it at each garbage collection, of which there are several between two runs.)
type spare struct {
	mu   sync.Mutex
	kept []any
}

// take returns what was kept last, nil if nothing is left.
func (s *spare) take() (kept any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if last := len(s.kept) - 1; last >= 0 {
		kept, s.kept[last] = s.kept[last], nil
		s.kept = s.kept[:last]
	}
	return kept
}

// put keeps what goroutines need again, of which most run at the same time.
func (s *spare) put(v any, most int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.kept) < most {
		s.kept = append(s.kept, v)
	}
}
