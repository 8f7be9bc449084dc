// SPDX-License-Identifier: Apache-2.0

package web

import (
	"html"
	"regexp"
	"strings"
	"testing"
	"time"
)

// TestFetchedFilter: links of the search page, without script, narrow a search to what was fetched lately, and hits say
// when they were fetched.
func TestFetchedFilter(t *testing.T) {
	s := newSite(t)
	h := New(s.e, Options{})
	find := func(what, pattern, body string) string {
		t.Helper()
		m := regexp.MustCompile(pattern).FindStringSubmatch(body)
		if m == nil {
			t.Fatalf("no %s in\n%s", what, body)
		}
		return html.UnescapeString(m[1])
	}
	const count = `<p id="count">([1-9]\d*) found`
	_, _, all := opens(t, h, "/?q=nets")
	_, _, day := opens(t, h, find("link", `<a href="([^"]*)" title="fetched:[^"]*"><bdi dir="ltr">last day`, all))
	if got, want := find("count", count, day), find("count", count, all); got != want {
		t.Errorf("%s of %s found in the last day", got, want)
	}
	find("time", `<li class="quiet">fetched <time datetime="(20\d\d-\d\d-\d\d)">`, day)
	way := `<a href="([^"]*)" title="without fetched:"><bdi dir="ltr">any time`
	_, _, again := opens(t, h, find("way back", way, day))
	if find("count", count, again) != find("count", count, all) || strings.Contains(again, "any time") {
		t.Error("any time is not the search without the filter")
	}
	status, head, _ := opens(t, h, "/?q=nets&fetched=%3C2000")
	if status != 303 || head.Get("Location") != "/?q=nets+fetched%3A%3C2000" {
		t.Errorf("a form's filter: %d, to %s", status, head.Get("Location"))
	}
	if _, _, none := opens(t, h, head.Get("Location")); !strings.Contains(none, `<p id="count">0 found`) {
		t.Error("something was fetched before 2000")
	}
}

// TestFetchedSpans: a span takes the place of every other filter of fetches and keeps what else was chosen, but not the
// page of hits; that which holds leads back, and what found nothing is not narrowed.
func TestFetchedSpans(t *testing.T) {
	now := time.Date(2026, 3, 1, 23, 0, 0, 0, time.FixedZone("", -7200)) // March 2nd in UTC
	p := &page{base: "/x"}
	hosts := []facetView{{Name: "Date"}, {Name: "Host"}}
	for _, c := range []struct {
		query, want string
	}{
		{"net", `last day=net+fetched%3A%3E%3D2026-03-01 last week=net+fetched%3A%3E%3D2026-02-23 ` +
			`last month=net+fetched%3A%3E%3D2026-01-31`},
		{"net NOT fetched:2025", `last day=net+NOT+fetched%3A2025+fetched%3A%3E%3D2026-03-01 ` +
			`last week=net+NOT+fetched%3A2025+fetched%3A%3E%3D2026-02-23 ` +
			`last month=net+NOT+fetched%3A2025+fetched%3A%3E%3D2026-01-31`},
		{"net fetched:2025 Fetched:>=2026-02-23", `any time=net last day=net+fetched%3A%3E%3D2026-03-01 ` +
			`last week=net* last month=net+fetched%3A%3E%3D2026-01-31`},
	} {
		list := withFetched(hosts, p, searchState{Query: c.query, Page: 3, All: true}, now)
		if len(list) != 3 || list[1].Name != "Fetched" || list[2].Name != "Host" {
			t.Fatalf("facets %+v", list)
		}
		var got []string
		for _, v := range list[1].Values {
			query, ok := strings.CutPrefix(v.Address, "/x/?all=1&q=")
			if v.Present {
				query += "*"
			}
			if got = append(got, v.Text+"="+query); !ok {
				t.Errorf("%s: the address is %s", c.query, v.Address)
			}
		}
		if strings.Join(got, " ") != c.want {
			t.Errorf("%s: %s\nwant %s", c.query, strings.Join(got, " "), c.want)
		}
	}
	if list := withFetched(nil, p, searchState{Query: "net"}, now); list != nil {
		t.Errorf("nothing to narrow: %+v", list)
	}
	if list := withFetched(nil, p, searchState{Query: "fetched:<2000"}, now); len(list) != 1 {
		t.Errorf("no way back from a filter that finds nothing: %+v", list)
	}
}
