// SPDX-License-Identifier: Apache-2.0

// Robots directives of one page: X-Robots-Tag headers and robots meta tags. (Package engine/fetch/robots is about
// robots.txt.)

package parse

import (
	"strconv"
	"strings"
	"time"
)

// addTag reads the value of one X-Robots-Tag header: directives separated by commas. An agent's name may precede them,
// with a version or without ("otherbot: noindex, nofollow"). It applies up to the next name, since proxies join header
// lines: "noindex, otherbot/2.1: nofollow".
func (r *RobotsFlags) addTag(value, agent string) {
	value = value[:min(len(value), maxRobotsTag)]
	var others RobotsFlags // receives the directives for other agents
	to := r
	for value != "" {
		item, _, _ := strings.Cut(value, ",")
		name, _, addressed := strings.Cut(item, ":")
		if !addressed || !isAddress(name) {
			value = value[to.add(value):]
			continue
		}
		value = value[len(name)+1:]
		to = &others
		if name = strings.TrimSpace(name); name == "*" || strings.EqualFold(name, "robots") || isToken(name, agent) {
			to = r
		}
	}
}

// addMeta reads the content of a meta tag whose name is robots or the crawler's own: the same list, without names.
func (r *RobotsFlags) addMeta(content string) {
	content = content[:min(len(content), maxRobotsTag)]
	for content != "" {
		content = content[r.add(content):]
	}
}

// flag sets the directive without a value that a word is, ignoring case, and reports whether it is one.
func (r *RobotsFlags) flag(word string) bool {
	switch {
	case strings.EqualFold(word, "noindex"):
		r.NoIndex = true
	case strings.EqualFold(word, "nofollow"):
		r.NoFollow = true
	case strings.EqualFold(word, "none"):
		r.NoIndex, r.NoFollow = true, true
	case strings.EqualFold(word, "nosnippet"):
		r.NoSnippet = true
	case strings.EqualFold(word, "noai"):
		r.NoAI = true
	case strings.EqualFold(word, "noimageai"):
		r.NoImageAI = true
	case strings.EqualFold(word, "noarchive"), strings.EqualFold(word, "nocache"):
		r.NoArchive = true
	default:
		return false
	}
	return true
}

// notComma are the bytes that stand between directives by mistake ("noindex nofollow", "noindex;nofollow"), and quotes.
// Whoever writes so means what Nutch and Heritrix, which search for the words, understand.
func notComma(c rune) bool { return c <= ' ' || strings.ContainsRune(`;|/"'`, c) }

// add reads the first directive of a list and returns how many bytes of the list it consumed, at least one. Unknown
// directives are ignored.
func (r *RobotsFlags) add(list string) int {
	item, _, _ := strings.Cut(list, ",")
	taken := min(len(item)+1, len(list))
	name, value, _ := strings.Cut(item, ":")
	value, more := firstWord(value)
	switch name = strings.TrimSpace(name); {
	case r.flag(name):
	case strings.EqualFold(name, "max-snippet"):
		n, err := strconv.Atoi(value)
		switch {
		case err != nil || n < 0: // -1 means no limit
		case n == 0:
			r.NoSnippet = true
		case r.MaxSnippet == 0 || n < r.MaxSnippet:
			r.MaxSnippet = n
		}
	case strings.EqualFold(name, "unavailable_after"):
		colon := strings.IndexByte(list, ':') + 1
		if colon == 0 || colon > len(item) {
			break
		}
		t, n := parseDate(list[colon:])
		if !t.IsZero() && (r.UnavailableAfter.IsZero() || t.Before(r.UnavailableAfter)) {
			r.UnavailableAfter = t
		}
		taken = min(max(taken, colon+n), len(list))
	default:
		for word := range strings.FieldsFuncSeq(name, notComma) {
			r.flag(word)
		}
	}
	for word := range strings.FieldsFuncSeq(more, notComma) { // "max-snippet:50; noindex"
		r.flag(word)
	}
	return max(taken, 1)
}

// firstWord cuts a directive's value from what follows it by mistake.
func firstWord(value string) (first, more string) {
	value = strings.TrimLeftFunc(value, notComma)
	if end := strings.IndexFunc(value, notComma); end >= 0 {
		return value[:end], value[end:]
	}
	return value, ""
}

// isAddress distinguishes an agent's name ("botname: directives") from a directive with a value.
func isAddress(name string) bool {
	name = strings.TrimSpace(name)
	for _, d := range [...]string{"unavailable_after", "max-snippet", "max-image-preview", "max-video-preview"} {
		if strings.EqualFold(name, d) {
			return false
		}
	}
	if name == "*" {
		return true
	}
	for i := range len(name) {
		if c := name[i]; !isAlnum(c) && c != '-' && c != '_' && c != '.' && c != '/' {
			return false
		}
	}
	return name != ""
}

// dateLayouts are the date formats of unavailable_after beside that of mail (RFC 822): ISO 8601, and dates without a
// zone.
var dateLayouts = [...]string{
	time.RFC3339, "2006-01-02T15:04:05-0700", "2006-01-02T15:04:05", "2006-01-02 15:04:05 MST", "2006-01-02 15:04:05",
	"2006-01-02T15:04Z07:00", "2006-01-02T15:04", "2006-01-02 15:04", "2006-01-02",
	"2 Jan 2006 15:04:05", "2 Jan 2006",
}

// parseDate reads the date at the start of a list and returns it, in UTC, with the number of bytes consumed. It skips a
// leading weekday, whose comma is part of the date ("Sat, 25 Jun 2026 …"). RFC 850, which Google requested, is RFC 822
// with hyphens. Zone names with an unknown offset count as UTC, an error of hours at most. The zero time means no date.
func parseDate(list string) (time.Time, int) {
	item, rest, more := strings.Cut(list, ",")
	taken := len(item)
	if more && isWeekday(strings.TrimSpace(item)) {
		item, _, _ = strings.Cut(rest, ",")
		taken += 1 + len(item)
	}
	taken = min(taken+1, len(list))
	item = strings.TrimSpace(item)
	if len(item) > 64 {
		return time.Time{}, taken
	}
	spaced := strings.Replace(item, "-", " ", 2)
	for _, mail := range [...]string{item, spaced} {
		if at := mailTime(mail); at != 0 {
			return time.Unix(at, 0).UTC(), taken
		}
	}
	for _, layout := range dateLayouts {
		for _, text := range [...]string{item, spaced} {
			if t, err := time.Parse(layout, text); err == nil {
				return t.UTC(), taken
			}
		}
	}
	return time.Time{}, taken
}

func isWeekday(s string) bool {
	for d := time.Sunday; d <= time.Saturday; d++ {
		if name := d.String(); strings.EqualFold(s, name) || strings.EqualFold(s, name[:3]) {
			return true
		}
	}
	return false
}
