// SPDX-License-Identifier: Apache-2.0

package engine_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"

	"github.com/seine-crawler/seine/engine/policy"
	"github.com/seine-crawler/seine/storage"
)

// TestDenyCutsOff: a request to a host that comes to be denied is cut off, and does not count as failed. The server
// never answers; it waits until the client has gone.
func TestDenyCutsOff(t *testing.T) {
	for _, stuck := range []string{"/", "/robots.txt"} {
		deny := filepath.Join(t.TempDir(), "deny")
		write := func(text string) {
			if err := os.WriteFile(deny, []byte(text), 0o644); err != nil {
				t.Error(err)
			}
		}
		write("# nobody yet\n")
		gone := make(chan struct{})
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path != stuck {
				http.NotFound(w, r)
				return
			}
			write("127.0.0.1\n")
			<-r.Context().Done()
			close(gone)
		}))
		defer s.Close()
		o := siteOptions(t)
		o.LiveFilters = watchedHosts(t, deny)
		e := open(t, o)
		r, err := e.Crawl(context.Background(), crawlFrom(s.URL+"/"))
		if err != nil {
			t.Fatal(err)
		}
		<-gone
		if r.Stopped != "done" || r.Failed != 0 || r.Fetched != 0 {
			t.Errorf("%s: %+v", stuck, r)
		}
		check, err := e.Inspect().Check(s.URL+"/", policy.NormalizeInject)
		if err != nil || check.Reason != "host_denied" || check.Known.Status != storage.StatusUnfetched {
			t.Errorf("%s: %+v, %v", stuck, check, err)
		}
		mustClose(t, e)
	}
}
