// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"strconv"
	"strings"

	"github.com/seine-crawler/seine/storage/urlkey"
)

// Bounds of the trap filter. In practice, a server generates URLs beyond them without end: a calendar, a faceted list,
// a relative link that grows.
const (
	MaxPathDepth       = 20 // path segments
	MaxSegmentRepeats  = 3  // times one non-empty path segment may occur
	MaxQueryParameters = 16
	MaxNameRepeats     = 4 // times one parameter name may occur
	MaxPageNumber      = 10_000
)

// TrapFilter refuses URLs that look like crawler traps. The zero value takes the year from the clock.
type TrapFilter struct {
	Year int // the current year, to recognize calendars; 0 means the clock's
}

// Accept refuses with reason "path_depth", "path_repeat", "calendar", "query_parameters", "query_repeat" or
// "page_number". It does not look at the length: no URL is longer than urlkey.MaxLength.
func (f TrapFilter) Accept(u urlkey.URL) string {
	path := u.Path()
	if depth := strings.Count(path, "/"); depth > MaxPathDepth {
		return "path_depth"
	} else if depth > MaxSegmentRepeats && repeats(path) {
		return "path_repeat"
	} else if calendarTrap(u.RequestTarget(), f.Year) {
		return "calendar"
	}
	if q, has := u.Query(); has && strings.Count(q, "&") >= MaxQueryParameters {
		return "query_parameters"
	} else if has {
		return queryTrap(q)
	}
	return ""
}

// queryTrap looks for parameters that repeat, and for page numbers that no list has.
func queryTrap(q string) string {
	for rest := q; rest != ""; {
		var p string
		p, rest, _ = strings.Cut(rest, "&")
		name, value, _ := strings.Cut(p, "=")
		if name == "" {
			continue
		}
		n := 1
		for more := rest; more != ""; {
			var next string
			next, more, _ = strings.Cut(more, "&")
			if other, _, _ := strings.Cut(next, "="); other == name {
				n++
			}
		}
		if n > MaxNameRepeats {
			return "query_repeat"
		}
		if isPageName(name) {
			if number, err := strconv.ParseUint(value, 10, 64); err == nil && number > MaxPageNumber*pageStep(name) {
				return "page_number"
			}
		}
	}
	return ""
}

// isPageName reports whether a parameter says which part of a list a page shows. "p" does not: more often it is the
// number of one post, as in WordPress's /?p=12345 and phpBB's viewtopic.php?p=123456.
func isPageName(name string) bool {
	return name == "page" || name == "paged" || name == "offset" || name == "start"
}

// pageStep is how many items a page has, for parameters that count items.
func pageStep(name string) uint64 {
	if name == "offset" || name == "start" {
		return 100
	}
	return 1
}

// repeats reports whether some segment occurs more than MaxSegmentRepeats times. Paths have at most MaxPathDepth
// segments here, so the double loop is cheaper than a map.
func repeats(path string) bool {
	var room [MaxPathDepth + 1]string
	segments := room[:0]
	for rest := path[1:]; len(segments) < cap(segments); {
		segment, tail, more := strings.Cut(rest, "/")
		n := 1
		for _, s := range segments {
			if s == segment {
				n++
			}
		}
		if segment != "" {
			if n > MaxSegmentRepeats {
				return true
			}
			segments = append(segments, segment)
		}
		if !more {
			break
		}
		rest = tail
	}
	return false
}
