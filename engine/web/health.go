// SPDX-License-Identifier: Apache-2.0

package web

import (
	"fmt"
	"net/http"
	"os"
	"strconv"

	"github.com/seine-crawler/seine/engine"
)

// routeHealth adds what supervisors ask.
func (h *Handler) routeHealth() {
	h.handle(http.MethodGet, "/healthz", h.healthy)
	h.handle(http.MethodGet, "/readyz", h.ready)
}

// healthy says that the process answers.
func (h *Handler) healthy(w http.ResponseWriter, _ *http.Request) {
	if h.o.Local {
		w.Header().Set(versionHeader, engine.Version)
		w.Header().Set(processHeader, strconv.Itoa(os.Getpid()))
		w.Header().Set(readOnlyHeader, strconv.FormatBool(h.e.Inspect().ReadOnly()))
	}
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	fmt.Fprintln(w, "ok")
}

// ready says that the engine answers, too.
func (h *Handler) ready(w http.ResponseWriter, _ *http.Request) {
	if _, err := h.e.Inspect().IndexStats(); err != nil {
		problemOf(err).write(w)
		return
	}
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	fmt.Fprintln(w, "ok")
}
