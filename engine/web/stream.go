// SPDX-License-Identifier: Apache-2.0

package web

import (
	"bufio"
	"encoding/base64"
	"errors"
	"iter"
	"mime"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// ndjson is the media type of a stream: one JSON value a line.
const ndjson = "application/x-ndjson"

// noDeadline takes a deadline away.
var noDeadline time.Time

// soon is the deadline of a step of a request that lasts.
func soon() time.Time { return time.Now().Add(stallTime) }

// Page is a part of a list.
type Page[T any] struct {
	Items []T `json:"items"`
	// Next is the parameter cursor of the next page; "": this is the last one.
	Next string `json:"next,omitempty"`
	// More says that there are entries behind this last page: where a list has no key to go on from, pages reach some
	// ten thousand. A stream has all.
	More bool `json:"more,omitempty"`
}

// list is the result of an operation that lists: a page of it as JSON, or all of it as a stream, one entry a line, for
// those who accept that.
type list[T any] struct {
	// from returns the entries behind a position; "" is the beginning.
	from func(after string) iter.Seq2[T, error]
	// at is the position of an entry; nil: the list has no positions, and pages are found by counting.
	at func(T) string
	// whole says that the list is short, and one page has all of it.
	whole bool
}

// listParams are the parameters of all lists.
var listParams = []param{
	{name: "limit", kind: aCount, least: 1, most: pageMax, about: "entries of a page; of a stream, all unless it is " +
		"given"},
	{name: "cursor", kind: aText, about: "where the page begins: next of the page before it"},
}

// wantsLines reports whether a request asks for a stream: it names the type of one, and likes no page of JSON better.
func wantsLines(r *http.Request) bool {
	weight := map[string]float64{}
	for part := range strings.SplitSeq(strings.Join(r.Header.Values("Accept"), ","), ",") {
		is, parameters, err := mime.ParseMediaType(part)
		if err != nil {
			continue
		}
		if weight[is], err = strconv.ParseFloat(parameters["q"], 64); err != nil {
			weight[is] = 1
		}
	}
	return weight[ndjson] > 0 && weight[ndjson] >= weight["application/json"]
}

func (l list[T]) answer(h *Handler, c *call) *Problem {
	position, skip, p := l.begin(c.text("cursor"))
	if p != nil {
		return p
	}
	entries := l.from(position)
	if position != "" {
		entries = fromCursor(entries)
	}
	if wantsLines(c.r) {
		return l.stream(h, c, entries, skip)
	}
	return l.page(c, entries, skip)
}

// fromCursor are entries behind a position that a client gave. If it is no position of the list, that is what is wrong.
func fromCursor[T any](entries iter.Seq2[T, error]) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		for v, err := range entries {
			if err != nil && problemOf(err).Code == "url" {
				err = wrongCursor()
			}
			if !yield(v, err) {
				return
			}
		}
	}
}

// begin reads a cursor: a position of the list, or a number of entries.
func (l list[T]) begin(cursor string) (position string, skip int, p *Problem) {
	if cursor == "" {
		return "", 0, nil
	}
	text, err := base64.RawURLEncoding.DecodeString(cursor)
	position = string(text)
	if err == nil && l.at == nil {
		skip, err = strconv.Atoi(position)
		position = ""
	}
	if err != nil || skip < 0 {
		return "", 0, wrongCursor()
	}
	if skip > deepMax {
		return "", 0, wrongParameter("cursor", "this list has pages up to entry %d: request all of it as a stream, "+
			"with Accept: %s", deepMax, ndjson)
	}
	return position, skip, nil
}

func (l list[T]) page(c *call, entries iter.Seq2[T, error], skip int) *Problem {
	limit := c.count("limit")
	if limit == 0 {
		limit = pageDefault
	}
	if l.whole {
		limit = pageMax
	}
	out, n := Page[T]{Items: []T{}}, 0
	for v, err := range entries {
		if err != nil {
			return problemOf(err)
		}
		if n++; n <= skip {
			continue
		}
		if len(out.Items) == limit {
			next := strconv.Itoa(skip + limit)
			if l.at != nil {
				next = l.at(out.Items[limit-1])
			} else if out.More = skip+limit > deepMax; out.More {
				break
			}
			out.Next = base64.RawURLEncoding.EncodeToString([]byte(next))
			break
		}
		out.Items = append(out.Items, v)
	}
	bound(c.w, stallTime)
	c.w.Header().Set("Content-Type", "application/json")
	_ = writeJSON(c.w, out)
	return nil
}

// lastLine is the last line of a stream that an error ended.
type lastLine struct {
	Problem *Problem `json:"problem"`
}

// stream writes the entries line by line. Writing waits for the client: as much is read as the client takes. If an
// error ends the stream, its last line says so; a stream that ends otherwise without its end is an error of the
// connection.
func (l list[T]) stream(h *Handler, c *call, entries iter.Seq2[T, error], skip int) *Problem {
	w := &lineWriter{d: deadlines{http.NewResponseController(c.w)}, patience: h.patience()}
	w.b = bufio.NewWriterSize(&deadlineWriter{c.w, w}, 32<<10)
	limit, n := c.count("limit"), 0
	if c.r.Method == http.MethodHead {
		limit = 1 // nobody gets the others
	}
	for v, err := range entries {
		if err == nil {
			if n++; n <= skip {
				continue
			}
			if !w.began {
				w.begin(c.w)
			}
			err = w.write(v)
			if err != nil {
				panic(http.ErrAbortHandler) // the client is gone
			}
			if limit > 0 && n-skip == limit {
				break
			}
			continue
		}
		if !w.began {
			return problemOf(err)
		}
		_ = w.write(lastLine{problemOf(err)})
		break
	}
	if !w.began {
		w.begin(c.w)
	}
	if w.b.Flush() != nil {
		panic(http.ErrAbortHandler)
	}
	return nil
}

// lineWriter writes lines, and sends them when there are many or some time has passed.
type lineWriter struct {
	b        *bufio.Writer
	d        deadlines
	patience time.Duration // for one write to the connection
	began    bool
	flushed  time.Time
}

func (w *lineWriter) begin(to http.ResponseWriter) {
	to.Header().Set("Content-Type", ndjson)
	w.began, w.flushed = true, time.Now()
}

func (w *lineWriter) write(v any) error {
	if err := writeJSON(w.b, v); err != nil {
		return err
	}
	if now := time.Now(); now.Sub(w.flushed) > flushTime {
		w.flushed = now
		if err := w.b.Flush(); err != nil {
			return err
		}
		return flush(w.d.c)
	}
	return nil
}

// flush sends what was written, where a server can be told to. One whose program has put a writer of its own around it
// that cannot pass this on, as many do to log requests, sends it when there is more.
func flush(c *http.ResponseController) error {
	if err := c.Flush(); !errors.Is(err, http.ErrNotSupported) {
		return err
	}
	return nil
}

// deadlineWriter gives each write to the connection the patience of a lineWriter.
type deadlineWriter struct {
	to http.ResponseWriter
	w  *lineWriter
}

func (d *deadlineWriter) Write(p []byte) (int, error) {
	_ = d.w.d.c.SetWriteDeadline(time.Now().Add(d.w.patience))
	return d.to.Write(p)
}

// wrongCursor is the problem of a cursor that is none of the list.
func wrongCursor() *Problem {
	return wrongParameter("cursor", "it is none of this list: take next of the page before")
}
