// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"sync"
	"testing"

	"github.com/seine-crawler/seine/engine/fetch"
	"github.com/seine-crawler/seine/storage/urlkey"
	"github.com/seine-crawler/seine/storage/warc"
)

// silent is a server that answers when it is let.
type silent struct {
	t     *testing.T
	asked chan struct{}
	let   chan struct{}
}

func (s *silent) Fetch(context.Context, *fetch.Request) *fetch.Response {
	s.asked <- struct{}{}
	<-s.let
	r, err := fetch.StoredResponse([]byte("HTTP/1.1 200 OK\r\n\r\n"), []byte("User-agent: *\nDisallow: /no"), "")
	if err != nil {
		s.t.Error(err)
	}
	return r
}

// TestSilentRobots: while a server keeps its robots.txt to itself, hosts are written to hostdb and other
// visits of the host wait for the one request.
func TestSilentRobots(t *testing.T) {
	s := &silent{t, make(chan struct{}), make(chan struct{})}
	e, err := Open(Options{Dir: t.TempDir(), AllowPrivate: true, Protocol: s})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	if err := e.network(); err != nil {
		t.Fatal(err)
	}
	u, _ := urlkey.Parse("http://a.example/")
	var wg sync.WaitGroup
	for range 3 {
		wg.Go(func() {
			state, err := e.robotsFor(context.Background(), u, func(*warc.Exchange) error { return nil }, nil)
			if err != nil || state.rules.Allowed("/no") || !state.rules.Allowed("/yes") {
				t.Errorf("%+v, %v", state, err)
			}
		})
	}
	<-s.asked
	if err := e.hosts.flush(); err != nil { // hung for as long as the server, and all fetchers with it
		t.Fatal(err)
	}
	close(s.let)
	wg.Wait()
	select {
	case <-s.asked:
		t.Error("asked twice")
	default:
	}
}
