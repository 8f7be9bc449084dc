// SPDX-License-Identifier: Apache-2.0

package policy

import "github.com/seine-crawler/seine/storage/urlkey"

// LengthFilter is the most bytes that a URL may have in canonical form. No URL has more than urlkey.MaxLength, whatever
// the filters.
type LengthFilter int

// Accept refuses with reason "length".
func (most LengthFilter) Accept(u urlkey.URL) string {
	if len(u.String()) > int(most) {
		return "length"
	}
	return ""
}
