// SPDX-License-Identifier: Apache-2.0

package web

import (
	"context"
	"html"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/seine-crawler/seine/engine"
	"github.com/seine-crawler/seine/index"
)

// TestSorted: heads of columns lead to the table in their order, and say which order it has.
func TestSorted(t *testing.T) {
	s := newSite(t)
	h := New(s.e, Options{})
	for address, says := range map[string]string{
		"/hosts":                        `aria-sort="descending"><a href="/hosts">URLs`,
		"/hosts?by=gone":                `aria-sort="descending"><a href="/hosts?by=gone">gone`,
		"/hosts?by=took":                `aria-sort="descending"><a href="/hosts?by=took">fetchers`,
		"/hosts?by=name":                `aria-sort="ascending"><a href="/hosts?by=name">Host`,
		"/hosts?by=x":                   `aria-sort="descending"><a href="/hosts">URLs`,
		"/report/seeds?by=url":          `aria-sort="ascending"><a href="/report/seeds?by=url&amp;down=1">URL`,
		"/report/seeds?by=url&down=1":   `aria-sort="descending"><a href="/report/seeds?by=url">URL`,
		"/urls?by=score":                `aria-current="true">highest score first`,
		"/urls?by=score&status=db_gone": `<option selected>db_gone`,
	} {
		if status, _, body := opens(t, h, address); status != http.StatusOK || !strings.Contains(body, says) {
			t.Errorf("%s: status %d without %s", address, status, says)
		}
	}
	rows := [][]reportCell{
		{{Text: "b"}, {Number: true, Value: 2}}, {{Text: "a"}, {Number: true, Value: 10}},
		{{Text: "c"}, {Number: true}},
	}
	for _, c := range []struct {
		at   int
		down bool
		want string
	}{{0, false, "abc"}, {0, true, "cba"}, {1, false, "abc"}, {1, true, "cba"}} {
		sortRows(rows, c.at, c.down)
		got := ""
		for _, row := range rows {
			got += row[0].Text
		}
		if got != c.want {
			t.Errorf("by column %d, down %v: %s, want %s", c.at, c.down, got, c.want)
		}
	}
	if names := hostOrderNames(); len(names) != len(hostColumns) || !slices.Contains(names, string(engine.HostTook)) {
		t.Errorf("orders %v, and %d columns", names, len(hostColumns))
	}
}

// TestHostNumbers: a number in the list of hosts leads to a list of so many URLs, whichever of them it counts.
func TestHostNumbers(t *testing.T) {
	s := newSite(t)
	h := New(s.e, Options{})
	_, _, hosts := opens(t, h, "/hosts")
	for name, want := range map[string]string{"URLs": "5", "fetched": "3", "gone": "1"} {
		link := regexp.MustCompile(`data-name="` + name + `"><a href="([^"]+)">(\d+)</a>`).FindStringSubmatch(hosts)
		if link == nil || link[2] != want {
			t.Errorf("%s: %q, want %s", name, link, want)
			continue
		}
		status, _, list := opens(t, h, html.UnescapeString(link[1]))
		if n := strings.Count(list, "<a data-item"); status != http.StatusOK || strconv.Itoa(n) != want {
			t.Errorf("%s: the list has %d URLs, want %s", name, n, want)
		}
	}
	_, _, list := opens(t, h, "/urls?status=fetched")
	if !strings.Contains(list, "<option selected>fetched<") || !strings.Contains(list, "db_duplicate</td>") {
		t.Error("the list of what is fetched does not say so, or has no duplicate")
	}
}

// TestHostsFound: a host is found by a part of its name, and by any of its URLs.
func TestHostsFound(t *testing.T) {
	s := newSite(t)
	h := New(s.e, Options{})
	for _, find := range []string{
		s.host, s.host[2:], " " + s.host + " ", s.url, s.url + "/a?b#c", s.host + "/a", "HTTP://user@" + s.host,
	} {
		address := "/hosts?find=" + url.QueryEscape(find)
		if _, _, body := opens(t, h, address); !strings.Contains(body, `<bdi dir="ltr">`+s.host) {
			t.Errorf("%q finds nothing", find)
		}
	}
	for find, want := range map[string]string{
		"https://a.example:443/b": "a.example", "http://a.example:80": "a.example",
		"https://a.example:80": "a.example:80",
		"/":                    "/", "://": "", "": "",
	} {
		if got := hostPart(find); got != want {
			t.Errorf("%q: %q, want %q", find, got, want)
		}
	}
}

// TestURLsOfPort: the URLs of a host that is known with a port only are found by its name.
func TestURLsOfPort(t *testing.T) {
	s := newSite(t)
	h := New(s.e, Options{})
	status, head, _ := opens(t, h, "/urls?prefix=127.0.0.1&status=db_gone")
	want := "/urls?prefix=" + url.QueryEscape(s.host) + "&status=db_gone"
	if to := head.Get("Location"); status != http.StatusSeeOther || to != want {
		t.Errorf("status %d, to %q, want %q", status, to, want)
	}
	status, head, _ = opens(t, h, "/host?host=127.0.0.1")
	want = "/host?host=" + url.QueryEscape(s.host)
	if to := head.Get("Location"); status != http.StatusSeeOther || to != want {
		t.Errorf("status %d, to %q, want %q", status, to, want)
	}
	other := engine.InjectOptions{URLs: []string{"http://127.0.0.1:1/"}}
	if _, err := s.e.Inject(context.Background(), other); err != nil {
		t.Fatal(err)
	}
	status, _, body := opens(t, h, "/urls?prefix=127.0.0.1")
	for _, port := range []string{":1", strings.TrimPrefix(s.host, "127.0.0.1")} {
		way := `<a href="/urls?prefix=` + url.QueryEscape("127.0.0.1"+port) + `"><bdi dir="ltr">127.0.0.1` + port
		if status != http.StatusOK || !strings.Contains(body, way) {
			t.Errorf("status %d, without %s", status, way)
		}
	}
	status, _, body = opens(t, h, "/host?host=127.0.0.1")
	if want := "known with a port: 127.0.0.1:1, " + s.host; status != 404 || !strings.Contains(body, want) {
		t.Errorf("status %d, the page of the host does not say %q: %s", status, want, body)
	}
	if status, _, _ := opens(t, h, "/urls?prefix=not.known"); status != http.StatusOK {
		t.Errorf("a host that is not known at all: status %d", status)
	}
}

// TestMoreValues: the number of values of a facet that are not shown leads to more of them, which are shown then.
func TestMoreValues(t *testing.T) {
	one := []index.FacetValue{{Value: "a.example", Count: 2}}
	many := []index.Facet{{Name: index.FacetHost, Values: one, Distinct: 20}}
	for query, want := range map[string]struct {
		shown int
		says  string
	}{
		"q=net":          {facetsShown, `<li class="quiet"><a href="/?q=net&amp;values=1">19 others</a></li>`},
		"":               {facetsShown, `<li class="quiet"><a href="/?values=1">19 others</a></li>`},
		"q=net&values=1": {facetsMost, `<li class="quiet">19 others</li>`},
	} {
		values, _ := url.ParseQuery(query)
		state, _ := readState(values)
		v := &searchView{State: state, Documents: 30, Facets: facetsOf(&page{}, state, many)}
		var b strings.Builder
		must(t, templates["search"].ExecuteTemplate(&b, "layout", &page{Room: "search", Body: v}))
		if state.facetValues() != want.shown || !strings.Contains(b.String(), want.says) {
			t.Errorf("%s: %d values, without %s", query, state.facetValues(), want.says)
		}
	}
}

// TestPast: what was to be until a time that has passed is not said of now.
func TestPast(t *testing.T) {
	for at, c := range map[time.Duration]struct{ says, not string }{
		time.Hour:  {"requested again <time", "before the next fetch"},
		-time.Hour: {"requested again before the next fetch", "paused until"},
	} {
		v := &hostPageView{}
		v.PausedUntil = time.Now().Add(at)
		v.Robots = []engine.RobotsView{{Scheme: "http", Status: 599, Fetched: time.Now(), Expires: v.PausedUntil}}
		var b strings.Builder
		must(t, templates["host"].ExecuteTemplate(&b, "layout", &page{Room: "hosts", Body: v}))
		if !strings.Contains(b.String(), c.says) || strings.Contains(b.String(), c.not) {
			t.Errorf("%s from now: without %q, or with %q: %s", at, c.says, c.not, b.String())
		}
	}
	if got := reasonText("robots_denied"); !strings.Contains(got, "robots.txt of its host") {
		t.Error(got)
	}
}

// TestListEnds: a page behind the end of a list says so, and not that there is nothing; pages that list no more have no
// next one; a host that is not known leads to the list of those that are.
func TestListEnds(t *testing.T) {
	s := newSite(t)
	h := New(s.e, Options{})
	of := url.QueryEscape(s.url)
	for address, c := range map[string]struct{ says, not string }{
		"/links?url=" + of + "&page=9":    {"The list ends before this page", "No crawled page"},
		"/links?url=http://not.known/":    {"No crawled page links here", "The list ends"},
		"/segments?page=9":                {"The list ends before this page", "none yet"},
		"/host?host=not.known":            {"No host not.known is known", "hostdb"},
		"/report/hosts":                   {`<bdi dir="ltr">` + s.host, "<bdi>"},
		"/hosts?by=name":                  {`<bdi dir="ltr">` + s.host, "<bdi>"},
		"/links?url=" + of + "&page=1000": {"The list ends before this page", `rel="next"`},
	} {
		_, _, body := opens(t, h, address)
		_, shown, _ := strings.Cut(body, "<main")
		if !strings.Contains(shown, c.says) || strings.Contains(shown, c.not) {
			t.Errorf("%s: without %q, or with %q: %s", address, c.says, c.not, shown)
		}
	}
}

// TestNextPage: the next page of a list is never the same page again.
func TestNextPage(t *testing.T) {
	for page, want := range map[string]window{
		"1": {1, 0, 3}, "3": {3, 2 * rowsShown, 3}, "4": {3, 2 * rowsShown, 3},
	} {
		w := windowOf(request("GET", "/links?page="+page, "", nil), 3)
		if next := w.next(); w != want || next == w.page || next > 3 {
			t.Errorf("page %s: %+v, and then page %d", page, w, next)
		}
	}
}

// TestHostsLate: where a part of a name takes too long to be found, nothing says that no host has it, and a whole name
// is found all the same.
func TestHostsLate(t *testing.T) {
	s := newSite(t)
	h := New(s.e, Options{})
	for find, found := range map[string]bool{s.host: true, "nowhere": false} {
		v := &hostsView{Find: find, ByName: true, Late: true}
		for range 2 {
			h.addNamed(t.Context(), v)
		}
		body, err := h.render("hosts", &page{Room: "hosts", Body: v})
		text := string(body)
		if err != nil || strings.Contains(text, "No host") || !strings.Contains(text, "take too long") ||
			strings.Count(text, "<a data-item") != map[bool]int{true: 1}[found] {
			t.Errorf("%s: %v, %s", find, err, text)
		}
	}
}
