// SPDX-License-Identifier: Apache-2.0

package segment

import (
	"strings"

	"github.com/seine-crawler/seine/storage"
)

// Preferences: what a site says about uses of its pages (to train models, to search, …). They hold as of
// the time of the fetch, so they are kept with it: those of robots.txt in a field of the WARC record, those
// of the response and of the page in themselves, all of them together in the parse record. One of them binds
// seine itself: a page whose site says "search=n" is not indexed.

// fieldPreferences is the WARC header field of what robots.txt said, preferenceHeaders the response's fields
// that speak of uses: of the IETF's working group on AI preferences, contentsignals.org and the W3C's TDMRep.
const fieldPreferences = "WARC-Seine-Preferences"

var preferenceHeaders = [...]string{"Content-Usage", "Content-Signal", "TDM-Reservation", "TDM-Policy"}

// preferenceBreak stands between lines in a WARC field, which has one line.
const preferenceBreak = " | "

// readPreferences collects what was said of a page, and obeys.
func readPreferences(a *Attempt, s *Scratch) {
	o, all := &s.outcome, a.Preferences
	add := func(name, value string) {
		if line := name + ": " + strings.TrimSpace(value); len(all)+len(line) < storage.PreferencesMaxBytes && !strings.Contains("\n"+all+"\n", "\n"+line+"\n") {
			if all != "" {
				all += "\n"
			}
			all += line
		}
	}
	for _, name := range preferenceHeaders {
		if v := a.Response.Header(name); len(v) > 0 {
			add(name, string(v))
		}
	}
	for _, p := range s.page.Preferences {
		add(p.Name, p.Value)
	}
	if s.page.Robots.NoAI {
		add("robots", "noai")
	}
	if s.page.Robots.NoImageAI {
		add("robots", "noimageai")
	}
	o.Preferences = all
	if deniesSearch(all) {
		o.Flags |= storage.FlagNoIndex
	}
}

// deniesSearch reports whether some preference is that a page not be found by searching: "search=n" of
// Content-Usage, "search=no" of Content-Signal.
func deniesSearch(preferences string) bool {
	for line := range strings.Lines(preferences) {
		name, list, _ := strings.Cut(strings.ToLower(line), ":")
		if name != "content-usage" && name != "content-signal" {
			continue
		}
		for item := range strings.SplitSeq(list, ",") {
			item, _, _ = strings.Cut(item, ";") // parameters
			key, value, _ := strings.Cut(item, "=")
			if value = strings.TrimSpace(value); strings.TrimSpace(key) == "search" && (value == "n" || value == "no") {
				return true
			}
		}
	}
	return false
}
