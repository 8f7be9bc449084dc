// SPDX-License-Identifier: Apache-2.0

package web

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
)

// TestRefusedAsProblem: what a program asks for in vain is refused with a problem at each address, and no redirect or
// page of HTML. A browser that asks for a feed gets a page.
func TestRefusedAsProblem(t *testing.T) {
	h := New(newSite(t).e, Options{Token: testToken})
	for _, c := range []struct {
		method, path string
		status       int
		code         string
	}{
		{"GET", apiPath, 404, "no_operation"}, {"HEAD", apiPath, 404, ""}, {"POST", apiPath, 404, "no_operation"},
		{"GET", apiPath + "/", 404, "no_operation"}, {"GET", apiPath + "/none", 404, "no_operation"},
		{"GET", "/atom.xml", 400, "no_query"}, {"GET", "/atom.xml?page=x", 400, "no_query"},
		{"GET", "/none", 404, "not_found"}, {"GET", "/ops/none.yml", 404, "not_found"},
		{"GET", "/static/0/none.css", 404, "not_found"}, {"GET", "/?token=wrong", 401, "token"},
		{"GET", "/debug/pprof/heap", 401, "token"},
		{"OPTIONS", "/", 405, "method"}, {"OPTIONS", "/atom.xml", 405, "method"},
		{"OPTIONS", "/metrics", 405, "method"}, {"OPTIONS", apiPath + "/search", 405, "method"},
		{"DELETE", apiPath + "/search", 405, "method"},
	} {
		answer := answered(h, request(c.method, c.path, "", map[string]string{"Accept": "*/*"}))
		var p Problem
		err := json.NewDecoder(answer.Body).Decode(&p)
		if c.method == "HEAD" {
			err = nil
		}
		kind := answer.Header.Get("Content-Type")
		if err != nil || answer.StatusCode != c.status || kind != "application/problem+json" ||
			c.code != "" && p.Code != c.code {
			t.Errorf("%s %s: %s, %s, %+v, %v", c.method, c.path, answer.Status, kind, p, err)
		}
		if allow := answer.Header.Get("Allow"); c.status == 405 && allow != "GET, HEAD" {
			t.Errorf("%s %s: it allows %q", c.method, c.path, allow)
		}
	}
	page := answered(h, request("GET", "/atom.xml", "", map[string]string{"Accept": "text/html,*/*;q=0.8"}))
	if kind := page.Header.Get("Content-Type"); page.StatusCode != http.StatusBadRequest || kind != htmlType {
		t.Errorf("a browser gets %s, %s", page.Status, kind)
	}
}

// TestAcceptLines: a list is a stream for those who ask for one, and not for those who refuse it or like JSON better.
func TestAcceptLines(t *testing.T) {
	h := New(newSite(t).e, Options{})
	for accept, want := range map[string]string{
		"": "application/json", "*/*": "application/json", "application/json": "application/json", ndjson: ndjson,
		"Application/X-NDJSON": ndjson, ndjson + ", application/json": ndjson, "text/html;q=1," + ndjson: ndjson,
		"application/json, " + ndjson + ";q=0": "application/json", ndjson + ";q=0.0": "application/json",
		ndjson + ";q=0.4, application/json;q=0.9": "application/json", ndjson + ";q=0.4, */*;q=0.1": ndjson,
		"x" + ndjson: "application/json",
	} {
		r := request("GET", apiPath+"/records", "", nil)
		r.Header["Accept"] = strings.SplitAfter(accept, ", ")
		if answer := answered(h, r); answer.StatusCode != 200 || answer.Header.Get("Content-Type") != want {
			t.Errorf("Accept: %s: %s, %s", accept, answer.Status, answer.Header.Get("Content-Type"))
		}
	}
}
