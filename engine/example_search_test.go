// SPDX-License-Identifier: Apache-2.0

package engine_test

import (
	"context"
	"fmt"
	"html/template"
	"log"
	"net/http"
	"net/http/httptest"

	"github.com/seine-crawler/seine/engine"
)

// Search inside an http.Handler. With SearchOptions.HTML the text of a snippet is escaped and the marks are not, so a
// template may take it as HTML. Everything else of a hit is plain text, which the template escapes.
func ExampleEngine_Search() {
	site := newDemo()
	defer site.Close()
	e, err := engine.Open(engine.Options{Dir: site.Dir, AllowPrivate: true, Delay: -1})
	if err != nil {
		log.Fatal(err)
	}
	defer e.Close()
	seeds := engine.InjectOptions{URLs: []string{site.URL}}
	if _, err := e.Crawl(context.Background(), engine.CrawlOptions{Inject: seeds}); err != nil {
		log.Fatal(err)
	}

	page := template.Must(template.New("hits").Funcs(template.FuncMap{
		"snippet": func(h engine.Hit) template.HTML { return template.HTML(h.Snippet) },
	}).Parse("{{range .Hits}}<h2>{{.Title}}</h2><p>{{snippet .}}</p>{{else}}nothing found{{end}}\n"))
	handler := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		o := engine.SearchOptions{HTML: true, MarkStart: "<mark>", MarkEnd: "</mark>"}
		found, err := e.Search(r.Context(), r.FormValue("q"), o)
		if err != nil {
			http.Error(w, "the search failed", http.StatusInternalServerError)
			return
		}
		if err := page.Execute(w, found); err != nil {
			log.Print(err)
		}
	})

	w := httptest.NewRecorder()
	handler.ServeHTTP(w, httptest.NewRequest("GET", "/?q=float", nil))
	fmt.Print(w.Body)
	// Output:
	// <h2>Storm &lt;9 March&gt;</h2><p>The storm left no mesh &amp; no <mark>float</mark> whole.</p>
}
