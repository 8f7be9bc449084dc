// SPDX-License-Identifier: Apache-2.0

package web

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"path"
	"runtime"
	"strings"
	"sync"
	"time"

	"github.com/seine-crawler/seine/engine"
)

// Options say how a Handler serves. The zero value serves reading requests to loopback names only.
type Options struct {
	// Prefix is the path that the handler is mounted under, such as "/crawl"; "" means the root, and slashes at its
	// ends do not matter. Requests arrive with it: no http.StripPrefix is needed.
	Prefix string
	// Token permits requests that change something; "" refuses them all. A program that has accounts of its own sets
	// the header "Authorization: Bearer TOKEN" of the requests that it lets change something, and then calls the
	// Handler.
	Token string
	// Hosts are the names, without ports, that the Host header may have, besides localhost and addresses. Others are
	// refused, so that no foreign name that resolves to this machine (DNS rebinding) reaches the engine.
	Hosts []string
	// Logs are files whose last lines the page /log shows.
	Logs []Log
	// Local says that only the owner of the data directory can connect, as over a socket with mode 0600. Then neither
	// Host, origin nor token are checked, and the bounds of time and size are wide. What a handler of NewProxy passes
	// on was checked there, and has the bounds of other requests.
	Local bool
	// Failed is told of each request that ended in a panic, by a fault of this program or of a plug-in: what was
	// requested, the panic and where it was. It may be called from several goroutines at once. The client gets no
	// answer. nil: nobody is told.
	Failed func(error)
}

// Handler serves the pages and the API of one Engine. Any goroutine may call it. It must not outlive the Engine.
type Handler struct {
	e   *engine.Engine // nil: of a proxy
	o   Options
	mux *http.ServeMux
	// passed serves what a proxy passes on to a local handler: it has slots of its own, so that those who connect to
	// the proxy cannot take those of the owner's commands. A handler has no other for that.
	passed  func() *Handler
	checked bool // this is such a handler: the proxy has looked at Host, origin and token

	// operations are those of the API by the pattern of their path, below the prefix.
	operations map[string][]*route

	cross   *http.CrossOriginProtection
	workers chan struct{} // a slot for each request that is worked on
	streams chan struct{} // a slot for each of those that may last
	viewers chan struct{} // a slot for each that gets events
	flights flights
	counted linkCounts
	queue   *queue // of searches
	now     latest
	metrics *metrics
}

// cleanPrefix returns a prefix with a slash before it and none after it. It panics if that is no path.
func cleanPrefix(prefix string) string {
	clean := strings.Trim(prefix, "/")
	if clean == "" {
		return ""
	}
	clean = "/" + clean
	if u, err := url.Parse(clean); err != nil || u.Path != clean || path.Clean(clean) != clean ||
		strings.ContainsAny(clean, " {}") {
		panic(fmt.Sprintf("web: Options.Prefix %q: want a path such as /crawl", prefix))
	}
	return clean
}

// New makes a handler for an engine. It panics if Options.Prefix is no path.
func New(e *engine.Engine, o Options) *Handler {
	h := handlerOf(e, o)
	if o.Local {
		o.Local = false
		h.passed = sync.OnceValue(func() *Handler {
			h := handlerOf(e, o)
			h.checked = true
			return h
		})
	}
	return h
}

func handlerOf(e *engine.Engine, o Options) *Handler {
	h := guardOf(o)
	h.e = e
	h.streams, h.viewers = make(chan struct{}, streamsMax), make(chan struct{}, viewersMax)
	h.flights = flights{byKey: map[string]*flight{}}
	h.queue = newQueue(e.Inspect().Processors())
	h.routeHealth()
	h.routeMetrics()
	h.routeProfiles()
	h.routeAPI()
	h.routePages()
	return h
}

// guardOf makes a handler that has no routes yet.
func guardOf(o Options) *Handler {
	o.Prefix, o.Hosts = cleanPrefix(o.Prefix), plainHosts(o.Hosts)
	return &Handler{
		o: o, mux: http.NewServeMux(), cross: http.NewCrossOriginProtection(),
		workers: make(chan struct{}, workersMax),
	}
}

// handle adds a route of what has quickTime: method, then path below the prefix.
func (h *Handler) handle(method, path string, fn http.HandlerFunc) {
	h.handleLasting(method, path, func(w http.ResponseWriter, r *http.Request) {
		ctx, cancel := context.WithTimeout(r.Context(), quickTime)
		defer cancel()
		fn(w, r.WithContext(ctx))
	})
}

// handleLasting adds a route of what may take longer, which takes a slot of its own.
func (h *Handler) handleLasting(method, path string, fn http.HandlerFunc) {
	h.mux.HandleFunc(method+" "+h.o.Prefix+path, fn)
}

// ServeHTTP implements http.Handler.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	defer h.tell(r)
	if h.passed != nil && r.Header.Get(passedHeader) != "" {
		h.passed().ServeHTTP(w, r)
		return
	}
	secure(w.Header())
	if p := h.refuse(r); p != nil {
		h.deny(w, r, p)
		return
	}
	leave, ok := take(r.Context(), h.workers)
	if !ok {
		h.deny(w, r, busy())
		return
	}
	defer leave()
	ctx, cancel := context.WithTimeout(r.Context(), h.longest())
	defer cancel()
	bound(w, quickTime)
	r = r.WithContext(ctx)
	r.Body = http.MaxBytesReader(w, r.Body, h.longestBody())
	if h.openSession(w, r) {
		return
	}
	h.mux.ServeHTTP(w, r)
	if !readsOnly(r.Method) {
		h.now.forget()
	}
}

// tell is deferred. It tells of a panic, which a server would drop, and lets it go on as one that is known.
func (h *Handler) tell(r *http.Request) {
	x := recover()
	if x == nil {
		return
	}
	if x != http.ErrAbortHandler && h.o.Failed != nil {
		h.o.Failed(fmt.Errorf("%s %s: a fault of the program: %v, %s: please report it",
			r.Method, r.URL.Path, x, panicked()))
	}
	panic(http.ErrAbortHandler)
}

// panicked says where the panic began that is being recovered from.
func panicked() string {
	var memory [64]uintptr
	frames := runtime.CallersFrames(memory[:runtime.Callers(1, memory[:])])
	for began := false; ; {
		f, more := frames.Next()
		switch {
		case f.Function == "runtime.gopanic":
			began = true
		case began && !strings.HasPrefix(f.Function, "runtime."):
			return fmt.Sprintf("in %s, %s:%d", path.Base(f.Function), path.Base(f.File), f.Line)
		case !more:
			return "somewhere"
		}
	}
}

func (h *Handler) longest() time.Duration {
	switch {
	case h.o.Local:
		return localTime
	case h.e == nil:
		return longTime + quickTime // the other process ends it before
	}
	return longTime
}

func (h *Handler) longestBody() int64 {
	if h.o.Local {
		return localBodyMax
	}
	return bodyMax
}

// bound sets the time until which a request must be read and worked on; its answer may be taken a little later. A
// server that does not know deadlines has its own.
func bound(w http.ResponseWriter, d time.Duration) {
	c := http.NewResponseController(w)
	_ = c.SetReadDeadline(time.Now().Add(d))
	_ = c.SetWriteDeadline(time.Now().Add(d + takeTime))
}

// take takes a slot, for which it waits a little.
func take(ctx context.Context, slots chan struct{}) (leave func(), ok bool) {
	leave = func() { <-slots }
	select {
	case slots <- struct{}{}:
		return leave, true
	default:
	}
	timer := time.NewTimer(slotTime)
	defer timer.Stop()
	select {
	case slots <- struct{}{}:
		return leave, true
	case <-timer.C:
	case <-ctx.Done():
	}
	return nil, false
}
