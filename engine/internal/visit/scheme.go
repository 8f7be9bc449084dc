// SPDX-License-Identifier: Apache-2.0

package visit

import (
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
