// SPDX-License-Identifier: Apache-2.0

package web

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/seine-crawler/seine/engine"
)

// get reads an address of the server of a site.
func (s *site) get(path string) (status int, text string) {
	s.t.Helper()
	r, err := http.Get(strings.TrimSuffix(s.api, apiPath) + path)
	if err != nil {
		s.t.Fatal(err)
	}
	defer r.Body.Close()
	b, err := io.ReadAll(r.Body)
	must(s.t, err)
	if int64(len(b)) != r.ContentLength && strings.Contains(path, "search?") {
		s.t.Errorf("%s: %d bytes, Content-Length %d", path, len(b), r.ContentLength)
	}
	return r.StatusCode, string(b)
}

// TestKeptAnswers: what was asked before is answered from memory, byte for byte, until a deletion or new pages change
// the index; what depends on more than the index never is.
func TestKeptAnswers(t *testing.T) {
	s := newSite(t)
	keeps := func(path string) bool {
		t.Helper()
		used, _ := s.e.Answers().Bytes()
		status, first := s.get(path)
		after, _ := s.e.Answers().Bytes()
		if again, second := s.get(path); status != http.StatusOK || again != status || after > used && first != second {
			t.Errorf("%s: status %d, then %d; %d bytes kept\n%s\n%s", path, status, again, after-used, first, second)
		}
		return after > used
	}
	const api, page = apiPath + "/search?q=mesh", "/?q=mesh"
	for path, want := range map[string]bool{
		api: true, page: true, "/": true, api + "&facets=lang": true,
		api + "&explain=true": false, api + "&freshness_seconds=3600": false, page + "&explain=1": false,
	} {
		if got := keeps(path); got != want {
			t.Errorf("%s: kept: %t", path, got)
		}
	}
	refused, _ := s.get(apiPath + "/search?q=mesh&limit=x")
	if again, _ := s.get(apiPath + "/search?q=mesh&limit=x"); refused != 400 || again != 400 {
		t.Errorf("a refusal: status %d, then %d", refused, again)
	}
	if _, err := s.e.Delete(context.Background(), s.url+"/mend.html", s.url+"/copy.html"); err != nil {
		t.Fatal(err)
	}
	if used, _ := s.e.Answers().Bytes(); used != 0 {
		t.Errorf("%d bytes are kept of what was before a deletion", used)
	}
	for _, path := range []string{api, page, api + "&facets=lang"} {
		if _, text := s.get(path); strings.Contains(text, "Mending") {
			t.Errorf("%s shows what is deleted", path)
		}
	}
	seeds := engine.InjectOptions{URLs: []string{s.url + "/mend.html"}}
	if _, err := s.e.Crawl(context.Background(), engine.CrawlOptions{Inject: seeds}); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{api, page} {
		if _, text := s.get(path); !strings.Contains(text, "Mending") {
			t.Errorf("%s lacks what was crawled again", path)
		}
	}
}

// TestFlights: who asks for an answer that is being made gets that one; if there is none to keep, everybody makes one.
func TestFlights(t *testing.T) {
	s := newSite(t)
	h := New(s.e, Options{})
	for _, kept := range []bool{true, false} {
		first, _, ok := h.answeringOf(t.Context(), "test", strconv.FormatBool(kept))
		if ok {
			t.Fatal("there is an answer before one was made")
		}
		const others = 5
		got := make(chan string, others)
		var asking sync.WaitGroup
		for range others {
			asking.Go(func() {
				a, body, ok := h.answeringOf(t.Context(), "test", strconv.FormatBool(kept))
				defer a.end()
				got <- fmt.Sprint(ok, string(body))
			})
		}
		canceled, cancel := context.WithCancel(t.Context())
		cancel()
		late, _, ok := h.answeringOf(canceled, "test", strconv.FormatBool(kept))
		if late.end(); ok {
			t.Error("who waits no longer has an answer")
		}
		want := "false"
		if kept {
			first.keep([]byte("it"))
			want = "trueit"
		}
		first.end()
		for range others {
			if text := <-got; text != want {
				t.Errorf("kept %t: another got %q, want %q", kept, text, want)
			}
		}
		asking.Wait()
	}
	if n := len(h.flights.byKey); n != 0 {
		t.Errorf("%d are left", n)
	}
}

// TestFlightsRefused: when the request that makes an answer is refused, those that wait for it are, too.
func TestFlightsRefused(t *testing.T) {
	s := newSite(t)
	h := New(s.e, Options{})
	making, refuse := make(chan bool), make(chan bool)
	overloaded := func() ([]byte, bool, error) {
		making <- true
		<-refuse
		return nil, false, busy()
	}
	all := make(chan error, 6)
	go func() {
		_, err := h.answer(t.Context(), overloaded, "test")
		all <- err
	}()
	<-making
	of, _, other := h.flights.join("test\x00tcp\x00")
	if !other {
		t.Fatal("the answer is not being made")
	}
	close(refuse)
	<-of.over
	if err := <-all; err == nil || !of.refused {
		t.Errorf("the first: %v, the flight is refused: %t", err, of.refused)
	}
	h.flights.byKey["test\x00tcp\x00"] = of // as for those that wait
	_, err := h.answer(t.Context(), overloaded, "test")
	var p *Problem
	if !errors.As(err, &p) || p.Status != http.StatusServiceUnavailable {
		t.Errorf("one that waited: %v", err)
	}
}

// TestFlightsWrong: a request that is wrong itself is no sign of too much to do: those that ask the same learn what is
// wrong, too.
func TestFlightsWrong(t *testing.T) {
	s := newSite(t)
	h := New(s.e, Options{})
	making, goOn := make(chan bool), make(chan bool)
	all := make(chan error, 1)
	go func() {
		_, err := h.answer(t.Context(), func() ([]byte, bool, error) {
			making <- true
			<-goOn
			return nil, false, wrongParameter("cursor", "it is none")
		}, "test")
		all <- err
	}()
	<-making
	of, _, _ := h.flights.join("test\x00tcp\x00")
	close(goOn)
	if err := <-all; err == nil || of.refused {
		t.Errorf("%v; the others are refused: %t", err, of.refused)
	}
}

// TestFlightsAfter: who waited for an answer in vain and is refused then has nobody else refused that waited, too.
func TestFlightsAfter(t *testing.T) {
	h := New(opened(t, t.TempDir()), Options{})
	of := &flight{over: make(chan struct{})}
	close(of.over)
	h.flights.byKey["test\x00tcp\x00"] = of // as for those that wait
	_, err := h.answer(t.Context(), func() ([]byte, bool, error) { return nil, false, busy() }, "test")
	if err == nil || of.refused {
		t.Errorf("%v; the others are refused: %t", err, of.refused)
	}
}
