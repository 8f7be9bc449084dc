// SPDX-License-Identifier: Apache-2.0

package web

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httputil"
	"net/url"
	"strings"
)

// passedHeader marks a request over a socket that a proxy passes on for somebody else. Its value says whether that one
// has the token. The proxy always sets it, whatever it was sent: without it, a request has the rights and the bounds of
// the owner of the data directory.
const passedHeader = "Seine-Passed-On"

// Values of passedHeader.
const (
	passedForToken  = "token"
	passedForReader = "reader"
)

// NewProxy makes a handler that serves what the process of a client has open, with the guard of a Handler: who crawls
// without serving can be looked at from another process. There, what it passes on has the bounds of requests that come
// from anywhere, and slots of its own. It answers /healthz itself, since that is about this process. Options.Prefix,
// Options.Local and Options.Logs have no effect. If c is nil, nobody can be asked now, and all but /healthz is refused.
func NewProxy(c *Client, o Options) http.Handler {
	o.Prefix, o.Local = "", false
	h := guardOf(o)
	h.handle(http.MethodGet, "/healthz", h.healthy)
	if c == nil {
		h.mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
			h.deny(w, r, problem(http.StatusServiceUnavailable, "closed", "the process that had the data directory "+
				"open has ended or is stopped, and this one cannot open it yet: try again"))
		})
		return h
	}
	pass := &httputil.ReverseProxy{
		Transport:     c.http.Transport,
		FlushInterval: -1, // events and streams are not held back
		Rewrite:       h.passOn,
		ErrorHandler: func(w http.ResponseWriter, r *http.Request, err error) {
			secure(w.Header())
			h.deny(w, r, c.notPassed(r, err))
		},
		ErrorLog: quiet,
	}
	h.mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		clear(w.Header()) // the other process sets what secure did
		// Some answers begin while their request is being sent: net/http would take the rest of it away.
		_ = http.NewResponseController(w).EnableFullDuplex()
		h.lasting(w, r)
		r.Body = sentBody{r.Body}
		pass.ServeHTTP(&patientWriter{w, deadlines{http.NewResponseController(w)}}, r)
	})
	return h
}

// passOn makes the request that the other process gets. Its Host stays: pages have addresses of this server in them.
func (h *Handler) passOn(r *httputil.ProxyRequest) {
	r.SetURL(&url.URL{Scheme: "http", Host: "localhost"})
	r.Out.Host = r.In.Host
	r.Out.Header.Set(passedHeader, passedForReader)
	if h.permitted(r.In) {
		r.Out.Header.Set(passedHeader, passedForToken)
	}
	if overTLS(r.In) {
		r.Out.Header.Set(schemeHeader, "https")
	}
}

// schemeHeader says by which scheme a request came to a server before this one, as nginx and others can send it.
// Nothing is permitted by it: who sends it without such a server gets other addresses in its own answer.
const schemeHeader = "X-Forwarded-Proto"

// overTLS says whether the client speaks TLS, to this process or to a server before it.
func overTLS(r *http.Request) bool {
	return r.TLS != nil || strings.EqualFold(r.Header.Get(schemeHeader), "https")
}

// notPassed is the problem of a request to a proxy that has no answer.
func (c *Client) notPassed(r *http.Request, err error) *Problem {
	var sent *sentError
	switch {
	case errors.As(err, &sent):
		return bodyProblem(sent.err)
	case r.Context().Err() != nil:
		return problemOf(r.Context().Err())
	}
	return problem(http.StatusServiceUnavailable, "closed", fmt.Sprintf("process %s, which had the data directory "+
		"open, ended before all was answered: try again (%v)", c.process, rootOf(err)))
}

// sentBody is the body of a request to a proxy. Its errors are those of the one who sends it.
type sentBody struct{ io.ReadCloser }

func (b sentBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if err != nil && err != io.EOF {
		err = &sentError{err}
	}
	return n, err
}

// sentError is an error of what a client sends, and not one of the other process.
type sentError struct{ err error }

func (e *sentError) Error() string { return e.err.Error() }
func (e *sentError) Unwrap() error { return e.err }

// patientWriter gives each write of an answer the time in which its client must take it.
type patientWriter struct {
	http.ResponseWriter
	d deadlines
}

// Write implements http.ResponseWriter.
func (w *patientWriter) Write(p []byte) (int, error) {
	_ = w.d.c.SetWriteDeadline(soon())
	return w.ResponseWriter.Write(p)
}

// Unwrap lets an http.ResponseController find the writer.
func (w *patientWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }
