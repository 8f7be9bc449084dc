// SPDX-License-Identifier: Apache-2.0

package inspect

import (
	"fmt"
	"time"

	"github.com/seine-crawler/seine/storage"
)

// Verified says what Verify read and what it found wrong.
type Verified struct {
	Store     storage.VerifyReport
	Files     uint64 // WARC files
	Records   uint64 // in them, sound
	Bytes     uint64 // of them, all read
	Captures  uint64 // whose WARC record is sound
	Documents uint64 // in the index
	// Torn are the bytes that a crash left at the ends of open segments' files, and between the segments of a file.
	// They are no damage: what they were to be is due, and the next crawl cuts off what is at the end.
	Torn uint64
	// Strays are WARC files in which no sealed segment has a part, though the one in their name is sealed. They are no
	// damage: a purge that was interrupted leaves them, and the next one removes them.
	Strays   uint64
	Problems uint64
	Kinds    []ProblemKind // of Problems, in the order in which they were met
	Took     time.Duration
}

// ProblemKind are the problems of one kind: a range of the store, a table, WARC files, records in them, captures, the
// index.
type ProblemKind struct {
	Kind  string
	Count uint64
	Found []string // the first problemsMax
}

// Kinds of problems that are not ranges of the store.
const (
	kindStore   = "store"
	kindFile    = "WARC file"
	kindRecord  = "WARC record"
	kindCapture = "capture"
	kindIndex   = "index"
)

// Problem counts a problem of a kind, and lists it among the first.
func (v *Verified) Problem(kind, format string, args ...any) {
	v.Problems++
	k := v.kind(kind)
	if k.Count++; len(k.Found) < problemsMax {
		k.Found = append(k.Found, fmt.Sprintf(format, args...))
	}
}

func (v *Verified) kind(kind string) *ProblemKind {
	for i := range v.Kinds {
		if v.Kinds[i].Kind == kind {
			return &v.Kinds[i]
		}
	}
	v.Kinds = append(v.Kinds, ProblemKind{Kind: kind})
	return &v.Kinds[len(v.Kinds)-1]
}
