// SPDX-License-Identifier: Apache-2.0

package web

import (
	"context"
	"net/http"
	"strconv"
	"strings"
	"sync"

	"github.com/seine-crawler/seine/engine"
)

// answering is a request whose answer may be one that engine.Answers has kept. It is the same for all who ask: pages
// and answers of searches do not depend on who asks, and what they show of the crawl is part of the key.
type answering struct {
	h   *Handler
	key string
	at  uint64 // what the index was before the answer was made
	end func() // called when the answer is made, or cannot be
}

// answeringOf looks for the answer to a request: kind is what it is, more what it depends on beside the index. If
// another request makes it, that one is waited for. Without an answer the caller makes it, keeps it with keep, and calls
// end in any case.
func (h *Handler) answeringOf(ctx context.Context, kind string, more ...string) (a answering, body []byte, ok bool) {
	bounds := "tcp" // parameters have others over a socket
	if h.o.Local {
		bounds = "local"
	}
	a = answering{h: h, key: strings.Join(append([]string{kind, bounds, h.o.Prefix}, more...), "\x00"), end: func() {}}
	body, a.at, ok = h.e.Answers().Get(a.key)
	if !ok {
		var made <-chan struct{}
		if a.end, made = h.flights.join(a.key); made != nil {
			select {
			case <-made:
			case <-ctx.Done():
			}
			body, a.at, ok = h.e.Answers().Get(a.key) // else it is none to keep
		}
	}
	h.metrics.kept.WithLabelValues(map[bool]string{true: "kept", false: "made"}[ok]).Inc()
	return a, body, ok
}

func (a answering) keep(body []byte) { a.h.e.Answers().Put(a.key, a.at, body) }

// flights are the answers that are being made. When many ask the same at once, as after a change of the index, one
// search answers them all.
type flights struct {
	mu    sync.Mutex
	byKey map[string]chan struct{} // closed when the answer is made
}

// join returns what to wait for if the answer with this key is being made; nil: the caller makes it, and calls end.
func (f *flights) join(key string) (end func(), made <-chan struct{}) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if made := f.byKey[key]; made != nil {
		return func() {}, made
	}
	over := make(chan struct{})
	f.byKey[key] = over
	return func() {
		f.mu.Lock()
		defer f.mu.Unlock()
		delete(f.byKey, key)
		close(over)
	}, nil
}

// sendBody sends a whole answer. With its length net/http writes it in one piece.
func sendBody(w http.ResponseWriter, status int, mediaType string, body []byte) {
	head := w.Header()
	head.Set("Content-Type", mediaType)
	head.Set("Content-Length", strconv.Itoa(len(body)))
	w.WriteHeader(status)
	_, _ = w.Write(body) // the client went away
}

// wholeBody is a whole answer in JSON.
type wholeBody []byte

func (b wholeBody) answer(_ *Handler, c *call) *Problem {
	sendBody(c.w, http.StatusOK, jsonType, b)
	return nil
}

const jsonType = "application/json"

// lastingResult reports whether a later search of the same index finds the same: not one that its deadline ended, nor
// one that depends on the time or says how it was done.
func lastingResult(r *engine.SearchResult, o *engine.SearchOptions) bool {
	return !r.Partial && o.Freshness <= 0 && !o.Explain
}
