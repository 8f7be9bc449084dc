// SPDX-License-Identifier: Apache-2.0

package policy

import "github.com/seine-crawler/seine/storage/urlkey"

// LengthFilter refuses URLs of more than so many bytes in canonical form. None is longer than urlkey.MaxLength,
// whatever filters there are.
type LengthFilter int

// Accept refuses with reason "length".
func (most LengthFilter) Accept(u urlkey.URL) string {
	if len(u.String()) > int(most) {
		return "length"
	}
	return ""
}
