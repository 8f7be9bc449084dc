// SPDX-License-Identifier: Apache-2.0

package engine_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/seine-crawler/seine/engine"
	"github.com/seine-crawler/seine/engine/policy"
	"github.com/seine-crawler/seine/storage/urlkey"
)

// TestNormalizerScopes: seeds, links and redirects go through chains of their own. Without one, they go through the
// common chain.
func TestNormalizerScopes(t *testing.T) {
	var mu sync.Mutex
	var asked []string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		asked = append(asked, r.URL.RequestURI())
		mu.Unlock()
		switch r.URL.Path {
		case "/robots.txt":
			http.NotFound(w, r)
		case "/redirect":
			http.Redirect(w, r, "/target", http.StatusFound)
		default:
			w.Header().Set("Content-Type", "text/html")
			fmt.Fprint(w, `<a href=redirect>a</a><a href=page>b</a>`)
		}
	}))
	defer server.Close()
	mark := func(with string) policy.URLNormalizers {
		return policy.URLNormalizers{policy.URLNormalizerFunc(func(u urlkey.URL) (urlkey.URL, error) {
			if u.Path() == "/redirect" { // which knows no query
				return u, nil
			}
			return u.Resolve("?" + with)
		})}
	}
	for name, c := range map[string]struct {
		scopes policy.NormalizerScopes
		want   []string
	}{
		"none": {nil, []string{"/?all", "/page?all", "/redirect", "/robots.txt", "/target?all"}},
		"each": {
			policy.NormalizerScopes{
				policy.NormalizeInject:  mark("seed"),
				policy.NormalizeOutlink: mark("link"),
				policy.NormalizeFetcher: mark("redirect"),
			},
			[]string{"/?seed", "/page?link", "/redirect", "/robots.txt", "/target?redirect"},
		},
		"links are left alone": {
			policy.NormalizerScopes{policy.NormalizeOutlink: nil},
			[]string{"/?all", "/page", "/redirect", "/robots.txt", "/target?all"},
		},
	} {
		asked = nil
		e := open(t, engine.Options{
			Dir: t.TempDir(), Memory: 64 << 20, Delay: -1, AllowPrivate: true,
			Normalizers: mark("all"), NormalizerScopes: c.scopes,
		})
		if _, err := e.Crawl(context.Background(), crawlFrom(server.URL)); err != nil {
			t.Fatal(err)
		}
		check, err := e.Inspect().Check(server.URL+"/x", policy.NormalizeOutlink)
		if err != nil {
			t.Fatal(err)
		}
		if want := server.URL + strings.Replace(c.want[1], "page", "x", 1); check.Canonical != want {
			t.Errorf("%s: check url says %s, want %s", name, check.Canonical, want)
		}
		mustClose(t, e)
		slices.Sort(asked)
		if !slices.Equal(asked, c.want) {
			t.Errorf("%s: requested %v, want %v", name, asked, c.want)
		}
	}
}
