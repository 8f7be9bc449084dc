// SPDX-License-Identifier: Apache-2.0

package parse

import (
	"strings"
	"time"
)

// robotsTags reads X-Robots-Tag headers: "noindex, nofollow" or "botname: noindex".
func (p *Page) robotsTags(in *Input) {
	for _, v := range in.RobotsTag {
		if bot, rest, ok := strings.Cut(v, ":"); ok && !isDirective(bot) {
			if !strings.EqualFold(strings.TrimSpace(bot), in.Agent) {
				continue
			}
			v = rest
		}
		p.robotsDirectives(v)
	}
}

// isDirective tells "unavailable_after: date" from "botname: directives".
func isDirective(s string) bool {
	s = strings.ToLower(strings.TrimSpace(s))
	return strings.Contains(s, ",") || s == "unavailable_after" || strings.HasPrefix(s, "max-")
}

// robotsDirectives reads a list of directives; what is not known is skipped.
func (p *Page) robotsDirectives(list string) {
	r := &p.Robots
	if at := strings.Index(strings.ToLower(list), "unavailable_after:"); at >= 0 {
		if past(list[at+len("unavailable_after:"):]) {
			r.NoIndex = true
		}
	}
	for d := range strings.SplitSeq(strings.ToLower(list), ",") {
		switch strings.TrimSpace(d) {
		case "noindex":
			r.NoIndex = true
		case "nofollow":
			r.NoFollow = true
		case "none":
			r.NoIndex, r.NoFollow = true, true
		case "nosnippet", "max-snippet:0", "max-snippet: 0":
			r.NoSnippet = true
		case "noarchive", "nocache":
			r.NoArchive = true
		}
	}
}

// past reports whether a date in one of the customary forms has gone by.
func past(s string) bool {
	s = strings.TrimSpace(s)
	for _, layout := range []string{time.RFC1123, time.RFC1123Z, time.RFC850, time.RFC3339, "2006-01-02", "02 Jan 2006 15:04:05 MST", "02-Jan-2006 15:04:05 MST"} {
		if t, err := time.Parse(layout, s); err == nil {
			return t.Before(time.Now())
		}
	}
	return false
}
