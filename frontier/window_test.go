// SPDX-License-Identifier: Apache-2.0

package frontier

import (
	"fmt"
	"slices"
	"testing"
	"time"
	"unsafe"

	"pgregory.net/rapid"
)

// TestWindow: whatever is added to a host's window, cut from it, put back and copied, URLs come out in order, each with
// its fields, and those with a fetcher do not change.
func TestWindow(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var v visitState
		var want []Candidate // what the window should hold
		type flight struct{ cut, copy []Candidate }
		var flights []flight
		made := 0
		t.Repeat(map[string]func(*rapid.T){
			"add": func(t *rapid.T) {
				var urls []Candidate
				all := ""
				for range rapid.IntRange(0, 40).Draw(t, "n") {
					made++
					rest := fmt.Sprintf("/%d", made*made)
					all += rest
					urls = append(urls, Candidate{Rest: rest, Score: float32(made), Tag: uint8(made)})
				}
				for i, rest := 0, all; i < len(urls); i++ { // as a source cuts them from one string
					n := len(urls[i].Rest)
					urls[i].Rest, rest = rest[:n], rest[n:]
				}
				v.add(slices.Clone(urls))
				want = append(want, urls...)
			},
			"cut": func(t *rapid.T) {
				n := rapid.IntRange(0, len(want)).Draw(t, "n")
				if n == 0 {
					return
				}
				c := v.cut(n)
				flights = append(flights, flight{c, slices.Clone(want[:n])})
				want = want[n:]
			},
			"put back": func(t *rapid.T) {
				if len(flights) == 0 {
					return
				}
				i := rapid.IntRange(0, len(flights)-1).Draw(t, "i")
				f := flights[i]
				flights = slices.Delete(flights, i, i+1)
				left := rapid.IntRange(0, len(f.cut)).Draw(t, "left")
				v.putBack(f.cut[len(f.cut)-left:])
				want = append(slices.Clone(f.copy[len(f.copy)-left:]), want...)
			},
			"": func(t *rapid.T) {
				if got := v.window[v.head:]; !slices.Equal(got, want) || v.urls() != len(want) {
					t.Fatalf("%v, want %v", got, want)
				}
				if v.head > 1 && int(v.head)*windowSlack >= len(v.window) {
					t.Fatalf("%d of %d URLs were visited and take memory", v.head, len(v.window))
				}
				for _, f := range flights {
					if !slices.Equal(f.cut, f.copy) {
						t.Fatalf("%v is with a fetcher, was %v", f.cut, f.copy)
					}
				}
			},
		})
	})
}

// TestHostSize: a visit state fills its size class; one byte more costs 32.
func TestHostSize(t *testing.T) {
	if n := unsafe.Sizeof(visitState{}); unsafe.Sizeof(n) == 8 && n > 448 {
		t.Errorf("a visit state has %d bytes, want at most 448", n)
	}
}

func TestOwnDelay(t *testing.T) {
	p := (&Options{}).pace(time.Minute)
	for _, c := range []struct{ own, want time.Duration }{
		{0, time.Minute},
		{-1, 0},
		{1, time.Millisecond},
		{time.Second, time.Second},
		{time.Second + 1, time.Second + time.Millisecond},
		{1 << 62, maxDelay},
	} {
		var v visitState
		if v.setDelay(c.own); p.least(&v) != c.want {
			t.Errorf("own delay %s: %s, want %s", c.own, p.least(&v), c.want)
		}
	}
}
