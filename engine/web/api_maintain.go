// SPDX-License-Identifier: Apache-2.0

package web

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"

	"github.com/seine-crawler/seine/engine"
	"github.com/seine-crawler/seine/engine/policy"
	"github.com/seine-crawler/seine/engine/writers"
	"github.com/seine-crawler/seine/storage"
)

// SegmentNumbers are numbers of segments.
type SegmentNumbers struct {
	Segments []uint32 `json:"segments,omitempty"`
}

// DueSegments are segments that their next phase may take, oldest first.
type DueSegments struct {
	Segments []uint32 `json:"segments"`
	// Problem says that there is none, and which command comes first.
	Problem *Problem `json:"problem,omitempty"`
}

// indexing is the JSON body of index.
type indexing struct {
	Segments    []uint32 `json:"segments,omitempty"`     // linked ones; none: every linked segment
	MaxSegments int      `json:"max_segments,omitempty"` // merge until there are at most so many; 0: no bound
	Resend      bool     `json:"resend,omitempty"`       // send all documents to index writers again
	// EveryDocument looks at all documents, not only at those that may have changed.
	EveryDocument bool `json:"every_document,omitempty"`
}

// IndexAnswer is the report of an indexing.
type IndexAnswer struct {
	engine.IndexReport
	// Problem says that the rest is done, and an index writer did not take all of it.
	Problem *Problem `json:"problem,omitempty"`
}

// PurgeAnswer is the report of a purge.
type PurgeAnswer struct {
	engine.PurgeReport
	// Problem says that the rest is done, and an index writer did not take all of it.
	Problem *Problem `json:"problem,omitempty"`
}

// notSent makes a problem of an error that says that index writers did not take all; other errors stay.
func notSent(err error) (*Problem, error) {
	if errors.Is(err, engine.ErrNotSent) {
		return problemOf(err), nil
	}
	return nil, err
}

func (h *Handler) index(c *call) (any, error) {
	var o indexing
	if err := readJSON(c, &o); err != nil {
		return nil, err
	}
	if o.MaxSegments < 0 {
		return nil, bodyProblem(errors.New("max_segments: want 0 or more"))
	}
	r, err := h.e.Index(c.ctx, engine.IndexOptions{
		Segments: o.Segments, Refresh: true, Resend: o.Resend, MaxSegments: o.MaxSegments,
		EveryDocument: o.EveryDocument,
	})
	problem, err := notSent(err)
	return IndexAnswer{r, problem}, err
}

func (h *Handler) dedup(c *call) (any, error) {
	var o SegmentNumbers
	if err := readJSON(c, &o); err != nil {
		return nil, err
	}
	return h.e.Dedup(c.ctx, engine.DedupOptions{Segments: o.Segments})
}

func (h *Handler) purge(c *call) (any, error) {
	r, err := h.e.Purge(c.ctx)
	problem, err := notSent(err)
	return PurgeAnswer{r, problem}, err
}

func (h *Handler) verify(c *call) (any, error) { return h.e.Inspect().Verify(c.ctx) }

// segmentStates are the states of which segments may be due.
var segmentStates = map[string]storage.SegmentState{
	"open": storage.SegmentOpen, "sealed": storage.SegmentSealed, "updated": storage.SegmentUpdated,
	"linked": storage.SegmentLinked,
}

func (h *Handler) dueSegments(c *call) (any, error) {
	list, err := h.e.Inspect().DueSegments(segmentStates[c.text("state")])
	if errors.Is(err, engine.ErrNoSegment) {
		return DueSegments{[]uint32{}, problemOf(err)}, nil
	}
	return DueSegments{Segments: list}, err
}

// exports are the formats of export, by name, with their media types.
var exports = map[string]struct {
	mediaType string
	write     func(ctx context.Context, e *engine.Engine, w *bufio.Writer) error
}{
	"cdxj": {"text/plain; charset=utf-8", func(ctx context.Context, e *engine.Engine, w *bufio.Writer) error {
		return e.Inspect().ExportCDXJ(ctx, w)
	}},
	"jsonl": {ndjson, exportDocuments},
}

// exportDocuments writes each document of the index as a line of JSON, as index writers get it.
func exportDocuments(ctx context.Context, e *engine.Engine, w *bufio.Writer) error {
	var line []byte
	return e.Inspect().Documents(ctx, func(c *policy.IndexChange) error {
		line = append(writers.AppendJSON(line[:0], c), '\n')
		_, err := w.Write(line)
		return err
	})
}

// Export writes an index of the WARC files (cdxj) or the indexed documents, one a line (jsonl). What was written before
// an error stays written.
func Export(ctx context.Context, e *engine.Engine, format string, w io.Writer) error {
	b := bufio.NewWriterSize(w, 32<<10)
	return errors.Join(exports[format].write(ctx, e, b), b.Flush())
}

// problemTrailer is the trailer of an export that an error ended: a Problem as JSON.
const problemTrailer = "Seine-Problem"

// export is the result of an operation that streams bytes.
type export struct{ format string }

func (h *Handler) export(c *call) (any, error) { return export{c.text("format")}, nil }

func (x export) answer(h *Handler, c *call) *Problem {
	if c.r.Method == http.MethodHead {
		c.w.Header().Set("Content-Type", exports[x.format].mediaType)
		return nil
	}
	w := &lineWriter{d: deadlines{http.NewResponseController(c.w)}, patience: h.patience()}
	to := &beginWriter{to: &deadlineWriter{c.w, w}, begin: func() {
		c.w.Header().Set("Content-Type", exports[x.format].mediaType)
	}}
	w.b = bufio.NewWriterSize(to, 32<<10)
	err := exports[x.format].write(c.ctx, h.e, w.b)
	if to.err != nil {
		panic(http.ErrAbortHandler) // the client is gone
	}
	if err != nil && !to.began {
		return problemOf(err)
	}
	if w.b.Flush() != nil {
		panic(http.ErrAbortHandler)
	}
	to.start()
	if err != nil {
		text, _ := json.Marshal(problemOf(err)) // of texts and numbers
		c.w.Header().Set(http.TrailerPrefix+problemTrailer, string(text))
	}
	return nil
}

// beginWriter calls begin before the first byte, and remembers the error of a write.
type beginWriter struct {
	to    io.Writer
	begin func()
	began bool
	err   error
}

func (b *beginWriter) start() {
	if !b.began {
		b.began = true
		b.begin()
	}
}

func (b *beginWriter) Write(p []byte) (int, error) {
	b.start()
	n, err := b.to.Write(p)
	if err != nil {
		b.err = err
	}
	return n, err
}

var maintainRoutes = []route{
	{
		method: http.MethodGet, path: "/export/{format}", name: "export",
		about: "An index of the WARC files, for replay tools (cdxj), or the indexed documents, one a line (jsonl); " +
			"an error on the way is in the trailer " + problemTrailer,
		params: []param{{name: "format", kind: aWord, inPath: true, required: true, words: []string{"cdxj", "jsonl"},
			about: "what to write"}},
		raw: []string{"text/plain; charset=utf-8", ndjson}, lasts: true, do: (*Handler).export,
	},
	{
		method: http.MethodGet, path: "/segments/due", name: "due_segments",
		about: "The segments in a state that their next phase may take, oldest first",
		params: []param{{name: "state", kind: aWord, required: true, words: []string{"open", "sealed", "updated",
			"linked"}, about: "the state"}},
		result: DueSegments{}, do: (*Handler).dueSegments,
	},
	{
		method: http.MethodPost, path: "/verify", name: "verify", about: "Read everything that is stored and check it",
		result: engine.VerifyReport{}, lasts: true, do: (*Handler).verify,
	},
	{
		method: http.MethodPost, path: "/index", name: "index_pages",
		about: "Index the pages of linked segments, refresh documents that changed, and merge index segments",
		body:  &body{about: "what to index", value: indexing{}}, result: IndexAnswer{}, lasts: true,
		status: []int{http.StatusNotFound, http.StatusConflict}, do: (*Handler).index,
	},
	{
		method: http.MethodPost, path: "/dedup", name: "dedup", about: "Mark pages with equal content as duplicates",
		body:   &body{about: "segments whose pages are compared; none: all pages", value: SegmentNumbers{}},
		result: engine.DedupReport{}, lasts: true, status: []int{http.StatusNotFound, http.StatusConflict},
		do: (*Handler).dedup,
	},
	{
		method: http.MethodPost, path: "/purge", name: "purge",
		about:  "Remove what is deleted, replaced or denied from WARC files, parse records and index",
		result: PurgeAnswer{}, lasts: true, status: []int{http.StatusConflict}, do: (*Handler).purge,
	},
}
