// SPDX-License-Identifier: Apache-2.0

package engine_test

import (
	"context"
	"errors"
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

// TestNormalizerDrops: a normalizer drops URLs by an error, or by the zero URL, wherever they come from.
func TestNormalizerDrops(t *testing.T) {
	t.Parallel()
	s := newNames(t, map[string]string{
		"a.test/":     `<a href="/kept">1</a> <a href="/empty">2</a> <a href="/failed">3</a> <a href="/moved">4</a>`,
		"a.test/kept": "A mesh.", "a.test/moved": "-> /empty", "a.test/empty": "", "a.test/failed": "",
	})
	o := s.options(t.TempDir())
	o.Normalizers = policy.URLNormalizers{policy.URLNormalizerFunc(func(u urlkey.URL) (urlkey.URL, error) {
		switch u.Path() {
		case "/empty":
			return urlkey.URL{}, nil
		case "/failed":
			return u, errors.New("not this one")
		}
		return u, nil
	})}
	e := open(t, o)
	defer mustClose(t, e)
	ctx := context.Background()
	if _, err := e.Crawl(ctx, engine.CrawlOptions{Inject: s.seeds("a.test/", "a.test/empty")}); err != nil {
		t.Fatal(err)
	}
	var have []string
	for r, err := range e.Inspect().Records(ctx, engine.RecordFilter{}) {
		if err != nil {
			t.Fatal(err)
		}
		have = append(have, strings.TrimPrefix(r.URL, s.spell("HOST:a.test/")))
	}
	if want := []string{"", "kept", "moved"}; !slices.Equal(have, want) {
		t.Errorf("%q, want %q", have, want)
	}
	for _, path := range []string{"empty", "failed"} {
		c, err := e.Inspect().Check(s.spell("HOST:a.test/"+path), policy.NormalizeInject)
		if err != nil || c.Accepted || c.Reason == "" {
			t.Errorf("%s: %+v, %v", path, c, err)
		}
	}
}
