// SPDX-License-Identifier: Apache-2.0

package engine_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/seine-crawler/seine/engine"
	"github.com/seine-crawler/seine/engine/policy"
	"github.com/seine-crawler/seine/storage"
)

// TestSignatures: the signature decides what is a duplicate, and a store keeps the one that it was made with.
func TestSignatures(t *testing.T) {
	text := "The lighthouse keeper wrote every evening which ships had passed, and every morning which had not come."
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		switch r.URL.Path {
		case "/":
			fmt.Fprint(w, "<a href=a>1</a><a href=b>2</a><a href=c>3</a><a href=d>4</a><a href=e>5</a>")
		case "/a", "/b": // the same text in two pages
			fmt.Fprintf(w, "<title>x</title><p id=%s>%s", r.URL.Path, text)
		case "/c": // nearly
			fmt.Fprintf(w, "<title>x</title><p>%s Once.", text)
		case "/d", "/e": // the same article under two menus
			fmt.Fprint(w, "<title>y</title><nav><ul><li><a href=/>Home</a>")
			fmt.Fprintf(w, "<li><a href=%s>%[1]s</a></ul></nav><main><article><h1>The keeper</h1>", r.URL.Path)
			fmt.Fprintf(w, "<p>%s</p><p>%[1]s %[1]s</p><p>%[1]s %[1]s %[1]s</p>", text)
			fmt.Fprint(w, "</article></main>")
		default:
			http.NotFound(w, r)
		}
	}))
	defer server.Close()
	for name, duplicates := range map[string]uint64{
		"": 2, "content": 2, "text": 1, "bytes": 0, "body": 0, "profile": 3,
	} {
		o := engine.Options{
			Dir: t.TempDir(), Memory: 64 << 20, Delay: -1, AllowPrivate: true, Scope: policy.ScopeHost, Signature: name,
		}
		e := open(t, o)
		if _, err := e.Crawl(context.Background(), crawlFrom(server.URL)); err != nil {
			t.Fatal(err)
		}
		stats, err := e.Inspect().Stats(context.Background(), false)
		if err != nil {
			t.Fatal(err)
		}
		if got := stats.Status[storage.StatusDuplicate]; got != duplicates {
			t.Errorf("signature %q: %d duplicates, want %d", name, got, duplicates)
		}
		mustClose(t, e)
		for again, good := range map[string]bool{"": true, "body": name == "body"} {
			o.Signature = again
			e, err := engine.Open(o)
			if good != (err == nil) || !good && !errors.Is(err, storage.ErrIdentity) {
				t.Errorf("made with %q, opened with %q: %v", name, again, err)
			}
			if err == nil {
				mustClose(t, e)
			}
		}
	}
	if _, err := engine.Open(engine.Options{Dir: t.TempDir(), Signature: "sha1"}); err == nil {
		t.Error("an unknown signature was taken")
	}
}
