// SPDX-License-Identifier: Apache-2.0

package web

import (
	"context"
	"net"
	"net/http"
	"testing"
)

// reading is a handler that reads until it is told to end.
type reading struct {
	http.Handler
	begun, ended chan struct{}
}

func (r reading) Warm(ctx context.Context) {
	close(r.begun)
	<-ctx.Done()
	close(r.ended)
}

// TestWarm: a server has its handler read what visitors will need before any comes, and waits for that when it ends.
func TestWarm(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	r := reading{http.NotFoundHandler(), make(chan struct{}), make(chan struct{})}
	s := Start(l, r)
	<-r.begun
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	select {
	case <-r.ended:
	default:
		t.Error("the server ended before its handler did")
	}
	var _ warmer = (*Handler)(nil)
}
