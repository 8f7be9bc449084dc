// SPDX-License-Identifier: Apache-2.0

package policy

import "strings"

// loops are the expressions of Nutch's own files that RE2 cannot express, because they refer back to a group. Each
// function finds in linear time what its expression finds.
var loops = map[string]func(url string) bool{
	`.*(/[^/]+)/[^/]+\1/[^/]+\1/`: alternates,
	`.*(/.+?)/.*?\1/.*?\1/`:       recurs,
}

// alternates reports whether a segment occurs three times, with one other segment after each of the first two:
// /a/b/a/c/a/.
func alternates(url string) bool {
	var before [4]string // segments, the latest first
	for n := 0; ; n++ {
		slash := strings.IndexByte(url, '/')
		if slash < 0 {
			return false
		}
		s := url[:slash]
		url = url[slash+1:]
		// No slash precedes the scheme, so it is not a segment.
		if n > 4 && s != "" && s == before[1] && s == before[3] && before[0] != "" && before[2] != "" {
			return true
		}
		before = [4]string{s, before[0], before[1], before[2]}
	}
}

// recurs reports whether a segment occurs three times, each at least two segments after the one before.
func recurs(url string) bool {
	type seen struct{ at, times int }
	if strings.Count(url, "/") < 7 { // the least that matches: http://h//h//h/
		return false
	}
	var count map[string]seen
	for n := 0; ; n++ {
		slash := strings.IndexByte(url, '/')
		if slash < 0 {
			return false
		}
		segment := url[:slash]
		url = url[slash+1:]
		if n == 0 || segment == "" {
			continue
		}
		if count == nil {
			count = map[string]seen{}
		}
		c, known := count[segment]
		if known && n < c.at+2 {
			continue
		}
		if c = (seen{n, c.times + 1}); c.times == 3 {
			return true
		}
		count[segment] = c
	}
}
