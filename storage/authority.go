// SPDX-License-Identifier: Apache-2.0

package storage

import "github.com/seine-crawler/seine/storage/urlkey"

// AuthorityKey is the key in HostFactsRange of what is known of a scheme on a host: its robots.txt.
func AuthorityKey(h urlkey.HostKey, scheme string) urlkey.HostKey {
	return h + " " + urlkey.HostKey(scheme)
}

// HostStateKey is the key in HostFactsRange of what is known of a host whatever the scheme: when it may be
// visited, failures, Crawl-delay.
func HostStateKey(h urlkey.HostKey) urlkey.HostKey { return h + " *" }
