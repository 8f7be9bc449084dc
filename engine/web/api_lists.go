// SPDX-License-Identifier: Apache-2.0

package web

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"mime"
	"net/http"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/seine-crawler/seine/engine"
)

// listedLine is a line of the answer of dedup_urls: a line of a list, or at the end the report. In a line that is not
// UTF-8 bytes are replaced, and Bytes has it as it is.
type listedLine struct {
	List   string                  `json:"list,omitempty"`
	Line   string                  `json:"line,omitempty"`
	Bytes  []byte                  `json:"bytes,omitempty"`
	Report *engine.DedupURLsReport `json:"report,omitempty"`
}

// urlLists are the names of the lists of dedup_urls.
var urlLists = []string{"new", "known", "duplicates", "refused"}

// listing is the result of dedup_urls.
type listing struct{ o engine.DedupURLsOptions }

// into is the field for a list.
func into(o *engine.DedupURLsOptions, list string) *io.Writer {
	return map[string]*io.Writer{
		"new": &o.New, "known": &o.Known, "duplicates": &o.Duplicates, "refused": &o.Refused,
	}[list]
}

func (h *Handler) dedupURLs(c *call) (any, error) {
	is, params, _ := mime.ParseMediaType(c.r.Header.Get("Content-Type"))
	if p := c.needsFiles(is); p != nil {
		return nil, p
	}
	var l listing
	switch is {
	case "multipart/form-data":
		var in engine.InjectOptions
		source := newSeedParts(c.r.Body, params)
		if err := source.options(&in, c.texts("file")); err != nil {
			return nil, err
		}
		l.o.URLs, l.o.Readers = in.URLs, in.Readers
	default:
		if err := c.wantType("text/plain", "multipart/form-data"); err != nil {
			return nil, err
		}
		l.o.Readers = []io.Reader{c.r.Body}
	}
	return l, nil
}

func (l listing) answer(h *Handler, c *call) *Problem {
	w := &lineWriter{d: deadlines{http.NewResponseController(c.w)}, patience: h.patience()}
	_ = w.d.c.EnableFullDuplex() // refused lines are sent while others are read; HTTP/2 always can
	w.b = bufio.NewWriterSize(&deadlineWriter{c.w, w}, 32<<10)
	var lists []*listWriter
	for _, name := range urlLists {
		if slices.Contains(c.texts("lists"), name) {
			to := &listWriter{name: name, w: w, c: c}
			lists = append(lists, to)
			*into(&l.o, name) = to
		}
	}
	r, err := h.e.DedupURLs(c.ctx, l.o)
	gone := slices.ContainsFunc(lists, func(l *listWriter) bool { return l.err != nil })
	switch {
	case gone:
		panic(http.ErrAbortHandler)
	case err != nil && !w.began:
		return problemOf(err)
	case !w.began:
		w.begin(c.w)
	}
	if err != nil {
		err = w.write(lastLine{problemOf(err)})
	} else {
		err = w.write(listedLine{Report: &r})
	}
	if errors.Join(err, w.b.Flush()) != nil {
		panic(http.ErrAbortHandler)
	}
	return nil
}

// listWriter sends the lines of a list.
type listWriter struct {
	name string
	w    *lineWriter
	c    *call
	part []byte // of a line
	err  error  // of the connection
}

func (l *listWriter) Write(p []byte) (int, error) {
	n := len(p)
	for {
		line, rest, whole := bytes.Cut(p, []byte{'\n'})
		l.part = append(l.part, line...)
		if !whole {
			return n, nil
		}
		if !l.w.began {
			l.w.begin(l.c.w)
		}
		sent := listedLine{List: l.name, Line: strings.ToValidUTF8(string(l.part), "\ufffd")}
		if !utf8.Valid(l.part) {
			sent.Bytes = l.part
		}
		if l.err = l.w.write(sent); l.err != nil {
			return 0, l.err
		}
		p, l.part = rest, l.part[:0]
	}
}

// readListed reads the answer of dedup_urls into the lists that are wanted.
func readListed(body io.Reader, o *engine.DedupURLsOptions) (r engine.DedupURLsReport, err error) {
	for dec := json.NewDecoder(body); ; {
		line, err := nextOf[listedLine](dec)
		if err != nil {
			return r, err
		}
		if line.Report != nil {
			return *line.Report, nil
		}
		if to := into(o, line.List); to != nil && *to != nil {
			if line.Bytes == nil {
				line.Bytes = []byte(line.Line)
			}
			if _, err := (*to).Write(append(line.Bytes, '\n')); err != nil {
				return r, &writeError{err}
			}
		}
	}
}

// writeError is one of a list that the caller of a Client writes, and not one of the connection.
type writeError struct{ err error }

func (e *writeError) Error() string { return e.err.Error() }
func (e *writeError) Unwrap() error { return e.err }

var listRoutes = []route{{
	method: http.MethodPost, path: "/dedup-urls", name: "dedup_urls",
	about: "Sort lines of URLs into those that are new, known, duplicates or refused, as seeds are read. Each line " +
		"of the answer has a list and a line of it, also in bytes (base64) if it is not UTF-8; the last has the " +
		"report, or the problem that ended it",
	params: []param{
		{name: "lists", kind: aList, words: urlLists, def: []string{"new"}, about: "the lists that are sent"},
		{name: "file", kind: aList, repeated: true, about: "names of the files of a multipart body, for messages"},
	},
	body: &body{about: "lines of URLs; or several files: a part urls, then a part for each",
		types: []string{"text/plain", "multipart/form-data"}},
	result: listedLine{}, raw: []string{ndjson}, lasts: true, do: (*Handler).dedupURLs,
}}
