// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/seine-crawler/seine/engine/policy"
	"github.com/seine-crawler/seine/storage"
)

// TestTransition: the rows of the table, with Nutch's defaults.
func TestTransition(t *testing.T) {
	const at, day, second = 1_700_000_000_000, 86_400_000, 1000
	a, b := storage.Signature{10}, storage.Signature{11}
	f := func(name string, was storage.Record, o storage.FetchOutcome, status storage.Status, next int64, interval uint32, retries uint8, signature storage.Signature) {
		t.Helper()
		r := was
		if r.Interval == 0 {
			r.Interval = policy.DefaultInterval
		}
		o.Time = at
		transition(&r, &o, 7, policy.FixedSchedule{}, policy.DefaultMaxInterval)
		if r.Status != status || r.FetchTime != at+next || r.Interval != interval || r.Retries != retries || r.Signature != signature || r.LastFetch != at {
			t.Errorf("%s: %s next +%ds interval %d retries %d signature %x; want %s +%ds %d %d %x", name,
				r.Status, (r.FetchTime-at)/1000, r.Interval, r.Retries, r.Signature[:1], status, next/1000, interval, retries, signature[:1])
		}
	}
	month, none := uint32(policy.DefaultInterval), storage.Signature{}
	fetched := storage.Record{Status: storage.StatusFetched, Signature: a, Segment: 3}
	f("first success", storage.Record{Retries: 2}, storage.FetchOutcome{Status: storage.FetchSuccess, Signature: a}, storage.StatusFetched, 30*day, month, 0, a)
	f("same content", fetched, storage.FetchOutcome{Status: storage.FetchSuccess, Signature: a}, storage.StatusNotModified, 30*day, month, 0, a)
	f("other content", fetched, storage.FetchOutcome{Status: storage.FetchSuccess, Signature: b}, storage.StatusFetched, 30*day, month, 0, b)
	f("304", fetched, storage.FetchOutcome{Status: storage.FetchNotModified}, storage.StatusNotModified, 30*day, month, 0, a)
	f("redirect", fetched, storage.FetchOutcome{Status: storage.FetchRedirPerm}, storage.StatusRedirPerm, 30*day, month, 0, a)
	f("retry", fetched, storage.FetchOutcome{Status: storage.FetchRetry}, storage.StatusUnfetched, day, month, 1, a)
	f("third retry", storage.Record{Retries: 2}, storage.FetchOutcome{Status: storage.FetchRetry}, storage.StatusGone, 45*day, 45*86400, 3, none)
	f("retry of a record that failed 255 times", storage.Record{Retries: 255}, storage.FetchOutcome{Status: storage.FetchRetry}, storage.StatusGone, 45*day, 45*86400, 255, none)
	f("gone", storage.Record{Retries: 1}, storage.FetchOutcome{Status: storage.FetchGone}, storage.StatusGone, 45*day, 45*86400, 1, none)
	f("gone again", storage.Record{Interval: 5_832_000}, storage.FetchOutcome{Status: storage.FetchGone}, storage.StatusGone, 6_998_400*second, 6_998_400, 0, none)
	f("not parsed", fetched, storage.FetchOutcome{Status: storage.FetchParseFailed}, storage.StatusParseFailed, 45*day, 45*86400, 0, a)
	f("interval over the maximum", storage.Record{Interval: 100 * 86400, Signature: a}, storage.FetchOutcome{Status: storage.FetchSuccess, Signature: b},
		storage.StatusUnfetched, 100*day, 6_998_400, 0, none)
}

// oracleLine is one transition as Nutch computed it.
var oracleLine = regexp.MustCompile(`^(\S+)( retries=\d+)? \+ (fetch_\w+|parse_failed)(\(sig ([AB])\))? => (\w+) fetchTime=T\+(\d+)s interval=(\d+) retries=(-?\d+) mod=(\S+) sig=(\w+)`)

// TestOracle holds transition against what Nutch 1.23 computed for each pair of status and outcome,
// under the default schedule.
func TestOracle(t *testing.T) {
	dir := os.Getenv("SEINE_CONFORMANCE_DATA")
	if dir == "" {
		t.Skip("SEINE_CONFORMANCE_DATA is not set: Nutch's transitions are not there to compare with")
	}
	text, err := os.ReadFile(filepath.Join(dir, "nutch", "state-oracle.txt"))
	if err != nil {
		t.Fatal(err)
	}
	lines, section := 0, ""
	for line := range strings.Lines(string(text)) {
		if strings.HasPrefix(line, "==") {
			section = strings.TrimSpace(line)
			continue
		}
		m := oracleLine.FindStringSubmatch(line)
		if m == nil || section != "== schedule default" || m[2] != "" {
			continue
		}
		was, err := storage.ParseStatus(m[1])
		if err != nil {
			continue
		}
		lines++
		if got := oracleRun(t, was, m[3], m[5]); got != fmt.Sprintf("%s +%s %s %s", m[6], m[7], m[8], m[9]) {
			t.Errorf("%s seine: %s", strings.TrimSpace(line), got)
		}
	}
	if lines < 40 {
		t.Errorf("only %d transitions were understood", lines)
	}
}

// oracleRun computes one line as seine does. Records that Nutch's run had fetched carry signature A
// and were modified 40 days before.
func oracleRun(t *testing.T, was storage.Status, outcome, sig string) string {
	t.Helper()
	const at = 1_700_000_000_000
	r := storage.Record{Status: was, Interval: policy.DefaultInterval}
	switch was {
	case storage.StatusFetched, storage.StatusNotModified, storage.StatusDuplicate:
		r.Signature, r.ModifiedTime = storage.Signature{0x0a}, at-3_456_000_000
	}
	if outcome == "parse_failed" {
		outcome = "fetch_parse_failed"
	}
	status, err := storage.ParseFetchStatus(outcome)
	if err != nil {
		t.Fatal(err)
	}
	o := storage.FetchOutcome{Status: status, Time: at}
	switch sig {
	case "A":
		o.Signature = storage.Signature{0x0a}
	case "B":
		o.Signature = storage.Signature{0x0b}
	}
	transition(&r, &o, 1, policy.FixedSchedule{}, policy.DefaultMaxInterval)
	return r.Status.String() + " +" + strconv.FormatInt((r.FetchTime-at)/1000, 10) + " " + strconv.Itoa(int(r.Interval)) + " " + strconv.Itoa(int(r.Retries))
}
