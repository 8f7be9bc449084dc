// SPDX-License-Identifier: Apache-2.0

package phases

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/seine-crawler/seine/engine/policy"
	"github.com/seine-crawler/seine/storage"
)

// TestTransition: the rows of the table, with Nutch's defaults.
func TestTransition(t *testing.T) {
	const (
		at, day, second = 1_700_000_000_000, 86_400_000, 1000
		month           = policy.DefaultInterval
	)
	a, b, none := storage.Signature{10}, storage.Signature{11}, storage.Signature{}
	const (
		success, notModified = storage.FetchSuccess, storage.FetchNotModified
		retry, gone          = storage.FetchRetry, storage.FetchGone
	)
	fetched := storage.Record{Status: storage.StatusFetched, Signature: a, Segment: 3}
	for _, c := range []struct {
		name      string
		was       storage.Record
		outcome   storage.FetchStatus
		content   storage.Signature
		status    storage.Status
		next      int64
		interval  uint32
		retries   uint8
		signature storage.Signature
	}{
		{"first success", storage.Record{Retries: 2}, success, a, storage.StatusFetched, 30 * day, month, 0, a},
		{"same content", fetched, success, a, storage.StatusNotModified, 30 * day, month, 0, a},
		{"other content", fetched, success, b, storage.StatusFetched, 30 * day, month, 0, b},
		{"304", fetched, notModified, none, storage.StatusNotModified, 30 * day, month, 0, a},
		{"redirect", fetched, storage.FetchRedirPerm, none, storage.StatusRedirPerm, 30 * day, month, 0, a},
		{"retry", fetched, retry, none, storage.StatusUnfetched, day, month, 1, a},
		{"third retry", storage.Record{Retries: 2}, retry, none, storage.StatusGone, 45 * day, 45 * 86400, 3, none},
		{"failed 255 times", storage.Record{Retries: 255}, retry, none,
			storage.StatusGone, 45 * day, 45 * 86400, 255, none},
		{"gone", storage.Record{Retries: 1}, gone, none, storage.StatusGone, 45 * day, 45 * 86400, 1, none},
		{"gone again", storage.Record{Interval: 5_832_000}, gone, none,
			storage.StatusGone, 6_998_400 * second, 6_998_400, 0, none},
		{"not parsed", fetched, storage.FetchParseFailed, none, storage.StatusParseFailed, 45 * day, 45 * 86400, 0, a},
		{"interval over the maximum", storage.Record{Interval: 100 * 86400, Signature: a}, success, b,
			storage.StatusUnfetched, 90 * day, 6_998_400, 0, none},
	} {
		r := c.was
		if r.Interval == 0 {
			r.Interval = month
		}
		o := storage.FetchOutcome{Status: c.outcome, Signature: c.content, Time: at}
		transition(&r, &o, 7, policy.FixedSchedule{}, policy.DefaultMaxInterval)
		got := fmt.Sprintf("%s +%ds interval %d retries %d signature %x",
			r.Status, (r.FetchTime-at)/1000, r.Interval, r.Retries, r.Signature[:1])
		want := fmt.Sprintf("%s +%ds interval %d retries %d signature %x",
			c.status, c.next/1000, c.interval, c.retries, c.signature[:1])
		if got != want || r.LastFetch != at {
			t.Errorf("%s: %s; want %s", c.name, got, want)
		}
	}
}

// oracleLine is one transition as Nutch computed it.
var oracleLine = regexp.MustCompile(`^(\(none\)|db_\w+)?(?: ?retries=(\d+))?` +
	` \+ (fetch_\w+|parse_failed)(?:\(sig ([AB])\))?` +
	` => (\w+) fetchTime=T\+(\d+)s interval=(\d+) retries=(-?\d+) mod=(\S+) sig=(\w+)`)

// TestOracle holds transition against what Nutch 1.23 computed for each pair of status and outcome, under both
// schedules, and for each number of retries.
func TestOracle(t *testing.T) {
	dir := os.Getenv("SEINE_CONFORMANCE_DATA")
	if dir == "" {
		t.Skip("SEINE_CONFORMANCE_DATA is not set: Nutch's transitions are not there to compare with")
	}
	text, err := os.ReadFile(filepath.Join(dir, "nutch", "state-oracle.txt"))
	if err != nil {
		t.Fatal(err)
	}
	lines, schedule := 0, policy.FetchSchedule(policy.FixedSchedule{})
	for line := range strings.Lines(string(text)) {
		switch strings.TrimSpace(line) {
		case "== schedule adaptive":
			schedule = policy.AdaptiveSchedule{}
		case "== retries":
			schedule = policy.FixedSchedule{}
		}
		m := oracleLine.FindStringSubmatch(line)
		if m == nil || m[2] == "127" { // Nutch's counter wraps around there, and the page that is gone is unfetched
			continue
		}
		lines++
		want := oracleState{status: m[5], signature: m[10]}
		for _, n := range []struct {
			text string
			to   *int64
		}{{m[6], &want.next}, {m[7], &want.interval}, {m[8], &want.retries}} {
			if *n.to, err = strconv.ParseInt(n.text, 10, 64); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := fmt.Sscanf(m[9], "T%ds", &want.modified); err != nil && m[9] != "0" {
			t.Fatalf("%q: %v", m[9], err)
		} else if m[9] == "0" {
			want.modified = oracleNever
		}
		got := oracleRun(t, schedule, m[1], m[2], m[3], m[4])
		if off := got.next - want.next; off == 1 { // Nutch computes with 32 bits
			got.next--
		}
		if got != want {
			t.Errorf("%s seine: %+v", strings.TrimSpace(line), got)
		}
	}
	if want := 149; lines < want {
		t.Errorf("%d transitions were understood, want %d", lines, want)
	}
}

// oracleState is what a transition leaves. Times are seconds since the fetch.
type oracleState struct {
	status                            string
	next, interval, retries, modified int64
	signature                         string
}

const oracleNever = -1 << 40

// oracleRun computes one line as seine does. Records that Nutch's run had fetched carry signature A and were modified
// 40 days before.
func oracleRun(t *testing.T, s policy.FetchSchedule, status, retries, outcome, sig string) (x oracleState) {
	t.Helper()
	const at = 1_700_000_000_000
	r := storage.Record{Interval: policy.DefaultInterval}
	var err error
	if strings.HasPrefix(status, "db_") {
		r.Status, err = storage.ParseStatus(status)
	}
	if err == nil && retries != "" {
		_, err = fmt.Sscan(retries, &r.Retries)
	}
	switch r.Status {
	case storage.StatusFetched, storage.StatusNotModified, storage.StatusDuplicate:
		r.Signature, r.ModifiedTime = storage.Signature{0x0a}, at-3_456_000_000
	}
	if outcome == "parse_failed" {
		outcome = "fetch_parse_failed"
	}
	o := storage.FetchOutcome{Time: at}
	if err == nil {
		o.Status, err = storage.ParseFetchStatus(outcome)
	}
	if err != nil {
		t.Fatal(err)
	}
	switch {
	case sig == "B":
		o.Signature = storage.Signature{0x0b}
	case o.Status == storage.FetchSuccess:
		o.Signature = storage.Signature{0x0a}
	}
	transition(&r, &o, 1, s, policy.DefaultMaxInterval)
	x = oracleState{
		status: r.Status.String(), next: (r.FetchTime - at) / 1000, interval: int64(r.Interval),
		retries: int64(r.Retries), modified: oracleNever, signature: "null",
	}
	if r.ModifiedTime != 0 {
		x.modified = (r.ModifiedTime - at) / 1000
	}
	if !r.Signature.IsZero() {
		x.signature = fmt.Sprintf("%x", r.Signature[:1])
	}
	return x
}

// TestTruncated: a part of a page never displaces the whole page, is never compared with one, and is never confirmed.
func TestTruncated(t *testing.T) {
	const (
		at, day, month = 1_700_000_000_000, 86_400_000, 30 * 86_400_000
		success        = storage.FetchSuccess
	)
	a, b := storage.Signature{10}, storage.Signature{11}
	whole := storage.Record{
		Status: storage.StatusFetched, Signature: a, Segment: 3, ETag: "whole", LastModified: "then", ModifiedTime: 5,
	}
	part := storage.Record{Status: storage.StatusFetched, Segment: 4, Truncated: true, ModifiedTime: 5}
	with := func(r storage.Record, change func(*storage.Record)) storage.Record { change(&r); return r }
	for _, c := range []struct {
		name    string
		was     storage.Record
		outcome storage.FetchOutcome
		want    storage.Record
		next    int64
	}{
		{name: "the first fetch is cut off", outcome: storage.FetchOutcome{Status: success, Truncated: "disconnect"},
			want: storage.Record{Status: storage.StatusFetched, Segment: 7, Truncated: true, Retries: 1}, next: day},
		{name: "the page is too long", outcome: storage.FetchOutcome{Status: success, Truncated: "length"},
			want: storage.Record{Status: storage.StatusFetched, Segment: 7, Truncated: true}, next: month},
		{name: "a part after the whole", was: whole, outcome: storage.FetchOutcome{Status: success, Truncated: "time"},
			want: with(whole, func(r *storage.Record) { r.Retries = 1 }), next: day},
		{name: "too long after the whole", was: whole,
			outcome: storage.FetchOutcome{Status: success, Truncated: "length"}, want: whole, next: month},
		{name: "damage after the whole", was: whole,
			outcome: storage.FetchOutcome{Status: storage.FetchParseFailed, Truncated: "decode"},
			want:    with(whole, func(r *storage.Record) { r.Retries = 1 }), next: day},
		{name: "cut off too often", was: with(whole, func(r *storage.Record) { r.Retries = 2 }),
			outcome: storage.FetchOutcome{Status: success, Truncated: "time"}, want: whole, next: month},
		{name: "a duplicate stays one", was: with(whole, func(r *storage.Record) {
			r.Status = storage.StatusDuplicate
		}), outcome: storage.FetchOutcome{Status: success, Truncated: "length"},
			want: with(whole, func(r *storage.Record) { r.Status = storage.StatusDuplicate }), next: month},
		{name: "after a failure", was: with(whole, func(r *storage.Record) {
			r.Status, r.Retries = storage.StatusUnfetched, 1
		}), outcome: storage.FetchOutcome{Status: success, Truncated: "length"}, want: whole, next: month},
		{name: "it must not be indexed any more", was: whole,
			outcome: storage.FetchOutcome{Status: success, Truncated: "time", Flags: storage.FlagNoIndex},
			want:    storage.Record{Status: storage.StatusFetched, Segment: 7, Truncated: true, Retries: 1}, next: day},
		{name: "the page was gone", was: with(whole, func(r *storage.Record) { r.Status = storage.StatusGone }),
			outcome: storage.FetchOutcome{Status: success, Truncated: "length"},
			want:    storage.Record{Status: storage.StatusFetched, Segment: 7, Truncated: true}, next: month},
		{name: "a newer part", was: part, outcome: storage.FetchOutcome{Status: success, Truncated: "length"},
			want: storage.Record{Status: storage.StatusFetched, Segment: 7, Truncated: true}, next: month},
		{name: "a part once more", was: with(part, func(r *storage.Record) { r.Retries = 1 }),
			outcome: storage.FetchOutcome{Status: success, Truncated: "time"},
			want:    storage.Record{Status: storage.StatusFetched, Segment: 7, Truncated: true, Retries: 2}, next: day},
		{name: "a part too often", was: with(part, func(r *storage.Record) { r.Retries = 2 }),
			outcome: storage.FetchOutcome{Status: success, Truncated: "time"},
			want:    storage.Record{Status: storage.StatusFetched, Segment: 7, Truncated: true}, next: month},
		{name: "gone, says a message that is cut off", was: whole,
			outcome: storage.FetchOutcome{Status: storage.FetchGone, Truncated: "time"},
			want:    with(whole, func(r *storage.Record) { r.Status = storage.StatusGone }), next: month * 3 / 2},
		{name: "the whole after a part", was: part,
			outcome: storage.FetchOutcome{Status: success, Signature: b, ETag: "new"},
			want:    storage.Record{Status: storage.StatusFetched, Segment: 7, Signature: b, ETag: "new"}, next: month},
		{name: "a part is confirmed", was: part, outcome: storage.FetchOutcome{Status: storage.FetchNotModified},
			want: part, next: month},
	} {
		r, o := c.was, c.outcome
		r.Interval, o.Time = policy.DefaultInterval, at
		if o.ETag == "" && o.Status == success {
			o.ETag, o.LastModified = "of the part", "now"
		}
		transition(&r, &o, 7, policy.FixedSchedule{}, policy.DefaultMaxInterval)
		say := func(r *storage.Record) string {
			return fmt.Sprintf("%s signature %x segment %d truncated %t %q retries %d",
				r.Status, r.Signature[:1], r.Segment, r.Truncated, r.ETag, r.Retries)
		}
		if say(&r) != say(&c.want) || r.FetchTime != at+c.next || r.LastFetch != at {
			t.Errorf("%s: %s +%d; want %s", c.name, say(&r), r.FetchTime-at, say(&c.want))
		}
		if kept := r.Segment == whole.Segment; kept && (r.LastModified != "then" || r.ModifiedTime != 5) {
			t.Errorf("%s: %q, modified at %d", c.name, r.LastModified, r.ModifiedTime)
		}
	}
}

// restless is a schedule that takes every page for changed.
type restless struct{ policy.FixedSchedule }

func (s restless) Reschedule(r *storage.Record, c policy.Change, at int64) {
	s.FixedSchedule.Reschedule(r, policy.ChangeModified, at)
}

// TestModifiedTime: what a fetch did not find changed keeps the time of its last change, whatever the schedule says.
// The record has the HTTP status of the last answer.
func TestModifiedTime(t *testing.T) {
	const before, at = 5, 1_700_000_000_000
	a, b := storage.Signature{10}, storage.Signature{11}
	for _, c := range []struct {
		outcome storage.FetchOutcome
		want    int64
	}{
		{storage.FetchOutcome{Status: storage.FetchSuccess, Signature: b, HTTPStatus: 200}, at},
		{storage.FetchOutcome{Status: storage.FetchSuccess, Signature: a, HTTPStatus: 203}, before},
		{storage.FetchOutcome{Status: storage.FetchSuccess, Truncated: "length", HTTPStatus: 200}, before},
		{storage.FetchOutcome{Status: storage.FetchNotModified, HTTPStatus: 304}, before},
		{storage.FetchOutcome{Status: storage.FetchRedirTemp, HTTPStatus: 302}, before},
		{storage.FetchOutcome{Status: storage.FetchRedirPerm, HTTPStatus: 301}, before},
		{storage.FetchOutcome{Status: storage.FetchGone, HTTPStatus: 404}, before},
		{storage.FetchOutcome{Status: storage.FetchRetry}, before}, // no answer
	} {
		r := storage.Record{
			Status: storage.StatusFetched, Signature: a, Segment: 3, ModifiedTime: before, HTTPStatus: 206,
		}
		c.outcome.Time = at
		transition(&r, &c.outcome, 7, restless{}, policy.DefaultMaxInterval)
		status := c.outcome.HTTPStatus
		if status == 0 {
			status = 206
		}
		if r.ModifiedTime != c.want || r.HTTPStatus != status {
			t.Errorf("%s: modified at %d, want %d; HTTP status %d, want %d",
				c.outcome.Status, r.ModifiedTime, c.want, r.HTTPStatus, status)
		}
	}
}

// TestOutgrown: a page whose interval outgrew the longest is fetched as if for the first time, by whatever answer that
// is found.
func TestOutgrown(t *testing.T) {
	const day, at = 86400, 1_700_000_000_000
	a := storage.Signature{10}
	for name, o := range map[string]storage.FetchOutcome{
		"the same":   {Status: storage.FetchSuccess, Signature: a, ETag: "new", LastModified: "now"},
		"a part":     {Status: storage.FetchSuccess, Truncated: "length"},
		"no change":  {Status: storage.FetchNotModified},
		"a redirect": {Status: storage.FetchRedirTemp},
	} {
		r := storage.Record{
			Status: storage.StatusFetched, Signature: a, Segment: 3, ModifiedTime: 5, ETag: "old", LastModified: "then",
			Interval: 100 * day, Retries: 1,
		}
		o.Time = at
		transition(&r, &o, 7, policy.FixedSchedule{}, policy.DefaultMaxInterval)
		if r.Status != storage.StatusUnfetched || r.ETag+r.LastModified != "" || !r.Signature.IsZero() ||
			r.ModifiedTime != 0 || r.Interval != 81*day || r.Retries != 0 {
			t.Errorf("%s: %+v", name, r)
		}
	}
}

// TestLongestInterval: no page waits longer than the longest interval, whatever the schedule and the outcome, also
// where the interval of its record is from when the longest was longer.
func TestLongestInterval(t *testing.T) {
	const day, at = 86400, 1_700_000_000_000
	a, b := storage.Signature{10}, storage.Signature{11}
	for _, s := range []policy.FetchSchedule{
		policy.FixedSchedule{}, policy.AdaptiveSchedule{}, policy.FreshnessSchedule{},
		policy.BoundedSchedule{FetchSchedule: policy.AdaptiveSchedule{IncRate: 2}},
	} {
		for _, most := range []uint32{3600, 7 * day} {
			for _, o := range []storage.FetchOutcome{
				{Status: storage.FetchSuccess, Signature: a}, {Status: storage.FetchSuccess, Signature: b},
				{Status: storage.FetchSuccess, Truncated: "time"}, {Status: storage.FetchNotModified},
				{Status: storage.FetchRedirTemp}, {Status: storage.FetchRedirPerm}, {Status: storage.FetchRetry},
				{Status: storage.FetchGone}, {Status: storage.FetchParseFailed},
			} {
				r := storage.Record{Status: storage.StatusFetched, Signature: a, Segment: 3, Interval: 30 * day}
				r.ModifiedTime = at - 1000
				o.Time = at
				transition(&r, &o, 7, s, most)
				if wait := (r.FetchTime - at) / 1000; wait <= 0 || wait > int64(most) {
					t.Errorf("%T, %s%s: due after %d s, the longest is %d", s, o.Status, o.Truncated, wait, most)
				}
			}
		}
	}
}

// TestDueWhenUnavailable: a page that says from when on it must not be found is due right after that, if not before,
// and has no validators.
func TestDueWhenUnavailable(t *testing.T) {
	const day, at = 86_400_000, 1_700_000_000_000
	for _, c := range []struct {
		after, next int64
		etag        string
	}{
		{5 * day, 5*day + 1, ""}, {100 * day, 30 * day, ""}, {1000, 1001, ""},
		{0, 30 * day, "tag"}, {-day, 30 * day, "tag"},
	} {
		r := storage.Record{}
		o := storage.FetchOutcome{
			Status: storage.FetchSuccess, Time: at, ETag: "tag", LastModified: c.etag,
			Preferences: storage.PreferenceUnavailable + time.UnixMilli(at+c.after).UTC().Format(time.RFC3339),
		}
		transition(&r, &o, 7, policy.FixedSchedule{}, policy.DefaultMaxInterval)
		if r.FetchTime-at != c.next || r.ETag != c.etag || r.LastModified != c.etag {
			t.Errorf("until %d ms: due after %d, want %d; validators %q, %q",
				c.after, r.FetchTime-at, c.next, r.ETag, r.LastModified)
		}
	}
}

// TestBeforeBesideMeta: the note of what a page was stands beside as many fields as a record may have, and goes again.
func TestBeforeBesideMeta(t *testing.T) {
	r := storage.Record{Status: storage.StatusUnfetched, Segment: 1}
	for i := range storage.MetaFieldsMax {
		r.Meta = append(r.Meta, storage.Field{Name: fmt.Sprintf("m%02d", i), Value: "v"})
	}
	users := slices.Clone(r.Meta)
	setBefore(&r, "db_gone")
	var read storage.Record
	if err := storage.DecodeRecord(storage.AppendRecord(nil, &r), &read); err != nil {
		t.Fatal(err)
	}
	if read.Before() != "db_gone" || read.Findable() || !slices.Equal(read.Meta[:len(users)], users) {
		t.Errorf("the record has %v", read.Meta)
	}
	setBefore(&read, "")
	if !slices.Equal(read.Meta, users) {
		t.Errorf("then it has %v", read.Meta)
	}
}
