// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"strings"

	"github.com/seine-crawler/seine/storage/urlkey"
)

// MetaRedirectURL is the name of the record's metadata field that holds the URL by which a page is shown in place of
// its own: that of a redirect to it. (Nutch: _repr_.)
const MetaRedirectURL = "_repr_"

// MetaUnlinked is the name of the record's metadata field that says since when no page links to the URL, in seconds
// since 1970. (Compare Nutch's _orphan_, the time of the last link.)
const MetaUnlinked = "seine.unlinked"

// ChooseRedirectURL returns the better known one of two URLs of which the first redirects to the second. (Nutch:
// URLUtil.chooseRepr.) From one registered domain to another it is always the target. Then
//
//	permanent redirect   the source if it is the front page of its host, else the target
//	temporary redirect   a front page rather than another page; of two other pages of a host that with fewer parts in
//	                     its path, then the shorter one; else that of the host with fewer labels, or else the source
func ChooseRedirectURL(from, to urlkey.URL, temporary bool) urlkey.URL {
	a, b := from.HostKey(), to.HostKey()
	if a.DomainKey() != b.DomainKey() {
		return to
	}
	fromRoot, toRoot := from.RequestTarget() == "/", to.RequestTarget() == "/"
	switch {
	case !temporary:
		if fromRoot {
			return from
		}
		return to
	case fromRoot != toRoot:
		if fromRoot {
			return from
		}
		return to
	case !fromRoot && a == b:
		if x, y := slashes(from), slashes(to); y < x || x == y && len(to.String()) < len(from.String()) {
			return to
		}
		return from
	}
	if strings.Count(b.Host(), ".") < strings.Count(a.Host(), ".") {
		return to
	}
	return from
}

// slashes is the number of parts of a URL's path.
func slashes(u urlkey.URL) int { return strings.Count(u.Path(), "/") }
