// SPDX-License-Identifier: Apache-2.0

package web_test

import (
	"context"
	"encoding/json"
	"fmt"
	"html/template"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"strings"

	"github.com/seine-crawler/seine/engine"
	"github.com/seine-crawler/seine/engine/web"
)

// searchApp is a search page of somebody else's, on the API alone: it knows the address of the API, and nothing of
// seine's packages.
func searchApp(api string) http.Handler {
	page := template.Must(template.New("").Parse(`<!doctype html><title>{{.Q}}</title>
<form><input name=q value="{{.Q}}"><button>Search</button></form>
{{with .Detail}}<p>{{.}}</p>{{else}}{{with .Q}}<p>{{$.Total}} found</p>{{end}}{{end}}
{{with .DidYouMean}}<p>Did you mean <a href="?q={{.}}">{{.}}</a>?</p>{{end}}
{{range .Hits}}<h2><a href="{{.URL}}">{{.Title}}</a></h2>
<p>{{.Snippet}}</p>
{{end}}
{{range .Facets}}<h3>{{.Name}}</h3>{{range .Values}}<a href="?q={{.Query}}">{{.Value}}</a> {{.Count}} {{end}}
{{end}}
{{with .Next}}<a href="?q={{$.Q}}&amp;cursor={{.}}">next page</a>{{end}}`))
	type answer struct {
		Q      string `json:"-"`
		Detail string `json:"detail"` // of a problem
		Total  int    `json:"total"`
		Hits   []struct {
			URL, Title string
			Snippet    template.HTML // escaped, since html=true
		} `json:"hits"`
		Facets []struct {
			Name   string
			Values []struct {
				Value, Query string
				Count        int
			}
		} `json:"facets"`
		DidYouMean string `json:"did_you_mean"`
		Next       string `json:"next"`
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		a := answer{Q: r.FormValue("q")}
		if a.Q != "" {
			v := url.Values{
				"q": {a.Q}, "html": {"true"}, "mark_start": {"<mark>"}, "mark_end": {"</mark>"},
				"facets": {"lang,type"}, "suggest": {"true"}, "limit": {"1"},
			}
			if c := r.FormValue("cursor"); c != "" {
				v.Set("cursor", c)
			}
			found, err := http.Get(api + "/search?" + v.Encode())
			if err == nil {
				defer found.Body.Close()
				err = json.NewDecoder(found.Body).Decode(&a)
			}
			if err != nil {
				a.Detail = "the search engine does not answer: " + err.Error()
			}
		}
		_ = page.Execute(w, &a) // the client went away
	})
}

// A search page on the API, in less than 60 lines: the function searchApp of example_test.go.
func ExampleNew() {
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/":
			fmt.Fprint(w, `<html lang=en><title>Nets</title><p>All about nets. <a href="/mend">Mending</a>`)
		case "/mend":
			fmt.Fprint(w, `<html lang=en><title>Mending nets</title><p>Find the torn mesh of nets & begin above it.`)
		default:
			http.NotFound(w, r)
		}
	}))
	defer site.Close()
	dir, err := os.MkdirTemp("", "searchapp-")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	e, err := engine.Open(engine.Options{Dir: dir, Memory: 64 << 20, AllowPrivate: true, Delay: -1})
	if err != nil {
		panic(err)
	}
	defer e.Close()
	seeds := engine.InjectOptions{URLs: []string{site.URL}}
	if _, err := e.Crawl(context.Background(), engine.CrawlOptions{Inject: seeds}); err != nil {
		panic(err)
	}
	face := httptest.NewServer(web.New(e, web.Options{}))
	defer face.Close()
	app := httptest.NewServer(searchApp(face.URL + "/api/v1"))
	defer app.Close()
	look := func(query string) {
		r, err := http.Get(app.URL + "/?" + query)
		if err != nil {
			panic(err)
		}
		defer r.Body.Close()
		text, _ := io.ReadAll(r.Body)
		for line := range strings.Lines(strings.ReplaceAll(string(text), site.URL, "http://docs.example")) {
			if line = strings.TrimSpace(line); line != "" && !strings.Contains(line, "<form>") {
				fmt.Println(line)
			}
		}
	}
	look("q=torn+nets")
	look("q=torn+nets&cursor=MQ")
	look("q=torn+nets&cursor=x")
	// Output:
	// <!doctype html><title>torn nets</title>
	// <p>2 found</p>
	// <h2><a href="http://docs.example/mend">Mending nets</a></h2>
	// <p>Find the <mark>torn</mark> mesh of <mark>nets</mark> &amp; begin above it.</p>
	// <h3>lang</h3><a href="?q=torn%20nets%20lang%3aen">en</a> 2
	// <h3>type</h3><a href="?q=torn%20nets%20type%3atext%2fhtml">text/html</a> 2
	// <a href="?q=torn%20nets&amp;cursor=MQ">next page</a>
	// <!doctype html><title>torn nets</title>
	// <p>2 found</p>
	// <h2><a href="http://docs.example/">Nets</a></h2>
	// <p>All about <mark>nets</mark>. Mending</p>
	// <h3>lang</h3><a href="?q=torn%20nets%20lang%3aen">en</a> 2
	// <h3>type</h3><a href="?q=torn%20nets%20type%3atext%2fhtml">text/html</a> 2
	// <!doctype html><title>torn nets</title>
	// <p>cursor: take next of the page before, and give no offset</p>
}
