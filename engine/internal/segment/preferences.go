// SPDX-License-Identifier: Apache-2.0

package segment

import (
	"strings"
	"time"
	"unicode"

	"github.com/seine-crawler/seine/storage"
)

// Preferences are what a site says about uses of its pages: to train models, to search, and others. They hold as of the
// time of the fetch, so they are stored with it: those of robots.txt in a field of the WARC record, those of response
// and page as parts of these, and all of them together in the parse record. seine itself obeys two of them: a page
// whose site says "search=n" is not indexed, and one that says until when it may be found is fetched again by then.

// fieldPreferences is the WARC header field that holds what robots.txt said.
const fieldPreferences = "WARC-Seine-Preferences"

// preferenceHeaders are the header fields of responses that hold preferences, as defined by the IETF's working group on
// AI preferences, contentsignals.org and the W3C's TDMRep.
var preferenceHeaders = [...]string{"Content-Usage", "Content-Signal", "TDM-Reservation", "TDM-Policy"}

// preferenceBreak stands between lines in a WARC field, which has one line.
const preferenceBreak = " | "

// cleanPreferences returns preferences in a form that survives a WARC field: no line contains the separator of lines,
// or a character that the field would escape. It is idempotent.
func cleanPreferences(text string) string {
	if text == "" {
		return ""
	}
	text = strings.Map(func(r rune) rune {
		if r != '\n' && unicode.In(r, unicode.Cc, unicode.Zl, unicode.Zp) {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(text, "\uFFFD"))
	var clean []string
	for line := range strings.SplitSeq(strings.ReplaceAll(text, preferenceBreak, "\n"), "\n") {
		if line = strings.Trim(line, " |"); line != "" {
			clean = append(clean, line)
		}
	}
	return strings.Join(clean, "\n")
}

// readPreferences collects the preferences for a page and obeys them. Lines that do not fit are left out.
func readPreferences(a *Attempt, s *Scratch) {
	all := ""
	add := func(line string) {
		if len(all)+1+len(line) > storage.PreferencesMaxBytes || strings.Contains("\n"+all+"\n", "\n"+line+"\n") {
			return
		}
		if all != "" {
			all += "\n"
		}
		all += line
	}
	if at := s.page.Robots.UnavailableAfter; !at.IsZero() {
		add(storage.PreferenceUnavailable + at.UTC().Format(time.RFC3339))
	}
	if clean := cleanPreferences(a.Preferences); clean != "" {
		for line := range strings.SplitSeq(clean, "\n") {
			add(line)
		}
	}
	for _, name := range preferenceHeaders {
		if v := a.Response.Header(name); len(v) > 0 {
			add(name + ": " + strings.TrimSpace(string(v)))
		}
	}
	for _, p := range s.page.Preferences {
		add(p.Name + ": " + strings.TrimSpace(p.Value))
	}
	if s.page.Robots.NoAI {
		add("robots: noai")
	}
	if s.page.Robots.NoImageAI {
		add("robots: noimageai")
	}
	s.outcome.Preferences = all
	if deniesSearch(all) {
		s.outcome.Flags |= storage.FlagNoIndex
	}
}

// deniesSearch reports whether a preference says that a page must not be found by searching: "search=n" of
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
