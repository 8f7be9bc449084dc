// SPDX-License-Identifier: Apache-2.0

package engine_test

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/seine-crawler/seine/engine"
)

// TestProxyNeedsContact: behind a proxy, which resolves names itself, a crawl without a contact fetches from loopback
// alone too, whether or not this machine can resolve a name.
func TestProxyNeedsContact(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	var asked []string
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		asked = append(asked, r.Host)
		mu.Unlock()
		if r.URL.Path == "/robots.txt" {
			w.WriteHeader(http.StatusNotFound)
			return
		}
		w.Header().Set("Content-Type", "text/html")
		w.Write([]byte("<p>a page of " + r.Host))
	}))
	defer proxy.Close()
	for _, c := range []struct {
		seeds   []string
		refused bool
	}{
		{[]string{"http://site.example/"}, true},
		{[]string{"http://localhost/", "http://site.example/"}, false},
	} {
		asked = nil
		o := engine.Options{
			Dir: t.TempDir(), AllowPrivate: true, Delay: time.Millisecond, NoIndex: true, Proxy: proxy.URL,
			NameServers: []netip.AddrPort{netip.MustParseAddrPort("127.0.0.1:9")}, // nobody
		}
		e := open(t, o)
		r, err := e.Crawl(t.Context(), engine.CrawlOptions{Inject: engine.InjectOptions{URLs: c.seeds}, Patience: 1})
		if errors.Is(err, engine.ErrNoContact) != c.refused {
			t.Errorf("%s: %v, %v", c.seeds, r, err)
		}
		at := func(host string) bool { return slices.Contains(asked, host) }
		if at("site.example") || at("localhost") == c.refused {
			t.Errorf("%s: the proxy was asked for pages of %s", c.seeds, strings.Join(asked, ", "))
		}
		mustClose(t, e)
	}
}
