// SPDX-License-Identifier: Apache-2.0

package phases

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

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
var oracleLine = regexp.MustCompile(`^(\S+)( retries=\d+)? \+ (fetch_\w+|parse_failed)(\(sig ([AB])\))? => ` +
	`(\w+) fetchTime=T\+(\d+)s interval=(\d+) retries=(-?\d+) mod=(\S+) sig=(\w+)`)

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
	return fmt.Sprintf("%s +%d %d %d", r.Status, (r.FetchTime-at)/1000, r.Interval, r.Retries)
}
