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
)

// Server is an http.Server with this package's bounds, on one listener.
type Server struct {
	http   http.Server
	done   chan error // what Serve returned
	inside sync.WaitGroup
}

// Start serves a handler on a listener until Close, on a goroutine.
func Start(l net.Listener, h http.Handler) *Server {
	s := &Server{done: make(chan error, 1)}
	s.http = http.Server{
		Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			s.inside.Add(1)
			defer s.inside.Done()
			h.ServeHTTP(w, r)
		}),
		ReadHeaderTimeout: quickTime, IdleTimeout: 2 * time.Minute, MaxHeaderBytes: headerMax,
		ErrorLog: log.New(io.Discard, "", 0), // what clients do wrong is answered, not told to people here
	}
	go func() { s.done <- s.http.Serve(l) }()
	return s
}

// Done is closed, or has the error, when the server has ended by itself.
func (s *Server) Done() <-chan error { return s.done }

// Close ends the server: it takes no more connections, waits a few seconds for the requests that are being answered,
// then closes their connections and waits until their handlers have returned.
func (s *Server) Close() error {
	ctx, cancel := context.WithTimeout(context.Background(), drainTime)
	defer cancel()
	err := s.http.Shutdown(ctx)
	if errors.Is(err, context.DeadlineExceeded) {
		err = s.http.Close()
	}
	s.inside.Wait()
	return err
}
