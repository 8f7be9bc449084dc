// SPDX-License-Identifier: Apache-2.0

package phases

import (
	"cmp"
	"slices"

	"github.com/seine-crawler/seine/engine/policy"
	"github.com/seine-crawler/seine/storage"
)

// transition computes a URL's new record from its old one and the outcome of a fetch: Nutch's
// CrawlDbReducer as a pure function. r holds the old record on entry (a fresh one for a URL that
// was not known) and the new one on return. The old status matters only through what it left in the
// record: the table has one row per outcome.
//
//	success, signature equal    db_notmodified   next = T + interval, modified time kept
//	success, other or none      db_fetched       next = T + interval, signature := new
//	304                         db_notmodified   next = T + interval
//	redirect                    db_redir_*       next = T + interval
//	retry, below the limit      db_unfetched     next = T + 1 day, or maxInterval if that is less, retries + 1
//	retry, limit reached        db_gone          gone schedule, retries + 1
//	gone, parse failed          db_gone, db_parse_failed   gone schedule
//	truncated                   below: truncated content never replaces complete content
//
// Where the interval outgrew maxInterval, in seconds, a success, a 304 and a redirect leave db_unfetched. Every cell of
// status and outcome is a line of testdata/states; doc.go says where they are not Nutch's.
func transition(
	r *storage.Record, o *storage.FetchOutcome, segment uint32, s policy.FetchSchedule, maxInterval uint32,
) {
	prevModified := r.ModifiedTime
	r.Wait(o.Time - r.LastFetch)
	if r.Interval == 0 {
		r.Interval = policy.DefaultInterval
	}
	r.LastFetch = o.Time
	if o.HTTPStatus != 0 {
		r.HTTPStatus = o.HTTPStatus
	}
	if o.Truncated != "" && keepsContent(r, o) {
		keepContent(r, o, s, maxInterval)
		return
	}
	switch o.Status {
	case storage.FetchSuccess:
		fetched(r, o, segment, s, maxInterval)
	case storage.FetchNotModified:
		r.Status, r.Retries = storage.StatusNotModified, 0
		if r.Truncated { // none of it was confirmed: what the server has is not what is stored
			r.Status = storage.StatusFetched
		} else {
			r.Watch(false)
		}
		reschedule(r, s, policy.ChangeNone, o.Time, maxInterval)
		r.ModifiedTime = prevModified
		forceRefetch(r, maxInterval)
	case storage.FetchRedirTemp, storage.FetchRedirPerm:
		r.Status, r.Retries, r.Voted = storage.StatusRedirTemp, 0, true
		if o.Status == storage.FetchRedirPerm {
			r.Status = storage.StatusRedirPerm
		}
		reschedule(r, s, policy.ChangeUnknown, o.Time, maxInterval)
		if prevModified > 0 {
			r.ModifiedTime = prevModified
		}
		forceRefetch(r, maxInterval)
	case storage.FetchRetry:
		switch r.Status {
		case storage.StatusFetched, storage.StatusNotModified, storage.StatusDuplicate:
			r.Retries = 0 // they counted truncated contents
		}
		if r.Retries < 255 {
			r.Retries++
		}
		if r.Retries < retryMax {
			r.Status = storage.StatusUnfetched
			r.FetchTime = o.Time + min(retryDelayMS, int64(maxInterval)*1000)
			return
		}
		r.Status = storage.StatusGone
		goneSchedule(r, o.Time, maxInterval)
	case storage.FetchGone:
		r.Status = storage.StatusGone
		goneSchedule(r, o.Time, maxInterval)
	case storage.FetchParseFailed:
		r.Status = storage.StatusParseFailed
		goneSchedule(r, o.Time, maxInterval)
		if o.Truncated != "" {
			fetchSooner(r, o)
		}
	}
}

// fetched is the row of a success.
func fetched(
	r *storage.Record, o *storage.FetchOutcome, segment uint32, s policy.FetchSchedule, maxInterval uint32,
) {
	prevModified, failed := r.ModifiedTime, r.Retries
	signature, etag, lastModified, simHash := o.Signature, o.ETag, o.LastModified, o.SimHash
	if o.Truncated != "" { // the server would confirm by its validators what it believes to have sent
		signature, etag, lastModified, simHash = storage.Signature{}, "", "", 0
	}
	change := policy.ChangeUnknown
	r.Status = storage.StatusFetched
	if r.Signature != (storage.Signature{}) && signature != (storage.Signature{}) {
		change = policy.ChangeModified
		if r.Signature == signature {
			change = policy.ChangeNone
			r.Status = storage.StatusNotModified
		}
		r.Watch(change == policy.ChangeModified)
	}
	r.Signature, r.SimHash, r.Segment, r.Retries, r.Voted = signature, simHash, segment, 0, true
	r.ETag, r.LastModified, r.Truncated = etag, lastModified, o.Truncated != ""
	reschedule(r, s, change, o.Time, maxInterval)
	if change == policy.ChangeNone {
		r.ModifiedTime = prevModified
	}
	if r.Truncated {
		r.Retries = failed
		fetchSooner(r, o)
	}
	forceRefetch(r, maxInterval)
	fetchWhenUnavailable(r, o)
}

// fetchWhenUnavailable makes a page that says from when on it must not be found due at that time, without validators: a
// 304 would leave it in the index. The parser finds then that the time has passed, unless the page has another by now.
func fetchWhenUnavailable(r *storage.Record, o *storage.FetchOutcome) {
	if at := o.UnavailableAfter(); at > o.Time {
		r.ETag, r.LastModified = "", ""
		r.FetchTime = min(r.FetchTime, at+1) // the time itself is not after it
	}
}

// keepsContent reports whether a record has complete content that stands when a fetch brings only a part of the page,
// or what cannot be parsed because it is a part. That the page must not be indexed counts all the same.
func keepsContent(r *storage.Record, o *storage.FetchOutcome) bool {
	if o.Status != storage.FetchSuccess && o.Status != storage.FetchParseFailed || o.Flags&storage.FlagNoIndex != 0 {
		return false
	}
	switch r.Status {
	case storage.StatusUnfetched, storage.StatusFetched, storage.StatusNotModified, storage.StatusDuplicate:
		return r.Segment != 0 && !r.Truncated && (r.Before() == "" || r.Before() == storage.StatusDuplicate.String())
	}
	return false
}

// noteBefore notes in a record that became r what the page was before, if it is db_unfetched by a failure or by a
// redirect and its old content is not to be found: it has left the index, and must not come back by a failure.
func noteBefore(was, r *storage.Record, o *storage.FetchOutcome) {
	before := ""
	switch {
	case r.Status != storage.StatusUnfetched || r.Segment == 0:
	case o.Status == storage.FetchRetry && was.Status == storage.StatusUnfetched:
		before = was.Before()
	case o.Status == storage.FetchRetry && !was.Findable():
		before = was.Status.String()
	case o.Status == storage.FetchRedirTemp:
		before = storage.StatusRedirTemp.String()
	case o.Status == storage.FetchRedirPerm:
		before = storage.StatusRedirPerm.String()
	}
	setBefore(r, before)
}

// setBefore sets the note of what a page was before; "": it has none.
func setBefore(r *storage.Record, before string) {
	if r.Before() == before {
		return
	}
	r.Meta = slices.DeleteFunc(slices.Clone(r.Meta), func(f storage.Field) bool { return f.Name == storage.MetaBefore })
	if before != "" {
		r.Meta = append(r.Meta[:min(len(r.Meta), storage.MetaFieldsMax)],
			storage.Field{Name: storage.MetaBefore, Value: before})
	}
}

// hasContent reports whether a status says that content was fetched and stands.
func hasContent(s storage.Status) bool {
	return s == storage.StatusFetched || s == storage.StatusNotModified || s == storage.StatusDuplicate
}

// keepContent is the row of a truncated fetch after a complete one: segment, signature, validators and modified time
// stay those of the complete content, and so does the status.
func keepContent(r *storage.Record, o *storage.FetchOutcome, s policy.FetchSchedule, maxInterval uint32) {
	if r.Status == storage.StatusUnfetched {
		r.Status = storage.StatusFetched
	}
	prevModified := r.ModifiedTime
	reschedule(r, s, policy.ChangeUnknown, o.Time, maxInterval)
	r.ModifiedTime = prevModified
	fetchSooner(r, o)
	forceRefetch(r, maxInterval)
}

// fetchSooner makes a page that was cut off by a lost connection, by slowness or by damage due after a day, as after
// any temporary failure; when that has failed too often, at its usual time. A page that is too long stays so.
func fetchSooner(r *storage.Record, o *storage.FetchOutcome) {
	if o.Truncated == truncatedByLength {
		r.Retries = 0
		return
	}
	if r.Retries+1 >= retryMax {
		r.Retries = 0
		return
	}
	r.Retries++
	r.FetchTime = min(r.FetchTime, o.Time+retryDelayMS)
}

// reschedule lets a schedule set the times of a record, and nothing else of it. A page that it leaves due is due after
// its interval: otherwise a crawl would fetch it for ever. No page waits longer than maxInterval: a schedule need not
// know of that, and the interval of the record may be from when it was longer.
func reschedule(r *storage.Record, s policy.FetchSchedule, c policy.Change, at int64, maxInterval uint32) {
	was := *r
	s.Reschedule(r, c, at)
	was.FetchTime, was.Interval, was.ModifiedTime = r.FetchTime, r.Interval, r.ModifiedTime
	*r = was
	if r.FetchTime <= at {
		r.FetchTime = at + int64(cmp.Or(r.Interval, policy.DefaultInterval))*1000
	}
	r.FetchTime = min(r.FetchTime, at+int64(maxInterval)*1000)
}

// goneSchedule lengthens the interval by half while that stays below the maximum: a page that is gone may
// come back, but it is fetched less and less often.
func goneSchedule(r *storage.Record, at int64, maxInterval uint32) {
	if longer := uint64(r.Interval) * 3 / 2; longer < uint64(maxInterval) {
		r.Interval = uint32(longer)
	} else {
		r.Interval = nineTenths(maxInterval)
	}
	r.FetchTime = at + int64(r.Interval)*1000
}

// forceRefetch makes a page whose interval outgrew the maximum unfetched again, so that every
// page is fetched without validators from time to time, whatever the schedule says. A 304 would bring no signature,
// and without one a page is no duplicate of any other.
func forceRefetch(r *storage.Record, maxInterval uint32) {
	if r.Interval <= maxInterval {
		return
	}
	r.Interval = nineTenths(maxInterval)
	r.Status, r.Retries, r.Signature, r.ModifiedTime = storage.StatusUnfetched, 0, storage.Signature{}, 0
	r.ETag, r.LastModified = "", ""
}

func nineTenths(v uint32) uint32 { return uint32((uint64(v)*9 + 5) / 10) }
