// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"fmt"
	"time"

	"github.com/seine-crawler/seine/engine/internal/inspect"
	"github.com/seine-crawler/seine/storage"
)

// VerifyReport says what Verify read and what it found wrong.
type VerifyReport struct {
	Store     storage.VerifyReport `json:"store"`
	Captures  uint64               `json:"captures"`  // whose WARC record was read
	Documents uint64               `json:"documents"` // in the index
	Problems  uint64               `json:"problems"`
	Examples  []string             `json:"examples,omitempty"` // the first 20 problems
	Took      Duration             `json:"seconds"`
}

// String is one line of counts and time, and a line for each example.
func (r VerifyReport) String() string {
	s := fmt.Sprintf("verify: %d captures read, %d documents indexed, %d problems in %.2fs",
		r.Captures, r.Documents, r.Problems, time.Duration(r.Took).Seconds())
	for _, x := range r.Examples {
		s += "\n  " + x
	}
	return s
}

func viewVerified(v *inspect.Verified) VerifyReport {
	return VerifyReport{
		Store: v.Store, Captures: v.Captures, Documents: v.Documents, Problems: v.Problems, Examples: v.Examples,
		Took: Duration(v.Took),
	}
}
