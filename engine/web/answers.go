// SPDX-License-Identifier: Apache-2.0

package web

import (
	"bytes"
	"net/http"
	"strconv"
	"strings"

	"github.com/seine-crawler/seine/engine"
)

// answering is a request whose answer may be one that engine.Answers has kept. It is the same for all who ask: pages
// and answers of searches do not depend on who asks, and what they show of the crawl is part of the key.
type answering struct {
	h   *Handler
	key string
	at  uint64 // what the index was before the answer was made
}

// answeringOf looks for the answer to a request: kind is what it is, more what it depends on beside the index. Without
// one, keep keeps the one that is made.
func (h *Handler) answeringOf(kind string, more ...string) (a answering, body []byte, ok bool) {
	bounds := "tcp" // parameters have others over a socket
	if h.o.Local {
		bounds = "local"
	}
	a = answering{h: h, key: strings.Join(append([]string{kind, bounds, h.o.Prefix}, more...), "\x00")}
	body, a.at, ok = h.e.Answers().Get(a.key)
	h.metrics.kept.WithLabelValues(map[bool]string{true: "kept", false: "made"}[ok]).Inc()
	return a, body, ok
}

func (a answering) keep(body []byte) { a.h.e.Answers().Put(a.key, a.at, body) }

// sendBody sends a whole answer. With its length net/http writes it in one piece.
func sendBody(w http.ResponseWriter, status int, mediaType string, body []byte) {
	head := w.Header()
	head.Set("Content-Type", mediaType)
	head.Set("Content-Length", strconv.Itoa(len(body)))
	w.WriteHeader(status)
	_, _ = w.Write(body) // the client went away
}

// answeredSearch is the answer of the operation search, which is kept if only the query and the index decide it.
type answeredSearch struct {
	answering
	SearchAnswer
	lasts bool
}

func (s answeredSearch) answer(_ *Handler, c *call) *Problem {
	var b bytes.Buffer
	if err := writeJSON(&b, s.SearchAnswer); err != nil {
		return problemOf(err)
	}
	if s.lasts {
		s.keep(b.Bytes())
	}
	sendBody(c.w, http.StatusOK, jsonType, b.Bytes())
	return nil
}

// keptBody is an answer of before.
type keptBody []byte

func (k keptBody) answer(_ *Handler, c *call) *Problem {
	sendBody(c.w, http.StatusOK, jsonType, k)
	return nil
}

const jsonType = "application/json"

// lastingResult reports whether a later search of the same index finds the same: not one that its deadline ended, nor
// one that depends on the time or says how it was done.
func lastingResult(r *engine.SearchResult, o *engine.SearchOptions) bool {
	return !r.Partial && o.Freshness <= 0 && !o.Explain
}
