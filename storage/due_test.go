// SPDX-License-Identifier: Apache-2.0

package storage

import (
	"bytes"
	"errors"
	"math"
	"testing"

	"pgregory.net/rapid"
)

// TestDueKey: keys are taken apart again, and their order is that in which URLs are to be fetched: new ones by score
// class, depth and key, then the others by due time and key.
func TestDueKey(t *testing.T) {
	host := []byte("com,example,)")
	key := AppendDueKey(bytes.Clone(host), &Record{Score: 0.5, Depth: 1}, []byte("/ http"))
	if string(key) != "com,example,)\x01\x80\x01/ http" {
		t.Errorf("the example is %q", key)
	}
	rapid.Check(t, func(t *rapid.T) {
		draw := func() (r Record, rest []byte) {
			scores := []float64{0, 1e-300, 0.3, 0.5, 0.7, 1, 1.9, 2, 1e300, math.Inf(1)}
			r.Score = rapid.SampledFrom(scores).Draw(t, "score")
			r.Depth = rapid.Uint16Range(250, 260).Draw(t, "depth")
			if rapid.Bool().Draw(t, "again") {
				r.LastFetch, r.FetchTime = 1, rapid.Int64Range(-1, 1<<40).Draw(t, "at")
			}
			return r, []byte(rapid.SampledFrom([]string{"/ http", "/a http", "/b http"}).Draw(t, "rest"))
		}
		a, restA := draw()
		b, restB := draw()
		keyA, keyB := AppendDueKey(bytes.Clone(host), &a, restA), AppendDueKey(bytes.Clone(host), &b, restB)
		e, err := SplitDueKey(keyA)
		if err != nil || !bytes.Equal(e.Host, host) || !bytes.Equal(e.Rest, restA) || e.Again == a.IsNew() {
			t.Fatalf("%+v %v", e, err)
		}
		if e.Again && e.At != DueAt(a.FetchTime) ||
			!e.Again && (e.Class != ScoreClass(a.Score) || int(e.Depth) != min(int(a.Depth), 255)) {
			t.Fatalf("%+v of %+v", e, a)
		}
		if same := bytes.Equal(keyA, keyB); same != (SameDue(&a, &b) && bytes.Equal(restA, restB)) {
			t.Fatalf("%q and %q are the same: %t", keyA, keyB, same)
		}
		order := bytes.Compare(keyA, keyB)
		switch {
		case a.IsNew() != b.IsNew():
			if a.IsNew() != (order < 0) {
				t.Fatalf("%q, %q", keyA, keyB)
			}
		case a.IsNew() && ScoreClass(a.Score) != ScoreClass(b.Score):
			if a.Score > b.Score != (order < 0) {
				t.Fatalf("%q, %q", keyA, keyB)
			}
		case !a.IsNew() && DueAt(a.FetchTime) != DueAt(b.FetchTime):
			if a.FetchTime < b.FetchTime != (order < 0) {
				t.Fatalf("%q, %q", keyA, keyB)
			}
		}
	})
	for _, bad := range []string{
		"", "com,example,)", "com,example,)\x01\x02\x03", "com,example,)\x0201234567", "\x01",
	} {
		if _, err := SplitDueKey([]byte(bad)); !errors.Is(err, ErrCorrupt) {
			t.Errorf("%q: %v", bad, err)
		}
	}
}

// TestScoreClass: a class is a power of two.
func TestScoreClass(t *testing.T) {
	for _, c := range []struct {
		score float64
		class uint8
	}{
		{math.Inf(1), 0}, {math.Ldexp(1, 127), 0}, {2, 126}, {1.999, 127}, {1, 127}, {0.999, 128}, {0.5, 128},
		{math.Ldexp(1, -126), 253}, {math.Ldexp(1, -128), 255}, {0, 255}, {-1, 255}, {math.NaN(), 255},
	} {
		if got := ScoreClass(c.score); got != c.class {
			t.Errorf("%g is of class %d, want %d", c.score, got, c.class)
		}
	}
}

// TestDueDayKey: keys by day are taken apart again, are the same where SameDueDay says so, and have the order of days.
func TestDueDayKey(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		draw := func() (r Record, key []byte) {
			r.LastFetch, r.Score = 1, rapid.SampledFrom([]float64{0, 0.3, 0.5, 0.7, 1, 1e300}).Draw(t, "score")
			r.Depth = rapid.Uint16Range(250, 260).Draw(t, "depth")
			r.FetchTime = rapid.OneOf(rapid.Int64Range(-1, 4*dayMS), rapid.Int64Min(-1)).Draw(t, "at")
			return r, []byte(rapid.SampledFrom([]string{"com,a,)/ http", "com,a,)/a http"}).Draw(t, "key"))
		}
		a, urlA := draw()
		b, urlB := draw()
		keyA, keyB := AppendDueDayKey(nil, &a, urlA), AppendDueDayKey(nil, &b, urlB)
		e, day, ok := SplitDueDayKey(keyA)
		want := DueAt(a.FetchTime)
		if !ok || !bytes.Equal(e.Key, urlA) || e.Class != ScoreClass(a.Score) || int(e.Depth) != min(int(a.Depth), 255) ||
			e.At > want || e.At != want && want < math.MaxUint16*dayMS || !bytes.HasPrefix(keyA, AppendDueDay(nil, day)) ||
			!bytes.HasPrefix(DueDayKeyOf(keyA), urlA) {
			t.Fatalf("%+v of day %d %v", e, day, ok)
		}
		if same := bytes.Equal(keyA, keyB); same != (SameDueDay(&a, &b) && bytes.Equal(urlA, urlB)) {
			t.Fatalf("%q and %q are the same: %t", keyA, keyB, same)
		}
		if _, dayB, _ := SplitDueDayKey(keyB); day < dayB && bytes.Compare(keyA, keyB) >= 0 {
			t.Fatalf("%q, %q", keyA, keyB)
		}
		if c := ClassScore(e.Class); c > a.Score || a.Score < 1e30 && e.Class < 255 && 2*c <= a.Score {
			t.Fatalf("%g is the least score of the class of %g", c, a.Score)
		}
		if bytes.Compare(keyA, []byte("zz,host,)\x02")) <= 0 {
			t.Fatalf("%q is among hosts", keyA)
		}
	})
	for _, bad := range []string{"", "\xff", "com,example,)\x01\x02\x03/ http", "\xff\x00\x01a http"} {
		if _, _, ok := SplitDueDayKey([]byte(bad)); ok {
			t.Errorf("%q is taken for a key by day", bad)
		}
	}
}
