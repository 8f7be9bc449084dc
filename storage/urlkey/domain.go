// SPDX-License-Identifier: Apache-2.0

package urlkey

import (
	"strings"

	"golang.org/x/net/publicsuffix"
)

// Domain returns the registered domain of the host, "python.org" for docs.python.org, by the
// public suffix list. Addresses, and names that are themselves public suffixes, stand for
// themselves.
func (h HostKey) Domain() string {
	host := h.Host()
	if host[len(host)-1] == ']' || endsInNumber(host) {
		return host
	}
	domain, err := publicsuffix.EffectiveTLDPlusOne(host)
	if err != nil {
		return host
	}
	return domain
}

// DomainKey returns the common prefix of the keys of all hosts of the registered domain,
// "org,python,". For an address it is the host key itself.
func (h HostKey) DomainKey() string {
	domain := h.Domain()
	if domain[len(domain)-1] == ']' || endsInNumber(domain) {
		return string(h)
	}
	labels := strings.Count(domain, ".") + 1
	end := 0
	for range labels {
		end += strings.IndexByte(string(h[end:]), ',') + 1
	}
	return string(h[:end])
}
