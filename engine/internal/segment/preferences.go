// SPDX-License-Identifier: Apache-2.0

package segment

import (
	"strings"
	"time"
	"unicode"

	"github.com/seine-crawler/seine/engine/fetch"
	"github.com/seine-crawler/seine/engine/parse"
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

// readPreferences collects the preferences for a page and obeys them.
func readPreferences(a *Attempt, s *Scratch) {
	s.outcome.Preferences = PreferencesOf(a.Preferences, a.Response, &s.page)
	if DeniesSearch(s.outcome.Preferences) {
		s.outcome.Flags |= storage.FlagNoIndex
	}
}

// PreferencesOf are the lines of preferences for a page: those that robots.txt has, those of a response (nil: there is
// none), and those of the page itself. Lines that do not fit are left out.
func PreferencesOf(robots string, r *fetch.Response, p *parse.Page) string {
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
	if at := p.Robots.UnavailableAfter; !at.IsZero() {
		add(storage.PreferenceUnavailable + at.UTC().Format(time.RFC3339))
	}
	if clean := cleanPreferences(robots); clean != "" {
		for line := range strings.SplitSeq(clean, "\n") {
			add(line)
		}
	}
	for _, name := range preferenceHeaders {
		if r == nil {
			break
		}
		if v := r.Header(name); len(v) > 0 {
			add(name + ": " + strings.TrimSpace(string(v)))
		}
	}
	for _, own := range p.Preferences {
		add(own.Name + ": " + strings.TrimSpace(own.Value))
	}
	if p.Robots.NoAI {
		add("robots: noai")
	}
	if p.Robots.NoImageAI {
		add("robots: noimageai")
	}
	return all
}

// DeniesSearch reports whether a preference says that a page must not be found by searching: "search=n" of
// Content-Usage, "search=no" of Content-Signal.
func DeniesSearch(preferences string) bool {
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
