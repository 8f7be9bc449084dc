// SPDX-License-Identifier: Apache-2.0

package robots

import "strings"

// preference is one Content-Usage or Content-Signal line: what may be done with what its pattern matches.
type preference struct {
	name  string
	rule  rule // its pattern only
	value string
}

// maxPreferences is the number of such lines of a file that are kept, maxLicenses that of License lines,
// preferenceMax the longest value.
const (
	maxPreferences = 1000
	maxLicenses    = 4
	preferenceMax  = 256
)

// preferenceNames are the fields that say what may be done with pages, as people write them: Content-Usage
// of the IETF's working group on AI preferences, Content-Signal of contentsignals.org.
var preferenceNames = map[string]string{"content-usage": "Content-Usage", "content-signal": "Content-Signal"}

// newPreference reads "train-ai=n", which holds for the whole site, or "/path train-ai=n".
func newPreference(name, value string) (p preference, ok bool) {
	pattern := "/"
	if strings.HasPrefix(value, "/") || strings.HasPrefix(value, "*") {
		pattern, value, _ = strings.Cut(value, " ")
	}
	value = strings.Trim(value, space)
	return preference{name, newRule(true, pattern), value}, value != "" && len(value) <= preferenceMax
}

// Preferences returns what the file says about uses of a request target, as "Name: value" lines: of each
// field that of the longest pattern that matches, and the file's License lines. "" when it says nothing.
func (r *Rules) Preferences(target string) string {
	if len(r.preferences) == 0 && len(r.licenses) == 0 {
		return ""
	}
	target = normalise(target)
	var lines []string
	for _, name := range [...]string{"Content-Usage", "Content-Signal"} {
		best, value := -1, ""
		for i := range r.preferences {
			if p := &r.preferences[i]; p.name == name && p.rule.length > best && p.rule.matches(target) {
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
