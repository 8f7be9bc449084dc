// SPDX-License-Identifier: Apache-2.0

package web

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

// TestAnswerTime: who asks for something that takes all the time it may take still gets the answer that it took too
// long: the time to write it ends later.
func TestAnswerTime(t *testing.T) {
	t.Parallel()
	h := New(opened(t, t.TempDir()), Options{})
	var until time.Time
	h.handle(http.MethodGet, "/page", func(w http.ResponseWriter, r *http.Request) {
		until, _ = r.Context().Deadline()
		_, _ = w.Write([]byte("too long"))
	})
	operation := route{method: http.MethodGet, do: func(_ *Handler, c *call) (any, error) {
		until, _ = c.ctx.Deadline()
		return "too long", nil
	}}
	h.handleLasting(http.MethodGet, "/operation", func(w http.ResponseWriter, r *http.Request) {
		h.serve(w, r, []*route{&operation})
	})
	for _, path := range []string{"/page", "/operation"} {
		w := &deadlineWatch{ResponseRecorder: httptest.NewRecorder()}
		h.ServeHTTP(w, request(http.MethodGet, path, "", nil))
		left := time.Until(until)
		if w.Code != 200 || left > quickTime || left < quickTime/2 || w.latest.Sub(until) < takeTime/2 {
			t.Errorf("%s: status %d, has %v, and %v to write after it", path, w.Code, left, w.latest.Sub(until))
		}
	}
}

// TestFailed: a request that panics is told of, with its place, under any server.
func TestFailed(t *testing.T) {
	t.Parallel()
	var told []error
	h := New(opened(t, t.TempDir()), Options{Failed: func(err error) { told = append(told, err) }})
	h.handle(http.MethodGet, "/broken", func(http.ResponseWriter, *http.Request) {
		var none []int
		none[len(none)]++
	})
	h.handle(http.MethodGet, "/left", func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) })
	for _, path := range []string{"/broken", "/left"} {
		func() {
			defer func() {
				if x := recover(); x != http.ErrAbortHandler {
					t.Errorf("%s: goes on with %v", path, x)
				}
			}()
			h.ServeHTTP(httptest.NewRecorder(), request(http.MethodGet, path, "", nil))
		}()
	}
	const want = "/broken: a fault of the program: runtime error: index out of range [0] with length 0, in "
	if len(told) != 1 || !strings.Contains(told[0].Error(), want) ||
		!strings.Contains(told[0].Error(), "handler_test.go:") {
		t.Errorf("told: %v", told)
	}
}
