// SPDX-License-Identifier: Apache-2.0

package web

import (
	"encoding/json"
	"net/http"

	"github.com/seine-crawler/seine/index"
)

// completions answers what somebody types with what it may become, in the format of OpenSearch suggestions: the text,
// then the completions, then the number of pages with each. Browsers read it, and the search page does.
func (h *Handler) completions(w http.ResponseWriter, r *http.Request) {
	text := r.URL.Query().Get("q")
	if len(text) > queryMax {
		text = ""
	}
	var list []index.Completion
	err := h.inTurn(r.Context(), aCompletion, func() (err error) {
		list, err = h.e.Complete(r.Context(), text, completeLimit)
		return err
	})
	if err != nil {
		h.failed(w, r, "search", err)
		return
	}
	full, counts := make([]string, 0, len(list)), make([]string, 0, len(list))
	for _, c := range list {
		full = append(full, clean(c.Text, queryMax))
		counts = append(counts, plural(c.Documents, "page"))
	}
	w.Header().Set("Content-Type", "application/x-suggestions+json")
	w.Header().Set("Cache-Control", "no-store")
	_ = json.NewEncoder(w).Encode([]any{text, full, counts}) // the client went away
}
