// SPDX-License-Identifier: Apache-2.0

package visit

import (
	"time"

	"github.com/seine-crawler/seine/engine/fetch"
	"github.com/seine-crawler/seine/storage"
	"github.com/seine-crawler/seine/storage/urlkey"
)

// A seed without a scheme is injected with https (storage.MetaScheme). When no https connection can be made, http is
// tried: the attempt is stored as a temporary redirect to the same URL with http, so that the WARC, and whoever reads
// the segment back from it, says the same, and the redirect's target becomes a seed.

// plainInstead returns the URL to try in place of one to whose server no connection can be made; zero: there is none.
func plainInstead(store *storage.Store, u urlkey.URL, f fetch.Failure) (none urlkey.URL) {
	if u.Scheme() != "https" || !noConnection(f) {
		return none
	}
	var r storage.Record
	if ok, err := store.Record(u.Key(), &r); err != nil || !ok || !r.SchemeAssumed() {
		return none
	}
	to, err := urlkey.Parse("http" + u.String()[len("https"):])
	if err != nil {
		return none
	}
	return to
}

// noConnection reports whether a failure came before any HTTP: the server may still speak plain http. "" stands for a
// robots.txt that an earlier process did not get: it may have been answered with the demand for a rest.
func noConnection(f fetch.Failure) bool {
	switch f {
	case fetch.FailRefused, fetch.FailUnreachable, fetch.FailDialTimeout, fetch.FailTLSTimeout, fetch.FailTLS,
		fetch.FailTLSVerify, fetch.FailTLSExpired, fetch.FailTLSName, fetch.FailTLSUntrusted, fetch.FailReset,
		fetch.FailClosed:
		return true
	}
	return false
}

// http and https of a host are one to the frontier, with a robots.txt each. Where that of one cannot be had, and that
// of the other can, the URLs of the first wait in the store, and the host goes on with those of the other: many sites
// answer on one alone. Else the first such URL would have the host rest, and come first again after each rest.

// shut returns the scheme of a host whose robots.txt cannot be had until a time, if that of the other scheme could be,
// as far as both are in memory; "": there is none.
func (h *Hosts) shut(host urlkey.HostKey) (scheme string, until time.Time) {
	now := h.env.Now()
	for _, scheme := range []string{"http", "https"} {
		if until := h.peek(storage.AuthorityKey(host, scheme)).unreachableUntil(now); until.After(now) &&
			h.peek(storage.AuthorityKey(host, otherScheme(scheme))).answered() {
			return scheme, until
		}
	}
	return "", until
}

func otherScheme(scheme string) string {
	if scheme == "http" {
		return "https"
	}
	return "http"
}

// unreachableUntil returns until when nothing is fetched because the robots.txt cannot be had; zero: it can be, or is
// to be requested. a may be nil.
func (a *authority) unreachableUntil(now time.Time) (until time.Time) {
	if a == nil {
		return until
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if f := &a.facts; f.RobotsStatus == robotsStatusUnreachable && !robotsExpired(f, now.UnixMilli()) {
		until = time.UnixMilli(f.RobotsExpires)
	}
	return until
}

// answered reports whether the robots.txt could be had. a may be nil.
func (a *authority) answered() bool {
	if a == nil {
		return false
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.facts.RobotsStatus != 0 && a.facts.RobotsStatus != robotsStatusUnreachable
}
