// SPDX-License-Identifier: Apache-2.0

package policy

import "github.com/seine-crawler/seine/storage/urlkey"

// LinkRule says which links of a page count, by where they lead as seen from the page. A link that does not count makes
// no record, gives no score and is not in linkdb; a redirect that does not count is not followed. (Nutch:
// db.ignore.external.links, db.ignore.internal.links, db.ignore.external.links.mode, db.ignore.also.redirects.)
//
// The zero value lets all count. It is not the same as a scope: a scope is about the seeds' hosts, and what it refuses
// is kept for later.
type LinkRule struct {
	IgnoreExternal bool // links to other hosts do not count
	IgnoreInternal bool // links within a host do not count
	ByDomain       bool // a registered domain is compared in place of a host
}

// Refuses returns why a link between two hosts does not count: "external_link" or "internal_link", "" if it counts.
func (r LinkRule) Refuses(from, to urlkey.HostKey) (reason string) {
	if !r.IgnoreExternal && !r.IgnoreInternal {
		return ""
	}
	same := from == to
	if r.ByDomain && !same {
		same = from.DomainKey() == to.DomainKey()
	}
	switch {
	case same && r.IgnoreInternal:
		return "internal_link"
	case !same && r.IgnoreExternal:
		return "external_link"
	}
	return ""
}
