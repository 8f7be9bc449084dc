// SPDX-License-Identifier: Apache-2.0

package web

import (
	"net/http"
	"net/http/httputil"
	"net/url"
)

// readerHeader marks a request that a proxy passes on for somebody without the token.
const readerHeader = "Seine-Reader"

// NewProxy makes a handler that serves what the process of a client has open, with the guard of a Handler: who crawls
// without serving can be looked at from another process. Options.Prefix and Options.Local have no effect.
func NewProxy(c *Client, o Options) http.Handler {
	o.Prefix, o.Local = "", false
	h := &Handler{
		o: o, cross: http.NewCrossOriginProtection(), workers: make(chan struct{}, workersMax),
	}
	pass := &httputil.ReverseProxy{
		Transport:     c.http.Transport,
		FlushInterval: -1, // events and streams are not held back
		Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(&url.URL{Scheme: "http", Host: "localhost"})
			if r.Out.Header.Del(readerHeader); !h.permitted(r.In) {
				r.Out.Header.Set(readerHeader, "true")
			}
		},
		ErrorHandler: func(w http.ResponseWriter, r *http.Request, err error) {
			secure(w.Header())
			problem(http.StatusServiceUnavailable, "closed", c.failed(r.Context(), err).Error()).write(w)
		},
		ErrorLog: quiet,
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if p := h.refuse(r); p != nil {
			secure(w.Header())
			p.write(w)
			return
		}
		leave, ok := take(r.Context(), h.workers)
		if !ok {
			busy().write(w)
			return
		}
		defer leave()
		r.Body = http.MaxBytesReader(w, r.Body, bodyMax)
		if h.openSession(w, r) {
			return
		}
		pass.ServeHTTP(w, r)
	})
}
