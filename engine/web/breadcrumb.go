// SPDX-License-Identifier: Apache-2.0

package web

// Breadcrumb is a URL as people read it: the host, then the parts of its path, at most five, then its query. What could
// mislead is made harmless: scripts that are mixed, characters that change the direction of text.
func Breadcrumb(raw string) []string {
	c := crumbs(raw)
	return append([]string{c.Host}, c.Parts...)
}
