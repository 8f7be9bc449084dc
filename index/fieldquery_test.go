// SPDX-License-Identifier: Apache-2.0

package index

import (
	"context"
	"reflect"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/seine-crawler/seine/storage"
)

// drawStored draws a query of stored fields, color and price.
func drawStored(t *rapid.T, depth int) string {
	pick := func(label string, from ...string) string { return rapid.SampledFrom(from).Draw(t, label) }
	var b strings.Builder
	for i := range rapid.IntRange(1, 4).Draw(t, "parts") {
		if i > 0 {
			b.WriteString(pick("between", " ", " ", " ", " OR ", " AND ", " NOT "))
		}
		b.WriteString(pick("sign", "", "", "", "+", "-", "?"))
		suffix := pick("suffix", "", "", "^2", "^0.3", "~2")
		switch rapid.IntRange(0, 6).Draw(t, "kind") {
		case 0:
			if depth < 3 {
				b.WriteString(pick("field", "", "color:", "title:") + "(" + drawStored(t, depth+1) + ")" + suffix)
			}
		case 1:
			value := pick("value", "Deep red", " a ", "", "a)b", "(", "-", "a*", "北京", "x^2")
			b.WriteString(`color:="` + value + `"` + suffix)
		case 2:
			b.WriteString("color:=" + pick("bare", "red", "x)", "(a", "x~1", "a*", "=", `\`, strings.Repeat("ä", 99)))
		case 3:
			numbers := pick("range", "1..2", ">3", ">=-3", "<0", "..", "5..1", "a..b", ">3*", "1...2")
			b.WriteString("price:" + numbers + suffix)
		case 4:
			words := pick("words", `"deep red"`, `"北京大学"`, "北京大学", "deep-red", `"a"`, `"deep re*"`)
			b.WriteString("color:" + words + suffix)
		default:
			word := pick("word", "net", "boat*", "the", "to.be", "C++", "ab~1")
			b.WriteString(pick("in", "", "color:") + word + suffix)
		}
	}
	return b.String()
}

// TestPrintStored: a query of stored fields is in normal form too: printed and parsed again it is the same, and what
// strict parsing takes means the same to both parsers.
func TestPrintStored(t *testing.T) {
	known := func(field string) bool { return field == "color" || field == "price" }
	forgiving := func(text string) Query { return parseQueryOf(known, text, false, func(int, string) {}) }
	rapid.Check(t, func(t *rapid.T) {
		text := drawStored(t, 0)
		q := forgiving(text)
		if again := forgiving(q.String()); !reflect.DeepEqual(again, q) {
			t.Fatalf("%q prints %q, which is %q", text, q, again)
		}
		if s, err := parseStrict(known, text); err == nil && !reflect.DeepEqual(s, q) {
			t.Fatalf("%q is %q, but strict %q", text, q, s)
		}
		if s, err := parseStrict(known, q.String()); q.root != nil && !strings.Contains(q.String(), nothing) &&
			(err != nil || !reflect.DeepEqual(s, q)) {
			t.Fatalf("%q prints %q, strict %q: %v", text, q, s, err)
		}
	})
}

// TestLongWholeValue: a whole value that is longer than queries can ask for is not the shorter one that it begins with.
func TestLongWholeValue(t *testing.T) {
	s, x := memoryIndex(t)
	value := strings.Repeat("x", FieldValueMax)
	d := numbered(t, 1, "net")
	d.Stored = []storage.Field{{Name: "color", Value: value}}
	addDocuments(t, s, x, []Document{d})
	for text, want := range map[string]int{
		"color:=" + value: 1, "color:=" + value + "y": 0, "net -color:=" + value: 0, "net -color:=" + value + "y": 1,
	} {
		r, err := x.Search(context.Background(), text, SearchOptions{Deadline: time.Minute})
		if err != nil || r.Total != want {
			t.Errorf("%s: %d found, want %d: %v", text, r.Total, want, err)
		}
	}
}
