// SPDX-License-Identifier: Apache-2.0

package segment

import (
	"bytes"
	"math"
	"net/http"

	"github.com/seine-crawler/seine/engine/fetch"
	"github.com/seine-crawler/seine/storage"
)

// statusOf maps a response to an outcome by its HTTP status. Nutch treats every code for which it has no rule as a
// temporary failure. Here client errors are final, except those that mean "later". A part of a page is no page: nobody
// requested one, so the next fetch may bring all of it.
func statusOf(r *fetch.Response) storage.FetchStatus {
	switch code := r.Status; code {
	case http.StatusPartialContent:
		if !r.Whole() {
			return storage.FetchRetry
		}
	case http.StatusNotModified:
		return storage.FetchNotModified
	case http.StatusFound, http.StatusSeeOther, http.StatusTemporaryRedirect:
		return storage.FetchRedirTemp
	case http.StatusRequestTimeout, http.StatusTooEarly, http.StatusTooManyRequests:
		return storage.FetchRetry
	}
	switch code := r.Status; {
	case code >= 200 && code < 300:
		return storage.FetchSuccess
	case code >= 300 && code < 400:
		return storage.FetchRedirPerm
	case code >= 400 && code < 500:
		return storage.FetchGone
	}
	return storage.FetchRetry
}

// readOutcome fills s.outcome, and s.text for a page, from an attempt. It is the only place where a response becomes an
// outcome, whether it was just received or is read back from the WARC. Without parsed a page is left as if no parser
// read its type.
func (g *Segments) readOutcome(a *Attempt, s *Scratch, parsed bool) {
	o := &s.outcome
	*o = storage.FetchOutcome{
		Time: a.At.UnixMilli(), Failure: string(a.Failure), Location: a.location, Outlinks: o.Outlinks[:0],
		TookMS: uint32(min(max(a.Took.Milliseconds(), 0), math.MaxUint32)),
		Bytes:  uint32(min(a.received(), math.MaxUint32)),
	}
	if a.Response == nil {
		o.Status = failureStatus(a.Failure)
		if !a.Instead.IsZero() {
			o.Status, o.Redirect = storage.FetchRedirTemp, a.Instead.Key()
		}
		return
	}
	r := a.Response
	o.HTTPStatus, o.Truncated = uint16(r.Status), r.Truncated
	o.HTTP10 = bytes.HasPrefix(r.Head, []byte("HTTP/1.0"))
	o.Status = statusOf(r)
	switch o.Status {
	case storage.FetchRedirTemp, storage.FetchRedirPerm:
		g.readRedirect(a, o)
	case storage.FetchSuccess:
		o.ETag, o.LastModified = validator(r, "ETag"), validator(r, "Last-Modified")
		if !parsed {
			o.Flags |= storage.FlagNotParsed
			return
		}
		g.readPage(a, s)
	}
}

// validatorMax bounds a validator in bytes. It is stored in crawldb and sent with the next request; servers refuse
// requests with long heads, and a server that sends long ones could fill crawldb.
const validatorMax = 512

// validator returns a validator of a response, "" if it is too long to be one.
func validator(r *fetch.Response, name string) string {
	v := r.Header(name)
	if len(v) > validatorMax {
		return ""
	}
	return string(v)
}

func failureStatus(f fetch.Failure) storage.FetchStatus {
	if f == FailureRobots || f == FailureCrawlDelay || f.Kind() == fetch.KindPermanent {
		return storage.FetchGone
	}
	return storage.FetchRetry
}

// readRedirect resolves the target. A redirect without a usable target makes the URL gone.
func (g *Segments) readRedirect(a *Attempt, o *storage.FetchOutcome) {
	target, err := a.URL.Resolve(a.Response.Location())
	if err == nil {
		target, err = g.env.Redirects.Normalize(target)
	}
	if err != nil || a.Response.Location() == "" || target == a.URL {
		o.Status, o.Failure = storage.FetchGone, failureLocation
		return
	}
	o.Redirect = target.Key()
}
