// SPDX-License-Identifier: Apache-2.0

package policy_test

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/seine-crawler/seine/engine/policy"
	"github.com/seine-crawler/seine/engine/policy/policytest"
	"github.com/seine-crawler/seine/storage/urlkey"
)

// TestHostsFilter: a line means a host and all below it, and nothing that only ends alike.
func TestHostsFilter(t *testing.T) {
	path := textFile(t, "hosts.txt", "# hosts\nexample.org\n\tBücher.example # a comment\n192.0.2.1\nports.example:8080\n.gov\nwww.deep.example.net.\n")
	denied, err := policy.NewDeniedHosts(path)
	if err != nil {
		t.Fatal(err)
	}
	allowed, err := policy.NewAllowedHosts(path)
	if err != nil {
		t.Fatal(err)
	}
	for host, entry := range map[string]string{"example.org": "example.org", "a.b.example.org": "example.org", "example.org:8080": "example.org", "notexample.org": "", "org": "", "example.org.evil": "",
		"www.bücher.example": "xn--bcher-kva.example", "192.0.2.1": "192.0.2.1", "192.0.2.10": "", "2.192.0.2.1.x": "", "ports.example": "", "ports.example:8080": "ports.example:8080", "ports.example:80801"[:18]: "ports.example:8080",
		"a.ports.example:8080": "", "whitehouse.gov": "gov", "gov.uk": "", "deep.example.net": "", "www.deep.example.net": "www.deep.example.net"} {
		u, err := urlkey.Parse("https://" + host + "/x,y)?z")
		if err != nil {
			t.Fatal(err)
		}
		wantDenied, wantAllowed := "", "host_not_allowed"
		if entry != "" {
			wantDenied, wantAllowed = "host_denied", ""
			entry = path + ": " + entry
		}
		if got := denied.Accept(u); got != wantDenied {
			t.Errorf("%s: denied %q, want %q", host, got, wantDenied)
		}
		if got := allowed.Accept(u); got != wantAllowed {
			t.Errorf("%s: allowed %q, want %q", host, got, wantAllowed)
		}
		if got := denied.Explain(u); got != entry {
			t.Errorf("%s: explained by %q, want %q", host, got, entry)
		}
	}
	policytest.URLFilter(t, denied, []string{"http://example.org/", "http://a.example/"})
	if err := os.WriteFile(path, []byte("other.example\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	u, _ := urlkey.Parse("http://example.org/")
	if changed, err := denied.Refresh(); !changed || err != nil || denied.Accept(u) != "" {
		t.Errorf("after a change: %t, %v, %q", changed, err, denied.Accept(u))
	}
	os.WriteFile(path, []byte("ok.example\na b\n"), 0o644)
	os.Chtimes(path, time.Time{}, time.Now().Add(time.Hour))
	if _, err := denied.Refresh(); err == nil || !strings.Contains(err.Error(), "hosts.txt, line 2") {
		t.Errorf("a broken list: %v", err)
	}
	if o, _ := urlkey.Parse("http://other.example/"); denied.Accept(o) == "" {
		t.Error("the old list does not hold")
	}
	if _, err := policy.NewDeniedHosts(path + ".missing"); err == nil {
		t.Error("a missing file is no error")
	}
}

func BenchmarkHostsFilter(b *testing.B) {
	var text strings.Builder
	for i := range 1_000_000 {
		fmt.Fprintf(&text, "host-%d.example\n", i)
	}
	f, err := policy.NewDeniedHosts(textFile(b, "hosts.txt", text.String()))
	if err != nil {
		b.Fatal(err)
	}
	u, _ := urlkey.Parse("https://www.host-1000001.example/some/path")
	for b.Loop() {
		if f.Accept(u) != "" {
			b.Fatal("refused")
		}
	}
}
