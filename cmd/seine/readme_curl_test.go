// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/seine-crawler/seine/engine/web"
)

// TestReadmeCurl: the curl lines of the README succeed on a server beside a crawl, and there is one for each operation
// of the API. They need curl.
func TestReadmeCurl(t *testing.T) {
	site, dir := crawledSite(t)
	work := t.TempDir()
	if err := os.Rename(dir, filepath.Join(work, "seine-data")); err != nil {
		t.Fatal(err)
	}
	dir = filepath.Join(work, "seine-data")
	e, end := beginPausedCrawl(t, dir)
	defer end()
	token, err := web.Token(dir)
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := web.Start(l, web.New(e, web.Options{Token: token}))
	defer s.Close()
	whole := ""
	for _, block := range blocks(t, "sh") {
		if !strings.Contains(block, "curl ") {
			continue
		}
		whole += block
		block = strings.NewReplacer(
			"http://127.0.0.1:8080", "http://"+l.Addr().String(), "http://docs.example", site,
			"host=docs.example", "host="+strings.TrimPrefix(site, "http://"),
		).Replace(block)
		cmd := exec.Command("sh", "-euc", "curl() { command curl -sS --fail-with-body --globoff \"$@\"; }\n"+block)
		var out bytes.Buffer
		cmd.Dir, cmd.Stdout, cmd.Stderr = work, &out, &out
		if err := cmd.Run(); err != nil {
			t.Errorf("%v:\n%s", err, out.String())
		}
	}
	for path := range web.Description("")["paths"].(map[string]map[string]any) {
		path, _, _ = strings.Cut(path, "{")
		if !strings.Contains(whole, "$API"+path) && !strings.Contains(whole, "\nchange "+path+" ") {
			t.Errorf("README has no curl line for %s", path)
		}
	}
}
