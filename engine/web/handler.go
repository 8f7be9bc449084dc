// SPDX-License-Identifier: Apache-2.0

package web

import (
	"net/http"

	"github.com/seine-crawler/seine/engine"
)

// Options say how a Handler serves. The zero value serves reading requests to loopback names only.
type Options struct {
	// Prefix is the path that the handler is mounted under, such as "/crawl"; "" means the root. Requests arrive with
	// it: no http.StripPrefix is needed.
	Prefix string
	// Token permits requests that change something; "" refuses them all.
	Token string
	// Hosts are the names, without ports, that the Host header may have, besides loopback addresses and localhost.
	// Others are refused, so that no foreign name that resolves to this machine (DNS rebinding) reaches the engine.
	Hosts []string
}

// Handler serves the pages and the API of one Engine. Any goroutine may call it. It must not outlive the Engine.
type Handler struct {
	e   *engine.Engine
	o   Options
	mux *http.ServeMux
}

// New makes a handler for an engine.
func New(e *engine.Engine, o Options) *Handler {
	h := &Handler{e: e, o: o, mux: http.NewServeMux()}
	h.routeAPI()
	h.routePages()
	return h
}

// handle adds a route: method, then path below the prefix.
func (h *Handler) handle(method, path string, fn http.HandlerFunc) {
	h.mux.HandleFunc(method+" "+h.o.Prefix+path, fn)
}

// ServeHTTP implements http.Handler.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h.mux.ServeHTTP(w, r)
}
