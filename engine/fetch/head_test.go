// SPDX-License-Identifier: Apache-2.0

package fetch_test

import (
	"context"
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/seine-crawler/seine/engine/fetch"
)

// TestLongLine: a field of any length that fits is read, also where its line end is the first to come after the buffer
// is full.
func TestLongLine(t *testing.T) {
	cl := client(t, nil)
	for _, full := range []int{16 << 10, 32 << 10} {
		for _, end := range []string{"\r\n", "\n"} {
			for length := full - 3; length <= full+1; length++ {
				long := "X-Long: " + strings.Repeat("x", length-len("X-Long: "))
				for _, after := range []string{"Content-Length: 2" + end, ""} {
					head := "HTTP/1.1 200 OK" + end + long + end + after + end
					r := cl.Fetch(context.Background(), &fetch.Request{URL: serve(t, said(head+"hi")).url("/")})
					got := len(r.Header("X-Long")) + len("X-Long: ")
					if r.Failure != "" || string(r.Body) != "hi" || got != length || string(r.Head) != head {
						t.Errorf("a line of %d bytes, then %q: %q %v, body %.20q, and its value has %d fewer",
							length, end+after, r.Failure, r.Err, r.Body, length-got)
					}
					r.Release()
				}
			}
		}
	}
}

// allocated returns the bytes that a function allocates.
func allocated(do func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	do()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

// TestHeadCost: what a head costs grows with its length only, whatever is in it.
func TestHeadCost(t *testing.T) {
	const size, most = 60 << 10, 8 << 20
	for name, field := range map[string]string{
		"folded":  "X: a" + strings.Repeat("\n b", size/3),
		"charset": "Content-Type: a/b;charset=" + strings.Repeat("x", size/2) + strings.Repeat(",a/b", size/8),
		"commas":  "Content-Type: a/b;charset=x" + strings.Repeat(",", size),
	} {
		head := fmt.Sprintf("HTTP/1.1 200 OK\n%s\n\n", field)
		cost := allocated(func() {
			r, err := fetch.StoredResponse([]byte(head), nil, "")
			if err != nil {
				t.Fatal(err)
			}
			if got := r.Header("X"); name == "folded" && string(got) != "a"+strings.Repeat(" b", size/3) {
				t.Errorf("%s: the value is %.20q, %d bytes", name, got, len(got))
			}
			if got := r.ContentType(); name == "charset" && len(got) != len("a/b;charset=")+size/2 {
				t.Errorf("%s: the type is %.20q, %d bytes", name, got, len(got))
			}
			r.Release()
		})
		if cost > most {
			t.Errorf("%s: %d bytes are allocated for a head of %d, want at most %d", name, cost, len(head), most)
		}
	}
}
