// SPDX-License-Identifier: Apache-2.0

package storage

import (
	"strings"

	"github.com/seine-crawler/seine/storage/urlkey"
)

// AuthorityKey is the key in HostFactsRange of what is known of a scheme on a host: its robots.txt.
func AuthorityKey(h urlkey.HostKey, scheme string) urlkey.HostKey {
	return h + " " + urlkey.HostKey(scheme)
}

// SplitAuthorityKey takes a key of AuthorityKey apart.
func SplitAuthorityKey(key urlkey.HostKey) (h urlkey.HostKey, scheme string) {
	host, scheme, _ := strings.Cut(string(key), " ")
	return urlkey.HostKey(host), scheme
}

// HostStateKey is the key in HostFactsRange of what is known of a host whatever the scheme: when it may be
// visited, failures, Crawl-delay.
func HostStateKey(h urlkey.HostKey) urlkey.HostKey { return h + " *" }
