// SPDX-License-Identifier: Apache-2.0

package engine_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/seine-crawler/seine/engine"
	"github.com/seine-crawler/seine/engine/policy"
	"github.com/seine-crawler/seine/index"
	"github.com/seine-crawler/seine/storage"
)

// TestIndexFilterText: a filter may put another text in place of a page's without knowing what was content in it.
func TestIndexFilterText(t *testing.T) {
	story := strings.Repeat("The keeper wrote every evening which ships had passed the lighthouse and which had not come. ", 6)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		fmt.Fprintf(w, "<title>Log</title><nav><ul><li><a href=/>Home</a><li>Contact</ul></nav><main><article><h1>Log</h1><p>%s</p><p>%[1]s</p></article></main>", story)
	}))
	defer server.Close()
	told := false
	other := policy.IndexFilterFunc(func(d *index.Document, _ *storage.Record, _ *storage.ParseText) string {
		told = told || len(d.Content) > 0
		d.Text = "another word"
		return ""
	})
	e := open(t, engine.Options{Dir: t.TempDir(), Memory: 64 << 20, Delay: -1, AllowPrivate: true, IndexFilters: []policy.IndexFilter{other}})
	defer mustClose(t, e)
	if _, err := e.Crawl(context.Background(), engine.CrawlOptions{Inject: engine.InjectOptions{URLs: []string{server.URL}}}); err != nil {
		t.Fatal(err)
	}
	for words, want := range map[string]int{"another word": 1, "keeper": 0} {
		hits, err := e.Search(context.Background(), words, engine.SearchOptions{})
		if err != nil || hits.Total != want {
			t.Errorf("%q: %d found, %v", words, hits.Total, err)
		}
	}
	if !told {
		t.Error("the filter was not told what is content")
	}
}
