// SPDX-License-Identifier: Apache-2.0

package web

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"slices"
	"strings"
	"time"
)

// apiPath is where the API is, below the prefix.
const apiPath = "/api/v1"

// route is one operation of the API. The table of routes is also what the OpenAPI description is made of.
type route struct {
	method, path string // path is below apiPath
	name         string // operationId
	about        string
	params       []param
	body         *body
	result       any // a value of the type of the answer; for a list or a raw stream of JSON, of its entries
	list         bool
	raw          []string // media types of an answer that is no JSON value
	events       bool     // the answer is a stream of events, until the client goes away
	lasts        bool     // it may take longer than quickTime
	status       []int    // of the problems that only this operation has
	do           func(h *Handler, c *call) (any, error)
}

// body describes what a request carries.
type body struct {
	about string
	value any // a value of the type of a JSON body; nil: it takes none
	types []string
}

// call is one request for an operation, with its parameters checked.
type call struct {
	ctx    context.Context
	w      http.ResponseWriter
	r      *http.Request
	values map[string]any
}

func (c *call) text(name string) string     { v, _ := c.values[name].(string); return v }
func (c *call) number(name string) float64  { v, _ := c.values[name].(float64); return v }
func (c *call) count(name string) int       { v, _ := c.values[name].(int); return v }
func (c *call) on(name string) bool         { v, _ := c.values[name].(bool); return v }
func (c *call) texts(name string) []string  { v, _ := c.values[name].([]string); return v }
func (c *call) given(name string) (ok bool) { _, ok = c.values[name]; return ok }

// routeAPI adds the routes of /api/v1.
func (h *Handler) routeAPI() {
	h.operations = map[string][]*route{}
	for i := range routes {
		r := &routes[i]
		h.operations[apiPath+r.path] = append(h.operations[apiPath+r.path], r)
	}
	for path, list := range h.operations {
		h.mux.HandleFunc(h.o.Prefix+path, func(w http.ResponseWriter, r *http.Request) { h.serve(w, r, list) })
	}
	h.handle(http.MethodGet, apiPath+"/openapi.json", h.describe)
	none := func(w http.ResponseWriter, r *http.Request) {
		problem(http.StatusNotFound, "no_operation", "there is no operation "+r.URL.Path+": see "+h.o.Prefix+apiPath+
			"/openapi.json").write(w)
	}
	h.mux.HandleFunc(h.o.Prefix+apiPath+"/", none)
	h.mux.HandleFunc(h.o.Prefix+apiPath, none) // without it, the mux would redirect, and with a page
}

// serve answers a request for a path with the operation of its method.
func (h *Handler) serve(w http.ResponseWriter, r *http.Request, list []*route) {
	method := r.Method
	if method == http.MethodHead {
		method = http.MethodGet
	}
	at := slices.IndexFunc(list, func(o *route) bool { return o.method == method })
	if at < 0 {
		var allow []string
		for _, o := range list {
			if allow = append(allow, o.method); o.method == http.MethodGet {
				allow = append(allow, http.MethodHead)
			}
		}
		w.Header().Set("Allow", strings.Join(allow, ", "))
		problem(http.StatusMethodNotAllowed, "method", "this operation takes "+strings.Join(allow, " and ")).write(w)
		return
	}
	began, status := time.Now(), http.StatusOK
	if p := h.run(w, r, list[at]); p != nil {
		status = p.Status
		p.write(w)
	}
	h.metrics.observe(list[at].name, status, began)
}

// run runs an operation and writes its answer. The problem is one that nothing was written of.
func (h *Handler) run(w http.ResponseWriter, r *http.Request, o *route) *Problem {
	values, p := parseParams(r, o, h.o.Local)
	if p == nil && o.method == http.MethodPost && o.body == nil {
		p = noBody(r)
	}
	if p == nil && o.body != nil {
		p = plain(w, r)
	}
	if p != nil {
		return p
	}
	ctx := r.Context()
	switch {
	case o.lasts || o.events:
		slots := h.streams
		if o.events {
			slots = h.viewers
		}
		leave, ok := take(ctx, slots)
		if !ok {
			return busy()
		}
		defer leave()
	case h.o.Local: // a command takes as long as it does alone
		bound(w, localTime)
	default:
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, quickTime)
		defer cancel()
	}
	c := &call{ctx: ctx, w: w, r: r, values: values}
	if o.lasts || o.events {
		h.lasting(w, r)
	}
	v, err := o.do(h, c)
	if err != nil {
		return problemOf(err)
	}
	if l, ok := v.(answerer); ok {
		return l.answer(h, c)
	}
	if o.lasts {
		bound(w, stallTime)
	}
	w.Header().Set("Content-Type", "application/json")
	_ = writeJSON(w, v) // the client is gone if it fails
	return nil
}

// noBody is the problem of a body where an operation takes none: what it asks for would not be done. An empty JSON
// object, as README sends it, is as good as none.
func noBody(r *http.Request) *Problem {
	const longest = 64 // bytes: white space around it
	text, err := io.ReadAll(io.LimitReader(r.Body, longest+1))
	if err != nil {
		return bodyProblem(err)
	}
	if asks := strings.TrimSpace(string(text)); len(text) <= longest && (asks == "" || asks == "{}") {
		return nil
	}
	return bodyProblem(errors.New("this operation takes none"))
}

// plain is the problem of a body that is compressed: its bytes would be taken for seeds or URLs that are malformed.
func plain(w http.ResponseWriter, r *http.Request) *Problem {
	coding := strings.ToLower(strings.Join(r.Header.Values("Content-Encoding"), ","))
	if coding == "" || coding == "identity" {
		return nil
	}
	w.Header().Set("Accept-Encoding", "identity")
	return problem(http.StatusUnsupportedMediaType, "media_type", "the body must be sent as it is, not as "+coding)
}

// answerer is a result that writes itself.
type answerer interface {
	answer(h *Handler, c *call) *Problem
}

// lasting lifts the bounds of a quick request: its context bounds it, and each part of what is read or written has
// the patience of the handler.
func (h *Handler) lasting(w http.ResponseWriter, r *http.Request) {
	c := http.NewResponseController(w)
	deadlines{c}.wait()
	r.Body = &patientBody{r.Body, deadlines{c}, h.patience()}
}

// patience is the time in which a client must take or send a part: one of a command may come from somebody who types.
func (h *Handler) patience() time.Duration {
	if h.o.Local {
		return localTime
	}
	return stallTime
}

// deadlines are those of the connection of a request.
type deadlines struct{ c *http.ResponseController }

// wait takes them away, while the engine works. (A read that times out would end the context of the request.)
func (d deadlines) wait() {
	none := noDeadline
	_ = d.c.SetReadDeadline(none)
	_ = d.c.SetWriteDeadline(none)
}

// patientBody is a body of which each part must come within a time.
type patientBody struct {
	io.ReadCloser
	d        deadlines
	patience time.Duration
}

func (b *patientBody) Read(p []byte) (int, error) {
	_ = b.d.c.SetReadDeadline(time.Now().Add(b.patience))
	n, err := b.ReadCloser.Read(p)
	_ = b.d.c.SetReadDeadline(noDeadline)
	if err != nil && err != io.EOF {
		err = bodyProblem(err) // wherever it is read: it is no fault of the server
	}
	return n, err
}

// wrongParameter is the problem of a parameter.
func wrongParameter(name, format string, args ...any) *Problem {
	p := problem(http.StatusBadRequest, "parameter", name+": "+fmt.Sprintf(format, args...))
	p.Parameter = name
	return p
}

// bodyProblem is the problem of a body that cannot be read.
func bodyProblem(err error) *Problem {
	var large *http.MaxBytesError
	var known *Problem
	switch {
	case errors.As(err, &large), errors.As(err, &known):
		return problemOf(err)
	case errors.Is(err, os.ErrDeadlineExceeded):
		err = errors.New("no more of it came for too long")
	}
	return problem(http.StatusBadRequest, "body", "the body of the request: "+err.Error())
}
