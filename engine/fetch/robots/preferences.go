// SPDX-License-Identifier: Apache-2.0

package robots

import "strings"

// preference is one Content-Usage or Content-Signal line: the permitted uses of the pages that its pattern
// matches.
type preference struct {
	name  string
	rule  rule // its pattern only
	value string
}

// maxPreferences of these lines are kept of a file, and maxLicenses License lines. Lines with a value of more
// than preferenceMax bytes are dropped.
const (
	maxPreferences = 1000
	maxLicenses    = 4
	preferenceMax  = 256
)

// preferenceNames maps fields that state permitted uses of pages to their usual spelling: Content-Usage of the
// IETF's working group on AI preferences, and Content-Signal of contentsignals.org.
var preferenceNames = map[string]string{"content-usage": "Content-Usage", "content-signal": "Content-Signal"}

// newPreference parses "train-ai=n", which applies to the whole site, or "/path train-ai=n".
func newPreference(name, value string) (p preference, ok bool) {
	pattern := "/"
	if strings.HasPrefix(value, "/") || strings.HasPrefix(value, "*") {
		pattern, value, _ = strings.Cut(value, " ")
	}
	value = strings.Trim(value, space)
	return preference{name, newRule(true, pattern), value}, value != "" && len(value) <= preferenceMax
}

// Preferences returns what the file says about uses of a request target (path and query), as "Name: value" lines
// without a final line end: for each field the line with the longest matching pattern, then the file's License
// lines. It returns "" if there are none.
func (r *Rules) Preferences(target string) string {
	if len(r.preferences) == 0 && len(r.licenses) == 0 {
		return ""
	}
	target = normalise(target, 0)
	encoded := encodeQuery(target)
	var lines []string
	for _, name := range [...]string{"Content-Usage", "Content-Signal"} {
		best, value := -1, ""
		for i := range r.preferences {
			if p := &r.preferences[i]; p.name == name && p.rule.length > best && p.rule.matches(target, encoded) {
				best, value = p.rule.length, p.value
			}
		}
		if best >= 0 {
			lines = append(lines, name+": "+value)
		}
	}
	for _, l := range r.licenses {
		lines = append(lines, "License: "+l)
	}
	return strings.Join(lines, "\n")
}
