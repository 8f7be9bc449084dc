// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"encoding/hex"
	"fmt"
	"time"

	"github.com/seine-crawler/seine/engine/internal/inspect"
	"github.com/seine-crawler/seine/storage"
)

// RecordFilter chooses records of crawldb. The zero value chooses all.
type RecordFilter struct {
	// Prefix is the beginning of the records' keys ("org,python,docs,)/3"), or the name of a host with its port if that
	// is not the scheme's own ("docs.python.org"); "" means all.
	Prefix string
	// Status is the records' status; 0 means any.
	Status storage.Status
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
	ModifiedTime time.Time         `json:"modified_time,omitzero"` // when the content last changed; zero: unknown
	HTTPStatus   uint16            `json:"http_status"`            // of the newest answer; 0: none
	LastFetch    time.Time         `json:"last_fetch,omitzero"`    // zero: never
	Segment      uint32            `json:"segment"`                // with the content's parse record; 0: none
	Truncated    bool              `json:"truncated,omitempty"`    // the content is a part of the page
	Meta         map[string]string `json:"meta,omitempty"`         // of the seed's line
}

// String is the record on one line, its fields separated by tabs.
func (r RecordView) String() string {
	return fmt.Sprintf("%s\t%s\thttp %d\tscore %g\tdepth %d\tretries %d\tinterval %ds\t"+
		"due %s\tfetched %s\tsignature %s",
		r.URL, r.Status, r.HTTPStatus, r.Score, r.Depth, r.Retries, int64(r.Interval)/int64(time.Second),
		timeText(r.FetchTime), orDash(timeText(r.LastFetch)), orDash(r.Signature))
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
	if !r.Signature.IsZero() {
		v.Signature = hex.EncodeToString(r.Signature[:])
	}
	for _, f := range r.Meta {
		if v.Meta == nil {
			v.Meta = map[string]string{}
		}
		v.Meta[f.Name] = f.Value
	}
	return v, nil
}
