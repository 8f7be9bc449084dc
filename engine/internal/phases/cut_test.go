// SPDX-License-Identifier: Apache-2.0

package phases

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/seine-crawler/seine/engine/internal/admission"
	"github.com/seine-crawler/seine/storage/urlkey"
)

// TestPart: parts have every key once, no domain is in two of them unless it has more records than a part, and a part
// differs from an equal one by what cannot be cut at most.
func TestPart(t *testing.T) {
	checkFew(t, func(t *rapid.T) {
		w := newWorld(t, admission.Options{})
		defer w.close()
		var urls []string
		hosts := rapid.SampledFrom([]string{"example.com", "www.example.com", "a.org", "b.a.org", "amazonaws.com",
			"q.s3.amazonaws.com", "r.s3.amazonaws.com", "z.amazonaws.com", "10.0.0.1", "example.net",
			"x.example.net:81"})
		for range rapid.IntRange(1, 8).Draw(t, "hosts") {
			host := hosts.Draw(t, "host")
			for n := range rapid.IntRange(1, 9).Draw(t, "pages") {
				urls = append(urls, fmt.Sprintf("http://%s/%d", host, n))
			}
		}
		w.inject(urls...)
		records := w.records()
		all, parts := len(records), rapid.IntRange(1, 6).Draw(t, "parts")
		ofHost, ofDomain := map[urlkey.HostKey]int{}, map[string]int{}
		for key := range records {
			ofHost[key.HostKey()]++
			ofDomain[key.HostKey().DomainKey()]++
		}
		around := func(domain string) (n int) { // a domain with those below it
			for d, m := range ofDomain {
				if strings.HasPrefix(d, domain) {
					n += m
				}
			}
			return n
		}
		atom := 0 // the most that is not cut
		for h, n := range ofHost {
			if whole := around(h.DomainKey()); whole*parts <= all {
				n = whole
			}
			atom = max(atom, n)
		}
		in, found := map[string]int{}, 0 // domain → its part
		before := ""
		for i := 1; i <= parts; i++ {
			p, err := w.p.Part(context.Background(), i, parts)
			if err != nil {
				t.Fatal(err)
			}
			if p.From != before || (p.Until == "") != (i == parts) {
				t.Fatalf("part %d of %d is %v, the one before ends at %q", i, parts, p, before)
			}
			before = p.Until
			size := 0
			for key := range records {
				domain := key.HostKey().DomainKey()
				if !p.Has([]byte(key)) {
					continue
				}
				size++
				if other := in[domain]; other != 0 && other != i && around(domain)*parts <= all {
					t.Fatalf("%s with %d of %d records is in parts %d and %d of %d", domain, around(domain), all, other,
						i, parts)
				}
				in[domain] = i
			}
			if found += size; size > all/parts+1+atom || size+atom < all/parts {
				t.Fatalf("part %d of %d has %d of %d records; %d cannot be cut", i, parts, size, all, atom)
			}
		}
		if found != all {
			t.Fatalf("the parts have %d of %d records", found, all)
		}
	})
}

// TestDomainPart: a part is a registered domain with all below it, and nothing else is.
func TestDomainPart(t *testing.T) {
	p, err := DomainPart("example.com")
	if err != nil {
		t.Fatal(err)
	}
	for url, want := range map[string]bool{
		"http://example.com/": true, "https://www.example.com:81/x": true, "http://example.org/": false,
		"http://examplf.com/": false, "http://aexample.com/": false,
	} {
		if got := p.Has([]byte(keyOf(t, url))); got != want {
			t.Errorf("%s in %v: %t", url, p, got)
		}
	}
	for _, name := range []string{"www.example.com", "http://example.com/", ""} {
		if p, err := DomainPart(name); err == nil {
			t.Errorf("%q is %v", name, p)
		}
	}
}
