// SPDX-License-Identifier: Apache-2.0

package storage

import (
	"testing"
	"time"

	"pgregory.net/rapid"
)

// TestHTTPDate compares our parsing and formatting of dates with package time's.
func TestHTTPDate(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := rapid.Int64Range(0, dateMax).Draw(t, "seconds")
		text := time.Unix(want, 0).UTC().Format(httpDate)
		if got := string(appendHTTPDate(nil, want)); got != text {
			t.Fatalf("%d is written %q, by package time %q", want, got, text)
		}
		if got, ok := dateSeconds(text); !ok || got != want {
			t.Fatalf("%q is read as %d, %v", text, got, ok)
		}
		b := []byte(text)
		b[rapid.IntRange(0, len(b)-1).Draw(t, "at")] = rapid.Byte().Draw(t, "byte")
		at, err := time.Parse(httpDate, string(b))
		same := err == nil && at.Unix() >= 0 && at.Format(httpDate) == string(b)
		if got, ok := dateSeconds(string(b)); ok != same || ok && got != at.Unix() {
			t.Fatalf("%q is read as %d, %v; package time: %v, %v", b, got, ok, at, err)
		}
	})
	for _, text := range []string{
		"", httpDate[1:], "Thu, 31 Dec 1969 23:59:59 GMT", "Mon, 30 Feb 2026 00:00:00 GMT",
		"Sat, 01 Jan 2000 24:00:00 GMT", "Sat, 01 Zzz 2000 00:00:00 GMT", "Sat, 01 Jan 2000 00:00:0: GMT",
		"Saturday, 01 Jan 2000 00:00:",
	} {
		if n, ok := dateSeconds(text); ok {
			t.Errorf("%q is read as %d", text, n)
		}
	}
}
