// SPDX-License-Identifier: Apache-2.0

package policy_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/seine-crawler/seine/engine/policy"
	"github.com/seine-crawler/seine/engine/policy/policytest"
	"github.com/seine-crawler/seine/storage/urlkey"
)

const hostList = `# hosts
example.org
	Bücher.example # a comment
192.0.2.1
[2001:db8::1]
ports.example:8080
.gov
www.deep.example.net.
`

// TestHostsFilter: an entry means a host and all below it, and no host whose name only ends alike.
func TestHostsFilter(t *testing.T) {
	denied := must(policy.ParseDeniedHosts([]byte(hostList)))(t)
	allowed := must(policy.ParseAllowedHosts([]byte(hostList)))(t)
	var urls []string
	for host, entry := range map[string]string{
		"example.org": "example.org", "a.b.example.org": "example.org", "example.org:8080": "example.org",
		"notexample.org": "", "org": "", "example.org.evil": "",
		"www.bücher.example": "xn--bcher-kva.example",
		"192.0.2.1":          "192.0.2.1", "192.0.2.10": "", "2.192.0.2.1.x": "",
		"[2001:db8::1]": "[2001:db8::1]", "[2001:db8::1]:81": "[2001:db8::1]", "[2001:db8::2]": "",
		"ports.example": "", "ports.example:8080": "ports.example:8080", "ports.example:808": "",
		"a.ports.example:8080": "",
		"whitehouse.gov":       "gov", "gov.uk": "",
		"deep.example.net": "", "www.deep.example.net": "www.deep.example.net",
	} {
		u := parse(t, "https://"+host+"/x,y)?z")
		urls = append(urls, u.String())
		wantDenied, wantAllowed := "", "host_not_allowed"
		if entry != "" {
			wantDenied, wantAllowed = "host_denied", ""
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
	policytest.HostFilter(t, denied, urls)
	policytest.HostFilter(t, allowed, urls)
}

// TestHostsOfValues: a list of Go values is the same filter as a text.
func TestHostsOfValues(t *testing.T) {
	denied := must(policy.DenyHosts("ads.example", "Tracker.example:8080"))(t)
	allowed := must(policy.AllowHosts())(t)
	u, other := parse(t, "http://x.ads.example/"), parse(t, "http://example/")
	if denied.Accept(u) != "host_denied" || denied.Accept(other) != "" || allowed.Accept(other) != "host_not_allowed" {
		t.Errorf("%q, %q, %q", denied.Accept(u), denied.Accept(other), allowed.Accept(other))
	}
	for _, entries := range [][]string{{"a b"}, {"ok.example", ""}, {"a/b"}} {
		if _, err := policy.DenyHosts(entries...); err == nil || !strings.Contains(err.Error(), "is not a host") {
			t.Errorf("%q: %v", entries, err)
		}
	}
}

// TestFaultyHosts: an error names the lines, and no more than ten of them.
func TestFaultyHosts(t *testing.T) {
	fails(t, parser(policy.ParseDeniedHosts), "ok.example\na b\n", `line 2: "a b" is not a host`)
	fails(t, parser(policy.ParseDeniedHosts), strings.Repeat("x", 70_000), "line 1: ", "longer than 65536 bytes")
	_, err := policy.ParseAllowedHosts([]byte(strings.Repeat("a b\n", 100)))
	if err == nil || strings.Count(err.Error(), "line ") != 10 {
		t.Errorf("a hundred faults: %v", err)
	}
}

func BenchmarkHostsFilter(b *testing.B) {
	var text strings.Builder
	for i := range 1_000_000 {
		fmt.Fprintf(&text, "host-%d.example\n", i)
	}
	f, err := policy.WatchFile(textFile(b, "hosts.txt", text.String()), "denied hosts", policy.ParseDeniedHosts)
	if err != nil {
		b.Fatal(err)
	}
	u, _ := urlkey.Parse("https://www.host-1000001.example/some/path")
	b.ReportAllocs()
	for b.Loop() {
		if f.Accept(u) != "" {
			b.Fatal("refused")
		}
	}
}

// TestHostsOfOtherLists: a domain may be written as other lists, and the files of normalizers, write it. What no URL's
// host can be is an error.
func TestHostsOfOtherLists(t *testing.T) {
	denied := must(policy.ParseDeniedHosts([]byte("*.wild.example\n.dot.example\n")))(t)
	for host, want := range map[string]string{
		"wild.example": "host_denied", "a.b.wild.example": "host_denied", "dot.example": "host_denied", "example": "",
	} {
		if got := denied.Accept(parse(t, "http://"+host+"/")); got != want {
			t.Errorf("%s: %q, want %q", host, got, want)
		}
	}
	for _, entry := range []string{"*", "ads.*", "*ads.example", "a.*.example", "me@ads.example"} {
		fails(t, parser(policy.ParseAllowedHosts), entry, "line 1: ", "is not a host")
	}
	fails(t, parser(policy.ParseRules), "> *.example\n+.\n", "line 1: ", "want > and a host")
}
