// SPDX-License-Identifier: Apache-2.0

package web

import (
	"context"
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/seine-crawler/seine/engine"
)

// Server is an http.Server with this package's bounds, on one listener.
type Server struct {
	http   http.Server
	ending chan struct{}      // closed when Close begins
	failed error              // because of which Serve ended before Close; read it after inside
	cool   context.CancelFunc // ends Warm; nil: there is none
	inside sync.WaitGroup     // Serve, which closes the listener at its end, and handlers
}

// warmer is a handler that has something to read before people come. Start calls it once.
type warmer interface{ Warm(ctx context.Context) }

// Warm reads the words that completions and corrections need: for 10^6 documents half a second of processor time, which
// the first visitors would wait beside. Start has a Handler do so; a handler around it passes this on.
func (h *Handler) Warm(ctx context.Context) {
	if h.e != nil && !h.o.Local { // one command, which may need none
		_, _ = h.e.Complete(ctx, "a", 1) // a visitor is told of an error
	}
}

// quiet drops messages: what clients do wrong is answered, not told to people here.
var quiet = log.New(io.Discard, "", 0)

// Start serves a handler on a listener until Close, on a goroutine.
func Start(l net.Listener, h http.Handler) *Server {
	s := &Server{ending: make(chan struct{})}
	s.http = http.Server{
		Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			s.inside.Add(1)
			defer s.inside.Done()
			h.ServeHTTP(w, r)
		}),
		ReadHeaderTimeout: quickTime, IdleTimeout: 2 * time.Minute, MaxHeaderBytes: headerMax,
		BaseContext: func(net.Listener) context.Context {
			return context.WithValue(context.Background(), endingKey{}, s.ending)
		},
		ErrorLog: quiet,
	}
	if _, local := l.(*socketListener); local {
		s.http.MaxHeaderBytes = localHeaderMax
	}
	if w, ok := h.(warmer); ok {
		ctx, cancel := context.WithCancel(context.Background())
		s.cool = cancel
		s.inside.Go(func() { w.Warm(ctx) })
	}
	s.inside.Go(func() {
		if err := s.http.Serve(l); !errors.Is(err, http.ErrServerClosed) {
			s.failed = err
		}
	})
	return s
}

// ServeSocket serves an engine on the socket of its data directory, until Close, which must come before that of the
// engine. Whoever may open the directory's files may connect, and do what the engine can. Of o, Logs and Failed count.
func ServeSocket(e *engine.Engine, dir string, o Options) (*Server, error) {
	l, err := ListenSocket(dir)
	if err != nil {
		return nil, err
	}
	return Start(l, New(e, Options{Local: true, Logs: o.Logs, Failed: o.Failed})), nil
}

// endingKey is the key of Server.ending in the contexts of requests.
type endingKey struct{}

// ending is closed when the server of a request ends: streams of events end then. Of another server it is nil.
func ending(ctx context.Context) chan struct{} {
	c, _ := ctx.Value(endingKey{}).(chan struct{})
	return c
}

// Close ends the server: it takes no more connections, waits a few seconds for the requests that are being answered,
// then closes their connections and waits until their handlers have returned and the listener is closed. If the server
// had ended by itself before, the error says why. Close is called once.
func (s *Server) Close() error {
	close(s.ending)
	if s.cool != nil {
		s.cool()
	}
	ctx, cancel := context.WithTimeout(context.Background(), drainTime)
	defer cancel()
	err := s.http.Shutdown(ctx)
	if errors.Is(err, context.DeadlineExceeded) {
		err = s.http.Close()
	}
	s.inside.Wait()
	return errors.Join(s.failed, err)
}
