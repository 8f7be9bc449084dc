// SPDX-License-Identifier: Apache-2.0

package parse_test

import (
	"crypto/md5"
	"encoding/hex"
	"fmt"
	"math/bits"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/seine-crawler/seine/engine/parse"
)

// TestTextProfile compares TextProfileSignature with profiles derived manually from Nutch's rules and their MD5 from
// md5sum.
func TestTextProfile(t *testing.T) {
	for _, c := range []struct{ name, text, profile, sum string }{
		{"quant 2 drops single words", "The quick brown fox, the QUICK; the a to", "quick 2\nthe 2",
			"9e3ef347a44c843cefb7d5de48e64102"},
		{"no word occurs twice: quant 1", "fox brown", "brown 1\nfox 1", "1188020ebc1567c87e04e45b8f4a787d"},
		{"two characters are too few", "fox ab brown 12", "brown 1\nfox 1", ""},
		{"letters beyond ASCII, lower-cased", "Über über ÜBER abc", "über 2", ""},
		{"beyond the basic plane is a separator", "abc\U00010400def abc", "abc 2", ""},
		{"quant 4 at 350", strings.Repeat("aaa ", 350) + strings.Repeat("bbb ", 7) + strings.Repeat("ccc ", 3),
			"aaa 348\nbbb 4", ""},
	} {
		want := md5.Sum([]byte(c.profile))
		if c.sum != "" && hex.EncodeToString(want[:]) != c.sum {
			t.Errorf("%s: the test's own MD5 is wrong", c.name)
		}
		page := parse.Page{Text: []byte(c.text)}
		if got := parse.TextProfileSignature(&parse.Input{}, &page); got != parse.Signature(want) {
			t.Errorf("%s: signature %x, want that of %q, %x", c.name, got, c.profile, want)
		}
	}
	u := mustURL(t, "https://example.org/")
	for _, c := range []struct {
		body string
		want [16]byte
	}{{"body", md5.Sum([]byte("body"))}, {"", md5.Sum([]byte("https://example.org/"))}} {
		in := &parse.Input{URL: u, Body: []byte(c.body)}
		if got := parse.TextProfileSignature(in, &parse.Page{}); got != parse.Signature(c.want) {
			t.Errorf("signature of body %q without text: %x, want %x", c.body, got, c.want)
		}
	}
}

// TestTextSignature: signatures are equal for equal content in other markup. They differ for another word or title and,
// with hardly any text, for another byte.
func TestTextSignature(t *testing.T) {
	long := strings.Repeat("some words of content ", 10)
	sign := func(body string) string {
		page := parsePage(t, "text/html; charset=utf-8", body)
		return hex.EncodeToString(page.Signature[:])
	}
	base := sign("<title>T</title><p>" + long)
	marked := strings.ReplaceAll(long, "words", "<b>words</b>")
	for body, equal := range map[string]bool{
		"<title>T</title>\n<div class=x><p>" + marked + "<script>x</script>": true,
		"<title>T</title><p>" + long + "x":                                   false,
		"<title>U</title><p>" + long:                                         false,
	} {
		if got := sign(body); (got == base) != equal {
			t.Errorf("%q: equal is %t, want %t", body, got == base, equal)
		}
	}
	if sign("<p>Loading…<!-- 1 -->") == sign("<p>Loading…<!-- 2 -->") {
		t.Error("pages of hardly any text are equal although their bytes differ")
	}
}

// TestSimHash: changing one word of a long text changes few bits; another text changes about half of them.
func TestSimHash(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	words := make([]string, 500)
	for i := range words {
		words[i] = fmt.Sprintf("w%d", rng.IntN(300))
	}
	hash := func(w []string, sep string) uint64 {
		return parsePage(t, "text/plain; charset=utf-8", strings.Join(w, sep)).SimHash
	}
	base := hash(words, " ")
	if got := hash(words, "\n, "); got != base {
		t.Error("white space and punctuation change the fingerprint")
	}
	near := append([]string{}, words...)
	near[250] = "other"
	if d := bits.OnesCount64(base ^ hash(near, " ")); d > 6 {
		t.Errorf("one word of 500 changes %d bits, want at most 6", d)
	}
	far := make([]string, 500)
	for i := range far {
		far[i] = fmt.Sprintf("v%d", rng.IntN(300))
	}
	if d := bits.OnesCount64(base ^ hash(far, " ")); d < 16 {
		t.Errorf("another text differs in %d bits, want at least 16", d)
	}
	for text, zero := range map[string]bool{"": true, " .,;": true, "one": true, "漢字": true} {
		if got := hash([]string{text}, ""); (got == 0) != zero {
			t.Errorf("fingerprint of %q is %x", text, got)
		}
		if got := hash([]string{strings.Repeat(text, 512)}, ""); (got == 0) != (text == "") {
			t.Errorf("fingerprint of 512 times %q is %x", text, got)
		}
	}
	paragraph, links := strings.Join(words[:200], " "), "<ul><li><a href=a>Here</a><li><a href=b>There</a></ul>"
	article := func(menu, more string) uint64 {
		page := parsePage(t, "text/html", "<body>"+menu+"<article><h1>Title</h1><p>"+paragraph+"</p>"+more+"</article>")
		return page.SimHash
	}
	base = article("", "")
	if got := article("<nav>"+links+"</nav>", ""); got != base || base == 0 {
		t.Errorf("a menu changes the fingerprint %x to %x", base, got)
	}
	if got := article("", links+"<p>"+paragraph+"</p>"); got != base {
		t.Errorf("links and a repeated paragraph change the fingerprint %x to %x", base, got)
	}
}

// parsePage parses one body at a fixed URL.
func parsePage(t testing.TB, contentType, body string) *parse.Page {
	t.Helper()
	page := new(parse.Page)
	u := mustURL(t, "https://example.org/dir/page.html")
	in := parse.Input{URL: u, ContentType: contentType, Body: []byte(body), Agent: "testbot"}
	if err := parse.New(parse.Options{}).Parse(&in, page); err != nil {
		t.Fatalf("%q as %s: %v", body, contentType, err)
	}
	return page
}
