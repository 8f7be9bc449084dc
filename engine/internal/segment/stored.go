// SPDX-License-Identifier: Apache-2.0

package segment

import (
	"crypto/sha1"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/seine-crawler/seine/engine/fetch"
	"github.com/seine-crawler/seine/storage/urlkey"
	"github.com/seine-crawler/seine/storage/warc"
)

// storedAttempt turns a WARC record back into the attempt that it stores. ok is false for other records.
func storedAttempt(rec *warc.Record) (a *Attempt, ok bool, err error) {
	switch rec.Type {
	case warc.TypeResponse, warc.TypeRevisit:
		a, ok, err = storedResponse(rec)
	case warc.TypeMetadata:
		a, ok, err = storedFailure(rec)
	}
	if err != nil || !ok {
		return nil, false, err
	}
	a.At, a.location = rec.Date, rec.Location
	a.URL, err = urlkey.Parse(rec.URI)
	return a, err == nil, err
}

// IsPage reports whether a record is the response to a request for a page. A 304 is a revisit record; files of older
// programs have response records of it.
func IsPage(rec *warc.Record) bool {
	kind := rec.Type == warc.TypeResponse ||
		rec.Type == warc.TypeRevisit && rec.Field("WARC-Profile") == warc.NotModified.String()
	return kind && rec.Field(fieldRole) == ""
}

// HasBody reports whether a record has the body of its response: with Env.NoContent it was left out.
func HasBody(rec *warc.Record) bool { return rec.Field(fieldDropped) == "" }

func storedResponse(rec *warc.Record) (a *Attempt, ok bool, err error) {
	if !IsPage(rec) {
		return nil, false, nil
	}
	head, body, err := rec.HTTP()
	if err != nil {
		return nil, false, err
	}
	a = &Attempt{Took: storedMillis(rec.Field(fieldTook)), digest: sha1.Sum(body),
		Preferences: strings.ReplaceAll(rec.Field(fieldPreferences), preferenceBreak, "\n")}
	a.revisit = rec.Type == warc.TypeRevisit
	if digest := rec.Field("WARC-Payload-Digest"); a.revisit && digest != "" {
		a.digest = warc.ParseSHA1(digest)
	}
	truncated := rec.Field("WARC-Truncated")
	if dropped := rec.Field(fieldDropped); dropped != "" {
		if a.dropped, err = strconv.Atoi(dropped); err != nil || a.dropped < 0 {
			return nil, false, fmt.Errorf("%s: %q is not a number of bytes", fieldDropped, dropped)
		}
		if truncated == truncatedByUs {
			truncated = ""
		}
	}
	a.Response, err = fetch.StoredResponse(head, body, truncated)
	if n := storedBytes(rec.Field(fieldWire)); err == nil && n > 0 {
		a.Response.Received = n
	}
	return a, err == nil, err
}

func storedFailure(rec *warc.Record) (a *Attempt, ok bool, err error) {
	failure := blockField(rec, fieldFailure)
	a = &Attempt{Failure: fetch.Failure(failure), Took: storedMillis(blockField(rec, fieldTookMS)),
		Received: storedBytes(blockField(rec, fieldWireLen))}
	if instead := blockField(rec, fieldInstead); instead != "" {
		a.Instead, err = urlkey.Parse(instead)
	}
	return a, failure != "", err
}

// blockField returns a field of a record whose block is application/warc-fields.
func blockField(rec *warc.Record, name string) string {
	for _, f := range rec.Fields() {
		if strings.EqualFold(f.Name, name) {
			return f.Value
		}
	}
	return ""
}

// storedBytes reads a number of bytes. Text that is not a number, as in files of older programs, counts as 0.
func storedBytes(s string) int64 {
	n, _ := strconv.ParseUint(s, 10, 62)
	return int64(n)
}

// storedMillis reads a number of milliseconds. Text that is not a number counts as 0.
func storedMillis(s string) time.Duration {
	n, _ := strconv.ParseUint(s, 10, 32)
	return time.Duration(n) * time.Millisecond
}
