// SPDX-License-Identifier: Apache-2.0

package web

import (
	"context"
	"errors"
	"net/http"
	"strconv"
	"strings"
	"sync"

	"github.com/seine-crawler/seine/engine"
)

// answering is a request whose answer may be one that engine.Answers has kept. It is the same for all who ask: pages
// and answers of searches do not depend on who asks, and what they show of the crawl is part of the key.
type answering struct {
	h      *Handler
	key    string
	at     uint64  // what the index was before the answer was made
	end    func()  // called when the answer is made, or cannot be
	flight *flight // that this request makes; nil: another does
	// refused says that another request should have made the answer and was refused: so is this one.
	refused bool
}

// answeringOf looks for the answer to a request: kind is what it is, more what it depends on beside the index. If
// another request makes it, that one is waited for. Without an answer the caller makes it and keeps it with keep. It
// calls end in any case.
func (h *Handler) answeringOf(ctx context.Context, kind string, more ...string) (a answering, body []byte, ok bool) {
	bounds := "tcp" // parameters have others over a socket
	if h.o.Local {
		bounds = "local"
	}
	a = answering{h: h, key: strings.Join(append([]string{kind, bounds, h.o.Prefix}, more...), "\x00"), end: func() {}}
	body, a.at, ok = h.e.Answers().Get(a.key)
	if !ok {
		flight, end, other := h.flights.join(a.key)
		if a.end = end; other {
			select {
			case <-flight.over:
				a.refused = flight.refused
			case <-ctx.Done():
			}
			body, a.at, ok = h.e.Answers().Get(a.key) // else it is none to keep
		} else {
			a.flight = flight
		}
	}
	if ok {
		h.metrics.kept.WithLabelValues("kept").Inc()
	}
	return a, body, ok
}

// answer returns an answer that was kept, or else the one that make makes when its turn has come; lasting says that it
// may be kept. kind and more are as in answeringOf. A *Problem says that its turn would come too late.
func (h *Handler) answer(
	ctx context.Context, make func() (body []byte, lasting bool, err error), kind string, more ...string,
) ([]byte, error) {
	kept, body, ok := h.answeringOf(ctx, kind, more...)
	defer kept.end()
	if ok {
		return body, nil
	}
	if kept.refused {
		h.metrics.kept.WithLabelValues("refused").Inc()
		return nil, busy()
	}
	var lasting bool
	err := h.inTurn(ctx, aSearch, func() (err error) {
		h.metrics.kept.WithLabelValues("made").Inc()
		body, lasting, err = make()
		return err
	})
	var refusal *Problem
	if kept.flight != nil && errors.As(err, &refusal) && refusal.Code == busy().Code { // another says what is wrong
		kept.flight.refused = true // before end
	}
	if err == nil && lasting {
		kept.keep(body)
	}
	return body, err
}

// inTurn searches, or does what else takes a slot, when its turn has come. A *Problem says that it would come too late;
// the owner of the data directory waits as long as it takes.
func (h *Handler) inTurn(ctx context.Context, kind taskKind, search func() error) error {
	leave, ok := h.queue.enter(ctx, kind, h.o.Local)
	if !ok {
		if err := ctx.Err(); err != nil {
			return err
		}
		h.metrics.kept.WithLabelValues("refused").Inc()
		return busy()
	}
	defer leave()
	return search()
}

func (a answering) keep(body []byte) { a.h.e.Answers().Put(a.key, a.at, body) }

// flights are the answers that are being made. When many ask the same at once, as after a change of the index, one
// search answers them all.
type flights struct {
	mu    sync.Mutex
	byKey map[string]*flight
}

// flight is an answer that is being made.
type flight struct {
	over    chan struct{} // closed when it is made, or cannot be
	refused bool          // its maker was, for there was too much to do; to be read after over
}

// join returns the flight of the answer with this key. other says that another request makes it: over is to be waited
// for. Else the caller makes it, and calls end.
func (f *flights) join(key string) (of *flight, end func(), other bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if of := f.byKey[key]; of != nil {
		return of, func() {}, true
	}
	of = &flight{over: make(chan struct{})}
	f.byKey[key] = of
	return of, func() {
		f.mu.Lock()
		defer f.mu.Unlock()
		delete(f.byKey, key)
		close(of.over)
	}, false
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
