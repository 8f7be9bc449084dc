// SPDX-License-Identifier: Apache-2.0

package engine_test

import (
	"testing"

	"github.com/seine-crawler/seine/engine"
)

// TestGeneratePerAddress: hosts that fetches found at one address share the bound of addresses of a fetchlist.
func TestGeneratePerAddress(t *testing.T) {
	n := newNames(t, map[string]string{"a.test/": "<p>a", "b.test/": "<p>b", "c.test/": "<p>c"})
	n.hosts["b.test"] = n.hosts["a.test"]
	e := open(t, n.options(dataDir(t)))
	defer mustClose(t, e)
	c := engine.CrawlOptions{Inject: n.seeds("a.test/", "b.test/", "c.test/")}
	if _, err := e.Crawl(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	r, err := e.Generate(t.Context(), engine.GenerateOptions{AddDays: 40, MaxPerAddress: 1, DryRun: true})
	if err != nil || r.Due != 3 || r.Selected != 2 || r.Held["max_per_address"] != 1 {
		t.Errorf("%s, %v", r, err)
	}
}
