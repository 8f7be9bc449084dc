// SPDX-License-Identifier: Apache-2.0

package web

import (
	"net/http"
	"slices"

	"github.com/seine-crawler/seine/engine"
)

// segmentsView is the list of segments, newest first.
type segmentsView struct {
	All            int
	Rows           []segmentRow
	First          string
	Previous, Next string
}

type segmentRow struct {
	engine.SegmentView
	WARCBytes int64
}

// segmentsPage lists segments: GET /segments?page=….
func (h *Handler) segmentsPage(w http.ResponseWriter, r *http.Request) {
	p := &page{Room: "crawl", Title: "Segments", base: h.o.Prefix, Scripts: []string{"live.js"}}
	var v segmentsView
	var all []engine.SegmentView
	for s, err := range h.e.Inspect().Segments(r.Context()) {
		if err != nil {
			h.failed(w, r, p.Room, err)
			return
		}
		all = append(all, s)
	}
	slices.Reverse(all)
	v.All = len(all)
	window := windowOf(r, pagesMax)
	from := min(window.skip, len(all))
	to := min(from+rowsShown, len(all))
	for _, s := range all[from:to] {
		row := segmentRow{SegmentView: s}
		for _, f := range s.WARC {
			row.WARCBytes += f.Size
		}
		v.Rows = append(v.Rows, row)
	}
	if from > 0 {
		v.First = p.Path("/segments")
		v.Previous = p.Path("/segments", "page", window.page-1)
	}
	if next := window.next(); next > 0 && to < len(all) {
		v.Next = p.Path("/segments", "page", next)
	}
	p.Body = &v
	h.show(w, http.StatusOK, "segments", p)
}
