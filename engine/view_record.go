// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"encoding/hex"
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/seine-crawler/seine/engine/internal/inspect"
	"github.com/seine-crawler/seine/storage"
)

// RecordFilter chooses records of crawldb. The zero value chooses all.
type RecordFilter struct {
	// Prefix is the beginning of the records' URLs ("https://docs.python.org/3", also with "*" behind it) or keys
	// ("org,python,docs,)/3"), or the name of a host with its port if that is not the scheme's own ("docs.python.org");
	// "" means all.
	Prefix string
	// Statuses are those of the records; none means any.
	Statuses []storage.Status
	// URL matches the records' URLs, anywhere unless it is anchored; nil means any.
	URL *regexp.Regexp
	// Sample is the number of records that are chosen of those, evenly and always the same ones; 0 means all. Their
	// keys are held in memory.
	Sample int
	// After is a URL: only records behind it in key order are chosen, without a Sample; "" means all.
	After string
}

// RecordView is a crawldb record as people and scripts see it. Times are in UTC, to the millisecond; JSON leaves out
// those that are zero.
type RecordView struct {
	URL          string            `json:"url"`
	Status       storage.Status    `json:"status"`
	FetchTime    time.Time         `json:"fetch_time,omitzero"` // when the next fetch is due
	Interval     Duration          `json:"interval"`            // between fetches; JSON: seconds
	Retries      uint8             `json:"retries"`             // failed fetches in a row
	Score        float64           `json:"score"`
	Depth        uint16            `json:"depth"`                  // links from a seed
	Hops         uint8             `json:"redirects,omitempty"`    // redirects in a row that led here
	Signature    string            `json:"signature"`              // of the content, in hex; "": none
	SimHash      string            `json:"simhash,omitempty"`      // of the main text, in hex; "": none
	NearGroup    string            `json:"near_group,omitempty"`   // of near-duplicates, in hex; SimHash if alone
	ModifiedTime time.Time         `json:"modified_time,omitzero"` // when the content last changed; zero: unknown
	HTTPStatus   uint16            `json:"http_status"`            // of the newest fetch; 0: no answer
	LastFetch    time.Time         `json:"last_fetch,omitzero"`    // zero: never
	Failure      string            `json:"failure,omitempty"`      // of the last fetch, if the answer does not say it
	Redirect     string            `json:"redirect,omitempty"`     // where the last fetch was redirected
	MediaType    string            `json:"media_type,omitempty"`   // of the last fetch
	Took         Milliseconds      `json:"took_ms,omitzero"`       // by the last fetch
	Segment      uint32            `json:"segment"`                // with the content's parse record; 0: none
	Truncated    bool              `json:"truncated,omitempty"`    // the content is a part of the page
	Meta         map[string]string `json:"meta,omitempty"`         // of the seed's line, and notes of our own
}

// String is the record on one line, its fields separated by tabs.
func (r RecordView) String() string {
	return fmt.Sprintf("%s\t%s\t%s\t%s\tscore %g\tdepth %d\tretries %d\tinterval %ds\t"+
		"due %s\tfetched %s in %s\tsignature %s",
		r.URL, r.Status, r.answer(), orDash(strings.Map(onePrintable, r.MediaType)), r.Score, r.Depth, r.Retries,
		int64(r.Interval)/int64(time.Second), timeText(r.FetchTime), orDash(timeText(r.LastFetch)),
		r.Took, orDash(r.Signature))
}

// answer is what became of the last fetch: "http 200", "robots_denied", "http 301 -> http://…".
func (r *RecordView) answer() string {
	var parts []string
	if r.HTTPStatus != 0 {
		parts = append(parts, fmt.Sprintf("http %d", r.HTTPStatus))
	}
	if r.Failure != "" {
		parts = append(parts, r.Failure)
	}
	if r.Redirect != "" {
		parts = append(parts, "-> "+r.Redirect)
	}
	return orDash(strings.Join(parts, " "))
}

// RecordColumns are the names of what RecordView.Cells returns.
func RecordColumns() []string {
	return []string{"url", "status", "http_status", "failure", "redirect", "media_type", "score", "depth", "retries",
		"interval", "fetch_time", "last_fetch", "took_ms", "signature"}
}

// Cells are the record's fields as texts, for a table. Times are as in JSON, intervals in seconds.
func (r RecordView) Cells() []string {
	number := func(f float64) string { return strconv.FormatFloat(f, 'f', -1, 64) }
	return []string{r.URL, r.Status.String(), fmt.Sprint(r.HTTPStatus), r.Failure, r.Redirect, r.MediaType,
		number(r.Score), fmt.Sprint(r.Depth), fmt.Sprint(r.Retries), number(r.Interval.Seconds()),
		timeText(r.FetchTime), timeText(r.LastFetch), fmt.Sprint(time.Duration(r.Took).Milliseconds()), r.Signature}
}

// hopPath writes the way to a URL as Heritrix does.
func hopPath(depth, hops int) string {
	if depth == math.MaxUint16 { // no link is known that leads to it
		return ""
	}
	if depth > hopPathMax {
		return fmt.Sprintf("%d+%s", depth-hopPathMax, hopPath(hopPathMax, hops))
	}
	return strings.Repeat("L", depth) + strings.Repeat("R", hops)
}

func orDash(s string) string {
	if s == "" {
		return "-"
	}
	return s
}

// timeOf makes a time of milliseconds since 1970; 0 is the zero time. What is outside the years 0 to 9999, which JSON
// does not have, is moved to the nearest of them.
func timeOf(ms int64) time.Time {
	if ms == 0 {
		return time.Time{}
	}
	return time.UnixMilli(min(max(ms, year0), year9999)).UTC()
}

// The first and the last millisecond that RFC 3339 can write.
const (
	year0    = -62_167_219_200_000
	year9999 = 253_402_300_799_999
)

// timeText writes a time as RFC 3339 in UTC to the millisecond, "" for the zero time.
func timeText(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format("2006-01-02T15:04:05.000Z07:00")
}

// daysText writes how long something lasts, in days if it is whole ones.
func daysText(d time.Duration) string {
	const day = 24 * time.Hour
	if d >= day && d%day == 0 {
		return count(int(d/day), "day")
	}
	return d.String()
}

func viewRecord(r inspect.Record) (RecordView, error) {
	u, err := r.Key.URL()
	if err != nil {
		return RecordView{}, fmt.Errorf("%w: crawldb: %w", storage.ErrCorrupt, err)
	}
	v := RecordView{
		URL:          u.String(),
		Status:       r.Status,
		FetchTime:    timeOf(r.FetchTime),
		Interval:     Duration(time.Duration(r.Interval) * time.Second),
		Retries:      r.Retries,
		Score:        r.Score,
		Depth:        r.Depth,
		Hops:         r.Hops,
		ModifiedTime: timeOf(r.ModifiedTime),
		HTTPStatus:   r.HTTPStatus,
		LastFetch:    timeOf(r.LastFetch),
		Segment:      r.Segment,
		Truncated:    r.Truncated,
	}
	if o := r.Outcome; o != nil {
		v.HTTPStatus, v.Failure, v.MediaType = o.HTTPStatus, o.Failure, o.MediaType
		v.Took = milliseconds(o.TookMS)
		if o.Redirect != "" {
			v.Redirect = spelled(o.Redirect)
		}
	}
	if !r.Signature.IsZero() {
		v.Signature = hex.EncodeToString(r.Signature[:])
	}
	if r.SimHash != 0 {
		v.SimHash = fmt.Sprintf("%016x", uint64(r.SimHash))
	}
	if r.Group != 0 {
		v.NearGroup = fmt.Sprintf("%016x", uint64(r.Group))
	}
	for _, f := range r.Meta {
		if v.Meta == nil {
			v.Meta = map[string]string{}
		}
		v.Meta[f.Name] = f.Value
	}
	return v, nil
}
