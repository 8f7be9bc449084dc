// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestExportAsSent: export prints the documents that other engines were sent, also where max-inlinks leaves out texts
// of links.
func TestExportAsSent(t *testing.T) {
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		switch r.URL.Path {
		case "/robots.txt":
			http.NotFound(w, r)
		case "/1":
			fmt.Fprint(w, `<title>one</title><p>mesh <a href="/2">from one</a>`)
		case "/2":
			fmt.Fprint(w, `<title>two</title><p>net`)
		default:
			fmt.Fprint(w, `<title>front</title><p>twine <a href="/1">one</a> <a href="/2">from the front</a>`)
		}
	}))
	defer site.Close()
	dir, sent := filepath.Join(t.TempDir(), "data"), filepath.Join(t.TempDir(), "sent.jsonl")
	seine := func(args ...string) string {
		t.Helper()
		var out, errs bytes.Buffer
		if status := run(append(args, "--dir", dir), strings.NewReader(""), &out, &errs); status != 0 {
			t.Fatal(errs.String())
		}
		return took.ReplaceAllString(out.String(), "${1}TIME$2")
	}
	settings := []string{"--allow-private", "--delay", "0s", "--quiet"}
	seine(append([]string{"crawl", site.URL + "/"}, settings...)...)
	one := []string{"--set", "max-inlinks=1"}
	seine(append([]string{"index", "--index-to", "jsonl=" + sent}, one...)...)
	text, err := os.ReadFile(sent)
	if err != nil {
		t.Fatal(err)
	}
	want := strings.SplitAfter(took.ReplaceAllString(string(text), "${1}TIME$2"), "\n")
	got := strings.SplitAfter(seine(append([]string{"export", "--format", "jsonl"}, one...)...), "\n")
	slices.Sort(want)
	slices.Sort(got)
	if len(want) != 4 || !slices.Equal(got, want) { // the last is empty
		t.Errorf("exported:\n%s\nsent:\n%s", got, want)
	}
	if all := seine("export", "--format", "jsonl"); slices.Equal(strings.SplitAfter(all, "\n"), got) {
		t.Error("max-inlinks has no effect")
	}
}
