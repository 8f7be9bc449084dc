// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"strings"

	"github.com/seine-crawler/seine/storage/urlkey"
)

// Bounds of the default trap filter. A URL past one of them is, in practice, one of an endless
// family that a server makes up: a calendar, a faceted list, a relative link that grows.
const (
	MaxPathDepth       = 20 // path segments
	MaxSegmentRepeats  = 3  // times one non-empty path segment may occur
	MaxQueryParameters = 16
)

// TrapFilter refuses URLs shaped like crawler traps. The zero value uses the bounds above.
type TrapFilter struct{}

// Accept refuses with reason "path_depth", "path_repeat" or "query_parameters".
func (TrapFilter) Accept(u urlkey.URL) string {
	path := u.Path()
	if depth := strings.Count(path, "/"); depth > MaxPathDepth {
		return "path_depth"
	} else if depth > MaxSegmentRepeats && repeats(path) {
		return "path_repeat"
	}
	if q, has := u.Query(); has && strings.Count(q, "&") >= MaxQueryParameters {
		return "query_parameters"
	}
	return ""
}

// repeats reports whether some segment occurs more than MaxSegmentRepeats times. Paths are at
// most MaxPathDepth segments long here, so the plain double loop is the cheap one.
func repeats(path string) bool {
	for rest := path; ; {
		i := strings.IndexByte(rest, '/')
		if i < 0 {
			return false
		}
		rest = rest[i+1:]
		segment, tail, _ := strings.Cut(rest, "/")
		if segment == "" {
			continue
		}
		n := 1
		for more := tail; more != ""; {
			var next string
			next, more, _ = strings.Cut(more, "/")
			if next == segment {
				if n++; n > MaxSegmentRepeats {
					return true
				}
			}
		}
	}
}
