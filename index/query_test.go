// SPDX-License-Identifier: Apache-2.0

package index_test

import (
	"errors"
	"reflect"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/seine-crawler/seine/index"
	"github.com/seine-crawler/seine/storage"
)

// querySeeds are queries with every operator, well-formed and not.
var querySeeds = []string{
	`a "b c" -d OR (e f) site:x intitle:"y z"`, `+a -b ?c NOT d AND (e | "f g"~3^2)^0.5 h^2 i* j~1`,
	`title:(a "b c") url:x inurl:y anchor:z headings:h body:b host:h0.example lang:de,en type:pdf,image/*`,
	`date:2024-01..2024-06 fetched:2026-01 date:>=2023 date:<2020-02-02 size:>10k size:1m..2g -site:x.org/a/b`,
	"((((", `"`, "-", "+", "?", "OR OR", "AND", "NOT NOT a", "a:b:c", "\xff", "北京 -大", "北京大学的图书馆 os.path.join",
	"a(b) c)d", "to.be title:to.be +to.be", `“smart quotes” „and“ such`, "a^b^c^0", `"a b"~99999999999 x~9 *`,
	"site:% host:a/b lang:x date:2024-13 size:1e9 type:/", "title:", `x ("a b" OR "c d") -(y z)`,
	strings.Repeat("(", 40) + "a b" + strings.Repeat(") c", 40), strings.Repeat("a.b ", 100),
}

// checkTree fails unless printing a query and parsing it again gives the same query.
func checkTree(t fataler, q index.Query) {
	text := q.String()
	if again := index.ParseQuery(text); !reflect.DeepEqual(again, q) {
		t.Fatalf("%q prints, and parses as %q", text, again)
	}
	if text == "" {
		return
	}
	if strings.Contains(text, "site:%") {
		return
	}
	if again, err := index.ParseStrict(text); err != nil || !reflect.DeepEqual(again, q) {
		t.Fatalf("%q, strict: %q, %v", text, again, err)
	}
}

// drawQuery draws a query of nested parts. Some are well-formed.
func drawQuery(t *rapid.T, depth int) string {
	pick := func(label string, from ...string) string { return rapid.SampledFrom(from).Draw(t, label) }
	var b strings.Builder
	for i := range rapid.IntRange(1, 4).Draw(t, "parts") {
		if i > 0 {
			b.WriteString(pick("between", " ", " ", " ", " OR ", " AND ", " | ", " NOT "))
		}
		b.WriteString(pick("sign", "", "", "", "+", "-", "?"))
		switch rapid.IntRange(0, 9).Draw(t, "kind") {
		case 0, 1:
			if depth < 4 {
				b.WriteString(pick("field", "", "", "title:", "url:") + "(" + drawQuery(t, depth+1) + ")")
				b.WriteString(pick("boost", "", "", "^2", "^0.3"))
			}
		case 2:
			quote := pick("quote", "net", "net boat", "the salt fog", "北京大学", "to be")
			b.WriteString(pick("field", "", "", "title:", "body:") + `"` + quote + `"`)
			b.WriteString(pick("slop", "", "~2") + pick("boost", "", "^3"))
		case 3:
			b.WriteString(pick("filter", "site:example.org", "host:example.org:8080", "lang:de", "type:pdf",
				"date:2024", "size:>10k", "date:<2020-02", "site:h.example/a/b", "date:>9998", "size:<0", "site:%",
				"lang:x", "fetched:>=2026-11"))
		default:
			b.WriteString(pick("field", "", "", "", "title:", "anchor:"))
			b.WriteString(pick("word", "net", "boat", "how", "the", "to.be", "os.path.join", "北京大学", "C++", "Bücher",
				"x"))
			b.WriteString(pick("suffix", "", "", "", "^2", "^1", "*", "~1", "~2^0.5"))
		}
	}
	return b.String()
}

// TestPrintAndParse: a query that is printed and parsed again is the same, and strict parsing takes what is printed.
func TestPrintAndParse(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := drawQuery(t, 0)
		q := index.ParseQuery(text)
		checkTree(t, q)
		if s, err := index.ParseStrict(text); err == nil && !reflect.DeepEqual(s, q) {
			t.Fatalf("%q is %q, but strict %q", text, q, s)
		}
	})
}

// FuzzParseQuery: whatever somebody types is a query within bounds, in a normal form that survives printing, and can be
// searched and shown.
func FuzzParseQuery(f *testing.F) {
	for _, q := range querySeeds {
		f.Add(q)
	}
	s, err := storage.Open("/f", storage.Options{FS: storage.NewMemFS()})
	if err != nil {
		f.Fatal(err)
	}
	x, err := index.Open(s, index.Options{FS: storage.NewMemFS()})
	if err != nil {
		f.Fatal(err)
	}
	put(f, s, x, []index.Document{doc(0, "a b", "a b c d e f"), doc(1, "x", "y z 北京大学")})
	f.Fuzz(func(t *testing.T, q string) {
		parsed := index.ParseQuery(q)
		if terms, depth := parsed.Size(); terms > 64 || depth > 16 {
			t.Fatalf("%d terms, %d deep", terms, depth)
		}
		checkTree(t, parsed)
		r, err := x.Search(t.Context(), q, index.SearchOptions{Limit: 100, Deadline: 1e12})
		if err != nil && !parsed.NeedsValues() || r.Total > 2 || len(r.Hits) != r.Total {
			t.Fatalf("%d found, %d hits, %v", r.Total, len(r.Hits), err)
		}
		x.Snippet(parsed, q+" a b c "+q)
	})
}

// FuzzParseStrict: what strict parsing takes it understands as forgiving parsing does, in normal form; else its error
// names a place in the text.
func FuzzParseStrict(f *testing.F) {
	for _, q := range querySeeds {
		f.Add(q)
	}
	f.Fuzz(func(t *testing.T, text string) {
		q, err := index.ParseStrict(text)
		var e *index.QueryError
		switch {
		case err == nil:
			if forgiving := index.ParseQuery(text); !reflect.DeepEqual(q, forgiving) {
				t.Fatalf("%q, forgiving %q", q, forgiving)
			}
			checkTree(t, q)
		case !errors.As(err, &e) || e.Column < 1 || e.Column > len(text)+1 || e.Message == "":
			t.Fatalf("%#v", err)
		}
	})
}

// TestQueryBounds: a query beyond its bounds is cut for people and refused for programs.
func TestQueryBounds(t *testing.T) {
	f := func(text string, terms, depth int, refused string) {
		t.Helper()
		q := index.ParseQuery(text)
		if n, deep := q.Size(); n != terms || deep != depth {
			t.Errorf("%.40q: %d terms, %d deep", text, n, deep)
		}
		checkTree(t, q)
		if _, err := index.ParseStrict(text); err == nil || err.Error() != refused {
			t.Errorf("%.40q, strict: %v, want %q", text, err, refused)
		}
	}
	words := func(n int, form string) (s string) {
		for i := range n {
			s += strings.ReplaceAll(form, "1", string(rune('b'+i%20))+string(rune('b'+i/20))) + " "
		}
		return s
	}
	f(words(100, "w1"), 64, 1, "column 257: a query has at most 64 words")
	f(words(40, "w1.x1"), 64, 1, "column 129: a query has at most 64 words")
	f(`"`+words(100, "w1")+`"`, 64, 0, "column 1: a query has at most 64 words")
	f(words(100, "+lang:1"), 64, 1, "column 583: a query has at most 64 words")
	f(strings.Repeat("(a1 +", 20)+"b1"+strings.Repeat(")", 20), 4, 3, // the inner groups are left out
		"column 81: groups are nested more than 16 deep")
	f(strings.Repeat("x1 ", 2000), 1, 0, "column 4097: a query has at most 4096 bytes")
	f("net \xff boat", 2, 1, "column 5: a byte is not UTF-8")
	f("", 0, 0, "column 1: the query holds no word")
}
