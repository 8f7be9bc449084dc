// SPDX-License-Identifier: Apache-2.0

package urlkey_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/seine-crawler/seine/storage/urlkey"
)

func TestCanonicalForm(t *testing.T) {
	f := func(raw, want string) {
		t.Helper()
		u, err := urlkey.Parse(raw)
		if err != nil {
			t.Fatalf("Parse(%q): %v", raw, err)
		}
		if u.String() != want {
			t.Errorf("Parse(%q) = %q, want %q", raw, u, want)
		}
	}
	f("http://example.com", "http://example.com/")
	f(" HTTP://Docs.Python.org:80/3/../3/%7ea?b#c ", "http://docs.python.org/3/~a?b")
	f("https://example.com:443/", "https://example.com/")
	f("https://example.com:80/", "https://example.com:80/")
	f("http://user:pw@example.com/", "http://example.com/")
	f("http://example.com./x", "http://example.com/x")
	f("http://example.com/a/./b/../c", "http://example.com/a/c")
	f("http://example.com/a/%2e%2E/c", "http://example.com/c")
	f("http://example.com/a/..", "http://example.com/")
	f("http://example.com/%e4%b8%ad", "http://example.com/%E4%B8%AD")
	f("http://example.com/中", "http://example.com/%E4%B8%AD")
	f("http://example.com/a b", "http://example.com/a%20b")
	f("http://example.com/100%", "http://example.com/100%25")
	f("http://example.com/a\\b", "http://example.com/a/b")
	f("http:\\\\example.com\\x", "http://example.com/x")
	f("http://ex\tample.com/\nx", "http://example.com/x")
	f("http://bücher.example/", "http://xn--bcher-kva.example/")
	f("http://faß.de/", "http://xn--fa-hia.de/")
	f("http://127.1/", "http://127.0.0.1/")
	f("http://0x7f.1/", "http://127.0.0.1/")
	f("http://1.0xab/", "http://1.0.0.171/")
	f("http://0x.0x/", "http://0.0.0.0/")
	f("http://2130706433/", "http://127.0.0.1/")
	f("http://①②⑦.0.0.1/", "http://127.0.0.1/")
	f("http://[::1]:8080/", "http://[::1]:8080/")
	f("http://[0:0:0:0:0:0:0:1]/", "http://[::1]/")
	f("http://[::ffff:127.0.0.1]/", "http://[::ffff:7f00:1]/")
	f("http://example.com/?", "http://example.com/?")
	f("http://example.com?q", "http://example.com/?q")
	f("http://example.com/a?b?c/../d", "http://example.com/a?b?c/../d")
	f("http://example.com//a//b", "http://example.com//a//b")
	f("http://example.com/\xff", "http://example.com/%EF%BF%BD")
}

func TestRefused(t *testing.T) {
	for _, raw := range []string{
		"", "example.com", "ftp://example.com/", "javascript:alert(1)", "mailto:a@b", "http://", "http:///",
		"http://a b/", "http://a%00b/", "http://example.com:65536/", "http://example.com:x/", "http://[::1",
		"http://[fe80::1%eth0]/", "http://256.1.1.1/", "http://1.2.3.4.5/", "http://xn--\u00e4.com/",
		"http://a%2fb/", "http://\u00ad/", "http://h/" + strings.Repeat("a", 2100),
	} {
		u, err := urlkey.Parse(raw)
		if err == nil {
			t.Errorf("Parse(%.60q) = %q, want an error", raw, u)
		} else if _, ok := err.(*urlkey.Error); !ok {
			t.Errorf("Parse(%.60q): error is a %T", raw, err)
		}
	}
}

func TestResolve(t *testing.T) {
	base, err := urlkey.Parse("https://example.com:8443/a/b/c.html?q=1")
	if err != nil {
		t.Fatal(err)
	}
	f := func(ref, want string) {
		t.Helper()
		u, err := base.Resolve(ref)
		if err != nil {
			t.Fatalf("Resolve(%q): %v", ref, err)
		}
		if u.String() != want {
			t.Errorf("Resolve(%q) = %q, want %q", ref, u, want)
		}
		if again, err := urlkey.Parse(want); err != nil || again != u {
			t.Errorf("Parse(%q) = %#v, %v; Resolve made %#v", want, again, err, u)
		}
	}
	f("", "https://example.com:8443/a/b/c.html?q=1")
	f("#top", "https://example.com:8443/a/b/c.html?q=1")
	f("d.html", "https://example.com:8443/a/b/d.html")
	f("d/e.html?x=a.b/..#f", "https://example.com:8443/a/b/d/e.html?x=a.b/..")
	f("../d", "https://example.com:8443/a/d")
	f("../../../../d", "https://example.com:8443/d")
	f(".", "https://example.com:8443/a/b/")
	f("..", "https://example.com:8443/a/")
	f("/d", "https://example.com:8443/d")
	f("//other.example/x", "https://other.example/x")
	f("\\\\other.example\\x", "https://other.example/x")
	f("?x", "https://example.com:8443/a/b/c.html?x")
	f("https:d", "https://example.com:8443/a/b/d")
	f("http:d", "http://d/")
	f("http://h", "http://h/")
	f("a:b"[1:], "https://example.com:8443/a/b/:b")
	f("./a:b", "https://example.com:8443/a/b/a:b")
	f("d/a:b", "https://example.com:8443/a/b/d/a:b")
	f("d?a:b", "https://example.com:8443/a/b/d?a:b")
	f(".hidden", "https://example.com:8443/a/b/.hidden")
	f("...", "https://example.com:8443/a/b/...")
	f("a%2Fb", "https://example.com:8443/a/b/a%2Fb")
	f(strings.Repeat("../", 100)+"x", "https://example.com:8443/x")
	for _, ref := range []string{"mailto:x", "a:b", "javascript:void(0)", "data:,x"} {
		if u, err := base.Resolve(ref); err == nil {
			t.Errorf("Resolve(%q) = %q, want an error", ref, u)
		}
	}
	if _, err := base.Resolve(strings.Repeat("../", 1e5) + "x"); err == nil {
		t.Error("a reference of 300,000 bytes was accepted")
	}
}

// TestLongLabels: a label with characters beyond ASCII is no longer than any of DNS can be, because to encode one takes
// time that grows with the square of its length.
func TestLongLabels(t *testing.T) {
	var label strings.Builder
	for r := '\u4e00'; r < '\u4e00'+126; r++ {
		label.WriteRune(r)
	}
	for _, dot := range []string{".", "\u3002", "\uff0e", "\uff61"} {
		if u, err := urlkey.Parse("http://" + label.String() + dot + label.String() + dot + "example/"); err != nil {
			t.Errorf("%s, %v", u, err)
		}
		u, err := urlkey.Parse("http://example" + dot + label.String() + "\u4dff" + dot + "example/")
		if err == nil {
			t.Errorf("a label of 127 characters: %s", u)
		}
	}
}

func TestKeys(t *testing.T) {
	var memo urlkey.DomainMemo
	var spelled urlkey.URLMemo
	f := func(raw, key, host, hostName, domain string) {
		t.Helper()
		u, err := urlkey.Parse(raw)
		if err != nil {
			t.Fatal(err)
		}
		k := u.Key()
		hostOfKey := string(urlkey.HostKeyOf([]byte(k)))
		if string(k) != key || string(k.HostKey()) != host || u.HostKey() != k.HostKey() || hostOfKey != host {
			t.Errorf("%s: key %q host %q, want %q %q", raw, k, k.HostKey(), key, host)
		}
		if scheme := urlkey.SchemeOf([]byte(k)); scheme != u.Scheme() {
			t.Errorf("%s: scheme %q", raw, scheme)
		}
		if k.HostKey().String() != hostName || k.HostKey().DomainKey() != domain {
			t.Errorf("%s: host %q, domain key %q, want %q, %q",
				raw, k.HostKey(), k.HostKey().DomainKey(), hostName, domain)
		}
		for range 2 {
			if got, err := spelled.AppendURL([]byte("x"), []byte(k)); err != nil || string(got) != "x"+u.String() {
				t.Errorf("%s: key %q gives %q by the memo, %v", raw, k, got, err)
			}
		}
		if got := memo.DomainKey([]byte(k)); got != domain {
			t.Errorf("%s: domain key %q by the memo, want %q", raw, got, domain)
		}
		if back, err := k.URL(); err != nil || back != u {
			t.Errorf("%s: key %q gives %q, %v", raw, k, back, err)
		}
	}
	f("https://docs.python.org/3/library/",
		"org,python,docs,)/3/library/ https", "org,python,docs,)", "docs.python.org", "org,python,")
	f("http://example.com:8080/a?b",
		"com,example,:8080)/a?b http", "com,example,:8080)", "example.com:8080", "com,example,")
	f("http://www.bbc.co.uk/", "uk,co,bbc,www,)/ http", "uk,co,bbc,www,)", "www.bbc.co.uk", "uk,co,bbc,")
	f("http://127.0.0.1/", "127.0.0.1,)/ http", "127.0.0.1,)", "127.0.0.1", "127.0.0.1,)")
	f("http://[::1]:81/", "[::1],:81)/ http", "[::1],:81)", "[::1]:81", "[::1],:81)")
	f("http://localhost/a)b", "localhost,)/a)b http", "localhost,)", "localhost", "localhost,")
	f("http://github.io/", "io,github,)/ http", "io,github,)", "github.io", "io,github,")
	f("http://a.github.io/", "io,github,a,)/ http", "io,github,a,)", "a.github.io", "io,github,a,")
	f("http://github.io:81/", "io,github,:81)/ http", "io,github,:81)", "github.io:81", "io,github,")
	for _, bad := range []string{"", "no key", "com,a,)/x ftp", ",)/ http", "com,a,:x)/ http"} {
		if got, err := spelled.AppendURL(nil, []byte(bad)); err == nil {
			t.Errorf("%q gives %q by the memo", bad, got)
		}
	}
	if got := memo.DomainKey([]byte("no key")); got != "" {
		t.Errorf("what is no key has the domain key %q", got)
	}
}

// urls draws URLs that often share host and path.
func urls(t *rapid.T, label string) urlkey.URL {
	scheme := rapid.SampledFrom([]string{"http", "https"}).Draw(t, label+"scheme")
	host := rapid.SampledFrom([]string{
		"a.com", "b.a.com", "c.b.a.com", "a-b.com", "aa.com", "x.co.uk", "10.0.0.1", "[::1]", "localhost", "1a.com",
	}).Draw(t, label+"host")
	port := rapid.SampledFrom([]string{"", "", ":81", ":8080", ":443", ":80"}).Draw(t, label+"port")
	path := rapid.StringMatching(`(/[ab)!,. :~%-]{0,3}){1,3}(\?[a=&) ]{0,3})?`).Draw(t, label+"path")
	u, err := urlkey.Parse(scheme + "://" + host + port + path)
	if err != nil {
		t.Fatalf("%v", err)
	}
	return u
}

func TestKeyProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var all []urlkey.URL
		for range 30 {
			all = append(all, urls(t, ""))
		}
		for _, u := range all {
			if again, err := urlkey.Parse(u.String()); err != nil || again != u {
				t.Fatalf("Parse(%q) = %q, %v", u, again, err)
			}
			if back, err := u.Key().URL(); err != nil || back != u {
				t.Fatalf("%q: key %q gives %q, %v", u, u.Key(), back, err)
			}
		}
		slices.SortFunc(all, func(a, b urlkey.URL) int { return strings.Compare(string(a.Key()), string(b.Key())) })
		seen := map[urlkey.HostKey]bool{}
		var last urlkey.HostKey
		for _, u := range all {
			if h := u.HostKey(); h != last {
				if seen[h] {
					t.Fatalf("keys of %q are not contiguous", h)
				}
				seen[h], last = true, h
			}
		}
	})
}

func FuzzParse(f *testing.F) {
	for _, s := range []string{
		"http://a/", "https://xn--a/", "http://[::1]:1/%41%zz?#", "HTTP:\\\\a\\..\\b", "http://0x.0x.0/",
		"http://a/%2e./.%2E/", "http://ａ.com/",
	} {
		f.Add(s, "../x?y")
	}
	f.Fuzz(func(t *testing.T, s, ref string) {
		u, err := urlkey.Parse(s)
		if err != nil {
			return
		}
		check(t, u)
		if v, err := u.Resolve(ref); err == nil {
			check(t, v)
		}
	})
}

func check(t *testing.T, u urlkey.URL) {
	t.Helper()
	if again, err := urlkey.Parse(u.String()); err != nil || again != u {
		t.Fatalf("Parse(%q) = %q, %v", u, again, err)
	}
	for _, c := range []byte(u.String()) {
		if c <= ' ' || c > '~' {
			t.Fatalf("%q holds byte %#x", u, c)
		}
	}
	if back, err := u.Key().URL(); err != nil || back != u {
		t.Fatalf("%q: key %q gives %q, %v", u, u.Key(), back, err)
	}
}

func BenchmarkResolve(b *testing.B) {
	base, _ := urlkey.Parse("https://docs.python.org/3/library/asyncio.html")
	refs := []string{
		"asyncio-task.html", "../reference/index.html#top", "/3/whatsnew/3.11.html",
		"https://peps.python.org/pep-0008/",
	}
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		if _, err := base.Resolve(refs[i%len(refs)]); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkAppendKey(b *testing.B) {
	u, _ := urlkey.Parse("https://docs.python.org/3/library/asyncio-task.html")
	var dst []byte
	b.ReportAllocs()
	for b.Loop() {
		dst = u.AppendKey(dst[:0])
	}
}

// FuzzResolve: the fast path and the full parser agree. A leading tab, which parsing ignores, disables the fast path.
func FuzzResolve(f *testing.F) {
	for _, ref := range []string{
		"a/b.html", "../x", "./../../x?q=../", "/a:b", "a:b", "?x", "#y", "", "..", "../..", ".//x", "..//x",
		"x/../y", "http://b.example/x?y", "https:x", "h", "httpx://y/zzzzz", "a?b?c:d#e", "../:x", "./a:b",
	} {
		f.Add("http://a.example:8080/d/e/f?g", ref)
		f.Add("https://a.example/", ref)
	}
	var r urlkey.Resolver
	f.Fuzz(func(t *testing.T, page, ref string) {
		base, err := urlkey.Parse(page)
		if err != nil {
			return
		}
		fast, err1 := r.Resolve(&base, ref)
		full, err2 := base.Resolve("\t" + ref)
		if fast != full || (err1 == nil) != (err2 == nil) {
			t.Fatalf("%q on %s: %q %v, in full %q %v", ref, base, fast, err1, full, err2)
		}
	})
}

// TestSuffixes: a host's public suffix and top-level domain; addresses have neither.
func TestSuffixes(t *testing.T) {
	for host, want := range map[string][2]string{
		"www.bbc.co.uk": {"co.uk", "uk"}, "example.com:8080": {"com", "com"}, "localhost": {"localhost", "localhost"},
		"127.0.0.1:80": {}, "[::1]": {},
	} {
		h, err := urlkey.ParseHost(host)
		if err != nil {
			t.Fatal(err)
		}
		if got := [2]string{h.PublicSuffix(), h.TLD()}; got != want {
			t.Errorf("%s: %v, want %v", host, got, want)
		}
	}
}

// TestDomainMemo: keys of more hosts than a memo remembers, in any order, have their domains.
func TestDomainMemo(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var memo urlkey.DomainMemo
		for range 2000 {
			host := rapid.IntRange(0, 1500).Draw(t, "host")
			name := fmt.Sprintf("www.%s.h%d.%s", strings.Repeat("x", host%30), host, []string{"com", "co.uk"}[host%2])
			u, err := urlkey.Parse("http://" + strings.Replace(name, "..", ".", 1) + "/")
			if err != nil {
				t.Fatal(err)
			}
			if got, want := memo.DomainKey([]byte(u.Key())), u.HostKey().DomainKey(); got != want {
				t.Fatalf("%s: domain key %q by the memo, want %q", u, got, want)
			}
		}
	})
}

// BenchmarkDomainMemo asks for hosts in turn, as the pages that link to a page come from many.
func BenchmarkDomainMemo(b *testing.B) {
	var keys [][]byte
	for i := range 200 {
		u, err := urlkey.Parse(fmt.Sprintf("http://www.h%d.co.uk/", i))
		if err != nil {
			b.Fatal(err)
		}
		keys = append(keys, []byte(u.Key()))
	}
	for name, domain := range map[string]func(key []byte) string{
		"memo": new(urlkey.DomainMemo).DomainKey,
		"list": func(key []byte) string { return urlkey.Key(key).HostKey().DomainKey() },
	} {
		b.Run(name, func(b *testing.B) {
			for i := 0; b.Loop(); i++ {
				domain(keys[i%len(keys)])
			}
		})
	}
}

// TestDomainWalk: each registered domain has one number and one first host, also amazonaws.com, whose hosts stand
// around the domains of public suffixes below it.
func TestDomainWalk(t *testing.T) {
	names := []string{
		"amazonaws.com", "amazonaws.com:8080", "aws.amazonaws.com", "www.amazonaws.com", "z.www.amazonaws.com",
		"s3.amazonaws.com", "a.s3.amazonaws.com", "x.a.s3.amazonaws.com", "b.s3.amazonaws.com",
		"c.elb.amazonaws.com", "amazonaws.org", "example.com", "www.example.com", "a.github.io", "github.io",
		"b.github.io", "127.0.0.1", "[::1]", "localhost",
	}
	var walk urlkey.DomainWalk
	rapid.Check(t, func(t *rapid.T) {
		var hosts []urlkey.HostKey
		for _, name := range rapid.SliceOfDistinct(rapid.SampledFrom(names), rapid.ID[string]).Draw(t, "hosts") {
			u, err := urlkey.Parse("http://" + name + "/")
			if err != nil {
				t.Fatal(err)
			}
			hosts = append(hosts, u.HostKey())
		}
		slices.Sort(hosts)
		walk.Reset()
		numbers := map[string]int{}
		for i, h := range hosts {
			want, met := numbers[h.Domain()]
			if !met {
				want = len(numbers)
				numbers[h.Domain()] = want
			}
			if got, first := walk.Next(h); got != want || first == met {
				t.Fatalf("%s in %q: number %d, first %t, want %d, %t", h, hosts, got, first, want, !met)
			}
			for _, later := range hosts[i:] {
				if n, met := numbers[later.Domain()]; met && !walk.Within(n) {
					t.Fatalf("after %s, %s is not within %d", h, later, n)
				}
			}
		}
	})
}
