// SPDX-License-Identifier: Apache-2.0

package visit

import (
	"github.com/seine-crawler/seine/engine/fetch"
	"github.com/seine-crawler/seine/engine/internal/segment"
	"github.com/seine-crawler/seine/frontier"
	"github.com/seine-crawler/seine/storage"
	"github.com/seine-crawler/seine/storage/urlkey"
)

// A seed without a scheme is injected with https (storage.MetaScheme). When no https connection can be made, http is
// tried: the attempt is stored as a temporary redirect to the same URL with http, so that the WARC, and whoever reads
// the segment back from it, says the same, and the redirect's target becomes a seed.

// instead returns the URL to try in place of one to whose server no connection can be made; zero: there is none.
func (x *visit) instead(u urlkey.URL, f fetch.Failure) (none urlkey.URL) {
	if u.Scheme() != "https" || !noConnection(f) || x.frontier.Outage() {
		return none
	}
	var r storage.Record
	if ok, err := x.env.Store.Record(u.Key(), &r); err != nil || !ok || !r.SchemeAssumed() {
		return none
	}
	to, err := urlkey.Parse("http" + u.String()[len("https"):])
	if err != nil {
		return none
	}
	return to
}

// insteadOf is instead for a response; zero for one that is an answer.
func (x *visit) insteadOf(u urlkey.URL, r *fetch.Response) (none urlkey.URL) {
	if r.Failure == "" {
		return none
	}
	return x.instead(u, r.Failure)
}

// noConnection reports whether a failure came before any HTTP: the server may still speak plain http. "" stands for a
// robots.txt that an earlier process could not reach.
func noConnection(f fetch.Failure) bool {
	switch f {
	case "", fetch.FailRefused, fetch.FailUnreachable, fetch.FailDialTimeout, fetch.FailTLSTimeout, fetch.FailTLS,
		fetch.FailTLSVerify, fetch.FailTLSExpired, fetch.FailTLSName, fetch.FailTLSUntrusted, fetch.FailReset,
		fetch.FailClosed:
		return true
	}
	return false
}

// redirectTo stores a failed attempt at u as a redirect, and ends the visit. The host is not blamed: it gets its next
// request after the usual delay.
func (x *visit) redirectTo(to, u urlkey.URL, f fetch.Failure, left int) error {
	if f == "" {
		f = fetch.FailUnreachable
	}
	x.hosts.troubles.answered(x.v.Host)
	end := x.out.End
	if end.IsZero() {
		end = x.env.Now()
	}
	x.out.Kind, x.out.End, x.out.RetryAfter = frontier.Fetched, end, 0
	_, err := x.store(&segment.Attempt{URL: u, At: end, Failure: f, Instead: to}, x.s)
	x.giveBack(left - 1)
	return err
}
