// SPDX-License-Identifier: Apache-2.0

package web

import (
	"fmt"
	"math"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/seine-crawler/seine/engine"
	"github.com/seine-crawler/seine/engine/parse/language"
)

// TestClean: what changes the direction of writing, cannot be seen or paints over neighbours is gone; joiners stay.
func TestClean(t *testing.T) {
	for _, c := range [][2]string{
		{"a  b\n\tc\x00d", "a b c d"}, {"  a ", "a"}, {"\u202egnp.exe", "gnp.exe"}, {"a\u2066b\u2069\u200f", "ab"},
		{"نمی\u200cخواهم", "نمی\u200cخواهم"}, {"👩\u200d👩", "👩\u200d👩"}, {"a\u00adb\ufeff\u3164", "ab"},
		{"e" + strings.Repeat("\u0301", 9), "e" + strings.Repeat("\u0301", marksMax)}, {"\U000e0041x", "x"},
		{"bad\xff", "bad\ufffd"}, {"日本語", "日本語"}, {strings.Repeat("x", 30), strings.Repeat("x", 20) + "…"},
	} {
		if got := clean(c[0], 20); got != c[1] {
			t.Errorf("%q: %q, want %q", c[0], got, c[1])
		}
	}
	if got := pieces("a net\u202e of x", [][2]int{{2, 5}, {12, 13}, {9, 99}}); len(got) != 4 || got[0].Text != "a " ||
		got[1] != (piece{"net", true}) || got[2].Text != " of " || got[3] != (piece{"x", true}) {
		t.Errorf("%+v", got)
	}
}

// TestFigures: what a table or a sentence has of large numbers can be read.
func TestFigures(t *testing.T) {
	for v, want := range map[float64]string{
		0: "0", 0.02381: "0.0238", 33.86: "33.9", 999.4: "999", 1698.08: "1,698", 1234567: "1,234,567",
	} {
		if got := scoreText(v); got != want {
			t.Errorf("score %g: %s, want %s", v, got, want)
		}
	}
	b := engine.BudgetView{Of: "a.example", Pages: 628, MaxPages: 235421, Bytes: 2e6, MaxBytes: 5e8, MaxTook: 18e11}
	if got := budgetText(b); got != "a.example: 628 of 235,421 pages, 2.00 MB of 500 MB, 0 ms of 30 min of fetchers" {
		t.Error(got)
	}
}

// TestAddresses: escapes and punycode are decoded where that cannot mislead.
func TestAddresses(t *testing.T) {
	for _, c := range [][2]string{
		{"http://example.org/a%20b/%D9%85?q=%2F%E6%97%A5", "http://example.org/a%20b/م?q=%2F日"},
		{"http://x.example/%22%3E%3Cscript%3E", "http://x.example/%22%3E%3Cscript%3E"},
		{"http://x.example/%E2%80%AEgnp", "http://x.example/%E2%80%AEgnp"},
		{"http://x.example/%ff%41", "http://x.example/%ff%41"},
		{"http://x.example/a%EF%BF%BDb", "http://x.example/a%EF%BF%BDb"},
		{"http://xn--bcher-kva.example:8080/", "http://bücher.example:8080/"},
		{"http://xn--r8jz45g.example/", "http://例え.example/"},
		{"http://xn--e1afmkfd.example/", "http://xn--e1afmkfd.example/"}, // Cyrillic below a Latin top
		{"http://xn--e1afmkfd.xn--p1ai/", "http://пример.рф/"},           // and below its own
		{"http://xn--80ak6aa92e.com/", "http://xn--80ak6aa92e.com/"},     // looks like apple
		{"http://xn--pple-43d.com/", "http://xn--pple-43d.com/"},         // two scripts in a label
		{"http://xn--googe-nxb.com/", "http://xn--googe-nxb.com/"},       // no label that decodes
		{"http://xn--mgbh0fb.xn--kgbechtv/", "http://مثال.إختبار/"},      // Arabic
		{"no url \u202e", "no url"}, {"http://[::1]:80/x", "http://[::1]:80/x"},
	} {
		if got := shownURL(c[0]); got != c[1] {
			t.Errorf("%s: %s, want %s", c[0], got, c[1])
		}
	}
	c := crumbs("http://a.example:81/1/2/3/4/5/6?x=1")
	if c.Host != "a.example:81" || strings.Join(c.Parts, " ") != "1 2 … 5 6 ?x=1" {
		t.Errorf("%+v", c)
	}
}

// TestQueryWords: what a filter adds to a query, it takes out again, and the rest keeps its meaning.
func TestQueryWords(t *testing.T) {
	for _, c := range [][3]string{
		{"torn mesh", "lang:de", "torn mesh lang:de"}, {"", "lang:de", "lang:de"},
		{`"torn mesh" net`, "type:pdf", `"torn mesh" net type:pdf`},
		{"torn OR mesh", "lang:de", "(torn OR mesh) lang:de"}, {"(a OR b) c", "lang:de", "(a OR b) c lang:de"},
		{`torn "mesh`, "lang:de", `lang:de torn "mesh`}, {"torn (mesh", "lang:de", "lang:de torn (mesh"},
	} {
		with := withWord(c[0], c[1])
		if with != c[2] || withWord(with, strings.ToUpper(c[1])) != with || withoutWord(with, c[1]) != c[0] {
			t.Errorf("%q with %s: %q, want %q; without it again: %q", c[0], c[1], with, c[2], withoutWord(with, c[1]))
		}
	}
	for query, want := range map[string]string{ // without lang:de
		"mesh OR lang:de lang:de": "mesh OR lang:de", "lang:de net lang:DE": "net",
		"lang:de NOT lang:de": "NOT lang:de", "NOT lang:de": "", "NOT lang:de storm": "storm",
		"a NOT NOT lang:de b": "a b", "a OR lang:de b": "a b", "lang:de OR a b": "a b", "a || lang:de OR b": "a OR b",
		"a AND NOT lang:de": "a", "lang:de AND lang:de a": "a", "a lang:de NOT b": "a NOT b",
		"NOT lang:de NOT b": "NOT b",
	} {
		if got := withoutWord(query, "lang:de"); got != want {
			t.Errorf("%q: %q, want %q", query, got, want)
		}
	}
	s, moved := readState(url.Values{"q": {" net "}, "lang": {"de"}, "page": {"-3"}, "sort": {"newest"}, "all": {"1"}})
	if !moved || s.Query != "net lang:de" || s.Page != 1 || !s.All || s.Explain {
		t.Errorf("%+v", s)
	}
	if p := (&page{base: "/x"}).Path("/", s.parameters()...); p != "/x/?all=1&q=net+lang%3Ade&sort=newest" {
		t.Error(p)
	}
	for q, want := range map[string]bool{"site:a": true, "+host:b x": true, "x lang:de": false, "host:": false} {
		if hasFilter(q, "host", "site") != want {
			t.Errorf("%s: want %v", q, want)
		}
	}
}

func TestNumbers(t *testing.T) {
	for got, want := range map[string]string{
		numberText(4210007): "4,210,007", numberText(-1234.5): "-1,234.5", numberText(uint64(12)): "12",
		plural(1, "fetch"): "1 fetch", plural(2, "fetch"): "2 fetches", plural(29, "day"): "29 days",
		plural(3, "reply"): "3 replies", byteText(999): "999 B", byteText(uint64(3_140_000_000)): "3.14 GB",
		byteText(uint64(math.MaxUint64)): "18447 PB", rateText(1240): "1,240", rateText(3.5): "3.50", rateText(0): "0",
		spanText(130 * time.Minute): "2 h 10 min", spanText(50 * time.Hour): "2 d 2 h",
		spanText(9 * time.Second):         "9 s",
		tookText(1200 * time.Millisecond): "1.2 s", tookText(0): "0 ms",
		robotsText(404): "none (404)", robotsText(599): "unreachable",
		cleanLines("a\u202e\r\nb", 99): "a\nb\n",
	} {
		if got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
	now := time.Date(2026, 11, 2, 0, 0, 0, 0, time.UTC)
	for d, want := range map[time.Duration]string{
		0: "now", time.Minute: "1 min ago", -26 * time.Hour: "in 26 h", 72 * time.Hour: "3 days ago",
		-29 * 24 * time.Hour: "in 29 days", 90 * 24 * time.Hour: "3 months ago", 900 * 24 * time.Hour: "2 years ago",
	} {
		if got := ago(now.Add(-d), now); got != want {
			t.Errorf("%s: %s, want %s", d, got, want)
		}
	}
}

// TestClockSetBack: where the clock was set back during a crawl, charts show the time since, up to now.
func TestClockSetBack(t *testing.T) {
	start := time.Date(2026, 11, 2, 0, 0, 0, 0, time.UTC)
	back := start.Add(-time.Minute)
	var samples []engine.Sample
	for i := 1; i <= 300; i++ {
		samples = append(samples, engine.Sample{Time: start.Add(time.Duration(i) * time.Second), Seconds: 1})
	}
	for i := 1; i <= 10; i++ {
		samples = append(samples, engine.Sample{
			Time: back.Add(time.Duration(i) * time.Second), Seconds: 1, PagesPerSecond: 7,
		})
	}
	for _, span := range []time.Duration{0, 10 * time.Minute} {
		a := newAxis(samples, span, back.Add(10*time.Second))
		c := a.draw("Pages", 0, false, rateText, series{"", func(s *engine.Sample) float64 { return s.PagesPerSecond }})
		if !a.From.Equal(back) || !a.To.Equal(back.Add(10*time.Second)) || c.Now != "7.00" || len(a.Steps) != 10 {
			t.Errorf("from %v to %v in %d steps, now %s", a.From, a.To, len(a.Steps), c.Now)
		}
	}
}

// TestCharts: samples are means in steps of one axis, gaps stay gaps, stacked lines add up, and the top is round.
func TestCharts(t *testing.T) {
	start := time.Date(2026, 11, 2, 0, 0, 0, 0, time.UTC)
	var samples []engine.Sample
	for i := 1; i <= 600; i++ {
		if i > 300 && i <= 400 {
			continue // no crawl ran
		}
		samples = append(samples, engine.Sample{
			Time: start.Add(time.Duration(i) * time.Second), Seconds: 1, PagesPerSecond: float64(i),
			CPU: engine.StageCPU{{Stage: "fetch", Seconds: 0.5}, {Stage: "parse", Seconds: 0.25}},
		})
	}
	a := newAxis(samples, 10*time.Minute, start.Add(600*time.Second))
	if len(a.Steps) != chartPoints || a.To.Sub(a.From) != 10*time.Minute {
		t.Fatalf("%d steps from %s to %s", len(a.Steps), a.From, a.To)
	}
	c := a.draw("Pages", 0, false, rateText, series{"", func(s *engine.Sample) float64 { return s.PagesPerSecond }})
	values := strings.Split(c.Values, ",")
	if values[0] != "3.5" || values[99] != "598" || values[60] != "" || c.Now != "598" || c.Most != "1,000" {
		t.Errorf("%s … %s, gap %q, now %s, top %s", values[0], values[99], values[60], c.Now, c.Most)
	}
	if n := strings.Count(c.Lines[0].Path, "M"); n != 2 {
		t.Errorf("the line has %d parts, want 2: %s", n, c.Lines[0].Path)
	}
	cpu := a.draw("CPU", 0, true, rateText, stagesOf(&a)...)
	if len(cpu.Lines) != 2 || cpu.Now != "0.75" || cpu.Lines[1].Now != "0.25" || cpu.Most != "1" {
		t.Errorf("%+v", cpu)
	}
	for want, list := range map[string][]float64{
		"M1 160l2-80 2 80": {0, 1, 0}, "M1 80h4l2-80": {1, 1, 1, 2}, "M1 160h.1M5 0h2": {0, math.NaN(), 2, 2},
	} {
		if got := drawPath(list, nil, 2); got != want {
			t.Errorf("%v: %s, want %s", list, got, want)
		}
	}
	if got := drawPath([]float64{1, 2, 2}, []float64{0, 1, 0}, 2); got != "M1 80l2-80h2l0 160-2-80-2 80Z" {
		t.Errorf("an area is %s", got)
	}
	a = newAxis(samples, 0, start.Add(700*time.Second)) // the crawl has ended: no value is one of now
	cpu = a.draw("CPU", 0, true, rateText, stagesOf(&a)...)
	if cpu.Now != "–" || cpu.Lines[0].Now != "–" || cpu.Values == "" {
		t.Errorf("of the past: %+v", cpu)
	}
	if a := newAxis(nil, 0, start); len(a.Steps) != 0 {
		t.Error("an axis without samples has steps")
	}
	a = newAxis(samples, 0, samples[0].Time.Add(-time.Minute)) // the clock was set back
	if last := samples[len(samples)-1].Time; !a.To.Equal(last) || len(a.Steps) == 0 {
		t.Errorf("it ends at %v, the last sample is of %v", a.To, last)
	}
	for v, want := range map[float64]float64{0: 1, 0.3: 0.5, 7: 10, 50: 50, 51: 100, math.NaN(): 1} {
		if got := roundUp(v); math.Abs(got-want) > 1e-9 {
			t.Errorf("top of %g: %g, want %g", v, got, want)
		}
	}
}

// TestHarmless: a stored copy keeps its text and its links, which stay in the store, and nothing that acts.
func TestHarmless(t *testing.T) {
	to := func(target string) string { return "/copy?url=" + target }
	for page, want := range map[string]string{
		`<p onclick=x>a<script>b</script>c`:             `<p>ac</p>`,
		`<a href="b?c#d">x</a>`:                         `<a href="/copy?url=http://a.example/b?c" target="_top">x</a>`,
		`<a href="/page#d">x</a>`:                       `<a href="#d">x</a>`,
		`<a href="jAvascript:x">x</a><a href=ftp:y>y`:   `<a>x</a><a>y</a>`,
		`<base href="http://b.example/d/"><a href=e>x`:  `<a href="/copy?url=http://b.example/d/e" target="_top">x</a>`,
		`<img src=http://b.example/ alt="a <b>">`:       `<span>[a &lt;b&gt;]</span>`,
		`<img src="data:image/png;base64,AA" onload=x>`: `<img src="data:image/png;base64,AA"/>`,
		`<form action=/act/stop><button formaction=x>`:  `<div><button></button></div>`,
		`<svg><a href=x>y</a></svg><custom-one a=b>z`:   `<span>z</span>`,
		`<p><noscript>&lt;a href=//b.example&gt;<b>c`:   `<p><span>&lt;a href=//b.example&gt;<b>c</b></span></p>`,
		`<iframe srcdoc="<script>"></iframe><!-- x -->`: ``,
		`<div style="position:fixed" dir=rtl>x</div>`:   `<div style="position:fixed" dir="rtl">x</div>`,
	} {
		got := string(harmless(page, "http://a.example/page", to))
		_, got, _ = strings.Cut(got, "<body>")
		if got = strings.TrimSuffix(got, "</body></html>"); got != want {
			t.Errorf("%s\n got %s\nwant %s", page, got, want)
		}
	}
	deep := harmless(strings.Repeat("<div>", 100_000), "http://a.example/", to)
	if len(deep) > 100_000 {
		t.Errorf("%d bytes", len(deep))
	}
}

// TestTrail: a list goes back as it went forward, for a number of pages and of bytes.
func TestTrail(t *testing.T) {
	p := &page{base: "/x"}
	q := url.Values{}
	var forward []string
	for n := range 40 {
		forward = append(forward, p.Path("/", trailOf(q).next(strings.Repeat(string(rune('a'+n%26)), n+1))...))
		q = parsed(t, forward[n])
	}
	for n := len(forward) - 1; ; n-- {
		parameters, known := trailOf(q).previous()
		if !known {
			if n != 40-1-trailMost {
				t.Errorf("it went back to page %d", n)
			}
			break
		}
		q = parsed(t, p.Path("/", parameters...))
		if want := parsed(t, forward[n-1]).Get("after"); q.Get("after") != want {
			t.Fatalf("page before %d: after %q, want %q", n, q.Get("after"), want)
		}
	}
	long := trail{After: strings.Repeat("x", trailBytes), Back: []string{"", "y"}}
	if back := long.next("z")[3].([]string); len(back) != 1 {
		t.Errorf("%d positions of a long trail", len(back))
	}
	first := parsed(t, p.Path("/", trail{}.next("a")...))
	if parameters, known := trailOf(first).previous(); !known || p.Path("/", parameters...) != "/x/" {
		t.Errorf("back to the first page: %v", parameters)
	}
}

func parsed(t *testing.T, address string) url.Values {
	t.Helper()
	u, err := url.Parse(address)
	must(t, err)
	return u.Query()
}

// TestLastLines: the end of a log, newest first, of whole lines; those of a crawl log have their parts.
func TestLastLines(t *testing.T) {
	name := filepath.Join(t.TempDir(), "log")
	var b strings.Builder
	for n := range 5_000 {
		fmt.Fprintf(&b, "line %d \u202e<script>\n", n)
	}
	b.WriteString(`{"time":"2026-11-02T10:00:00Z","url":"http://a.example/x","http_status":200,"bytes":12,` +
		`"took_ms":34}` + "\n")
	must(t, os.WriteFile(name, []byte(b.String()+"a line that is being writ"), 0o600))
	lines, err := lastLines(name)
	must(t, err)
	if len(lines) != logLines || readLine(lines[1]).Text != "line 4999 <script>" {
		t.Errorf("%d lines: %q", len(lines), lines[:2])
	}
	if l := readLine(lines[0]); l.URL != "http://a.example/x" || l.Status != 200 || l.Span() != "34 ms" {
		t.Errorf("%+v", l)
	}
	must(t, os.WriteFile(name, []byte("one\ntwo\n"), 0o600))
	if lines, err := lastLines(name); err != nil || len(lines) != 2 || string(lines[1]) != "one" {
		t.Errorf("%q, %v", lines, err)
	}
	s := newSite(t)
	h := New(s.e, Options{Logs: []Log{{"crawl-log", name}, {"log", name + ".none"}}})
	for address, says := range map[string]string{"/log": "two", "/log?name=log": "No line", "/segments": "indexed"} {
		if status, _, body := opens(t, h, address); status != 200 || !strings.Contains(body, says) {
			t.Errorf("%s: %d without %q", address, status, says)
		}
	}
	if _, _, body := opens(t, New(s.e, Options{}), "/log"); !strings.Contains(body, "crawl-log=") {
		t.Error("nothing says how a log is written")
	}
}

// TestHitMarkup: a hit is written without a template, so what comes from its page is escaped, and its address leads to
// the web only.
func TestHitMarkup(t *testing.T) {
	h := New(opened(t, t.TempDir()), Options{})
	const evil = `"><script>alert(1)</script>`
	for _, address := range []string{"javascript:alert(1)", "http://a.example/" + evil, "data:text/html," + evil} {
		got := string(h.hit(&page{}, searchState{Query: evil}, engine.Hit{
			URL: address, Title: evil, Language: evil, Type: "text/" + evil, SnippetText: evil,
			Matches: [][2]int{{0, 2}}, More: 1, Duplicates: 1,
		}, "").Opening)
		web := strings.HasPrefix(address, "http://")
		if strings.Contains(got, "<script") || strings.Contains(got, `href="http`) != web ||
			strings.Contains(got, `href="javascript`) || strings.Contains(got, `href="data`) {
			t.Errorf("%s: %s", address, got)
		}
		if !strings.Contains(got, "&gt;&lt;script&gt;") || !strings.Contains(got, "<mark>&#34;&gt;</mark>") {
			t.Errorf("%s: %s", address, got)
		}
	}
}

// TestCleanASCII: texts that take the short way are the ones that the long way makes of them.
func TestCleanASCII(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		letters := rapid.SampledFrom([]rune("ab <&\t\n\x00\x7f…é\u202e\u0301")).Draw
		var b strings.Builder
		for range rapid.IntRange(0, 12).Draw(t, "length") {
			b.WriteRune(letters(t, "letter"))
		}
		s, most := b.String(), rapid.IntRange(0, 12).Draw(t, "most")
		// A character that is left out takes the long way.
		if got, want := clean(s, most), clean(s+"\u00ad", most); got != want {
			t.Fatalf("clean(%q, %d) is %q, want %q", s, most, got, want)
		}
	})
}

// TestPath: addresses are those of url.Values.
func TestPath(t *testing.T) {
	p := &page{base: "/base"}
	for _, parameters := range [][]any{
		{}, {"q", ""}, {"q", "a b&c=ü", "all", true, "page", 12, "explain", false, "sort", ""},
		{"z", "1", "a", "2", "z", "3"}, {"status", []string{"b", "", "a"}, "a b", 0, "a", "ä?/"},
		{"i", 1, "h", 1, "g", 1, "f", 1, "e", 1, "d", 1, "c", 1, "b", 1, "a", 1, "q", "last"},
	} {
		values := url.Values{}
		for i := 0; i < len(parameters); i += 2 {
			name := parameters[i].(string)
			switch v := parameters[i+1].(type) {
			case []string:
				values[name] = v
			case bool:
				if v {
					values.Set(name, "1")
				}
			default:
				if text := fmt.Sprint(v); text != "" && text != "0" {
					values.Set(name, text)
				}
			}
		}
		want := "/base/x"
		if len(values) > 0 {
			want += "?" + values.Encode()
		}
		if got := p.Path("/x", parameters...); got != want {
			t.Errorf("%v: %s, want %s", parameters, got, want)
		}
	}
}

// TestLanguageNames: every language that is detected has a name of its own in the filter of the search page.
func TestLanguageNames(t *testing.T) {
	coded := map[string]string{}
	for _, code := range language.Tags() {
		name := languageName(code)
		if name == code || coded[name] != "" {
			t.Errorf("%s is %q, as is %q", code, name, coded[name])
		}
		coded[name] = code
	}
	if len(coded) != 75 || coded["Latin"] != "la" {
		t.Errorf("%d languages, with %q for Latin", len(coded), coded["Latin"])
	}
}

// TestListsOfLinks: the text of a link to an Arabic page does not turn its line round, in which the URL comes first as
// in the others; and a list that is cut says so.
func TestListsOfLinks(t *testing.T) {
	v := &urlView{}
	for range 41 {
		v.Outlinks = append(v.Outlinks, engine.OutlinkView{URL: "http://a.example/", Anchor: "شبكة"})
	}
	v.OutlinkCount = 57
	var b strings.Builder
	must(t, templates["url"].ExecuteTemplate(&b, "layout", &page{Room: "urls", Body: v}))
	body := b.String()
	line := `<li><a href="/url?url=http%3A%2F%2Fa.example%2F"><bdi>http://a.example/</bdi></a> ` +
		`<q><bdi>شبكة</bdi></q></li>`
	if n := strings.Count(body, line); n != 40 || !strings.Contains(body, "These are the first 40.") {
		t.Errorf("%d of 40 lines, or it does not say that there are more: %s", n, body)
	}
}
