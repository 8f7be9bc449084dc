// SPDX-License-Identifier: Apache-2.0

package web

import (
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/seine-crawler/seine/engine"
	"github.com/seine-crawler/seine/storage"
)

// press sends a form as a browser does, with or without a session and from some origin.
func press(h *Handler, name string, form url.Values, session bool, origin string) *http.Response {
	const kind = "application/x-www-form-urlencoded"
	r := request("POST", "/act/"+name, form.Encode(), map[string]string{"Content-Type": kind})
	if origin != "" {
		r.Header.Set("Origin", origin)
	}
	if session {
		r.AddCookie(ours(h))
	}
	return answered(h, r)
}

// TestButtons: a button does what it says and leads back to its page, which says so; without the token, or from another
// origin, it does nothing.
func TestButtons(t *testing.T) {
	s := newSite(t)
	h := New(s.e, Options{Token: testToken})
	const ours, foreign = "http://127.0.0.1:8080", "http://evil.example"
	host := url.Values{"host": {s.host}}
	for _, c := range []struct {
		name     string
		form     url.Values
		status   int
		to, says string
	}{
		{"pause", nil, 303, "/crawl?", "Paused."}, {"resume", nil, 303, "/crawl?", "The crawl goes on."},
		{"stop", nil, 409, "", "no crawl is running"},
		{"rate", url.Values{"delay": {"0.5"}, "fetchers": {"8"}}, 303, "/crawl?", "The rate is set."},
		{"rate", url.Values{"delay": {"-1"}}, 400, "", "0 or more"},
		{"rate", url.Values{"fetchers": {"0"}}, 400, "", "want 1 to"},
		{"rate", url.Values{"delay": {" "}, "fetchers": {""}}, 400, "", "Nothing was set"},
		{"seeds", url.Values{"seeds": {s.url + "/new\r\n" + s.url + "/newer\r\n"}}, 303, "/crawl?", "2 new seeds.<"},
		{"seeds", url.Values{"seeds": {s.url + "/new\n" + s.url + "/newest\nno url"}}, 303, "/crawl?",
			"1 new seed. Known before: 1. Refused, as they are no URLs or a filter denies them: 1.<"},
		{"seeds", url.Values{"seeds": {"no url"}}, 400, "", ""},
		{"seeds", url.Values{"seeds": {s.url + "/last"}, "url": {s.url + "/last"}}, 303, "/url?", "1 new seed.<"},
		{"block", host, 303, "/host?", "Blocked: nothing of it"},
		{"unblock", host, 303, "/host?", "It may be requested again."},
		{"recrawl", url.Values{"url": {s.url + "/"}}, 303, "/url?", "1 URL is due now. A running crawl fetches it"},
		{"delete", url.Values{"url": {s.url + "/newer"}}, 303, "/hosts?", "1 URL is deleted.<"},
		{"unknown", nil, 404, "", ""},
	} {
		if status := press(h, c.name, c.form, false, ours).StatusCode; status != 401 {
			t.Errorf("%s without a session: %d", c.name, status)
		}
		if status := press(h, c.name, c.form, true, foreign).StatusCode; status != 403 {
			t.Errorf("%s from another origin: %d", c.name, status)
		}
		answer := press(h, c.name, c.form, true, ours)
		to := answer.Header.Get("Location")
		if answer.StatusCode != c.status || !strings.HasPrefix(to, c.to) {
			t.Errorf("%s: %d to %q, want %d to %q", c.name, answer.StatusCode, to, c.status, c.to)
			continue
		}
		if c.to != "" {
			if status, _, body := opens(t, h, to); status != 200 || !strings.Contains(body, c.says) {
				t.Errorf("%s: %s answers %d without %q", c.name, to, status, c.says)
			}
		}
	}
	answer := press(h, "seeds", url.Values{"seeds": {"no url"}}, true, ours)
	if text, err := io.ReadAll(answer.Body); err != nil || !strings.Contains(string(text), "it must begin with https") {
		t.Errorf("seeds that are none: %s, %v", text, err)
	}
	for u, button := range map[string]string{"/last": "Fetch it again", "/nowhere": "Add it as a seed"} {
		_, _, body := opens(t, h, "/url?url="+url.QueryEscape(s.url+u))
		if !strings.Contains(body, button) || strings.Contains(body, "Delete") != (u == "/last") {
			t.Errorf("the page of %s has not the button %q, or one for what is not there", u, button)
		}
	}
	if r, err := s.e.Inspect().Record(s.url + "/newer"); err == nil {
		t.Errorf("it is not deleted: %v", r)
	}
	if list, err := s.e.Inspect().Blocked(); err != nil || len(list) > 0 {
		t.Errorf("still blocked: %v, %v", list, err)
	}
	_, _, body := opens(t, New(s.e, Options{}), "/crawl")
	if strings.Contains(body, `method="post"`) || !strings.Contains(body, "seine serve") {
		t.Error("without a token there are buttons, or nothing says why not")
	}
}

// TestURLHeading: a URL whose last fetch failed is not called fetched, unless a later fetch is not in crawldb yet.
func TestURLHeading(t *testing.T) {
	at := time.Date(2026, 11, 30, 8, 0, 0, 0, time.UTC)
	v := &urlView{URLStory: engine.URLStory{
		URL: "http://a.example/", Check: engine.URLCheck{Accepted: true}, Fetches: []engine.FetchView{{Time: at}},
		Record: &engine.RecordView{Status: storage.StatusUnfetched, Retries: 1, LastFetch: at},
	}}
	h := New(opened(t, t.TempDir()), Options{})
	for _, c := range []struct {
		fetched time.Time
		says    string
	}{{at, "Its last fetch failed"}, {at.Add(time.Second), "It is fetched"}} {
		v.Fetches[0].Time = c.fetched
		body, err := h.render("url", &page{Body: v})
		if err != nil || !strings.Contains(string(body), "<h2>"+c.says+"</h2>") {
			t.Errorf("fetched at %s: the page does not say %q, %v", c.fetched, c.says, err)
		}
	}
	// "seine serve" has no flags of the crawl: what it may not fetch, a crawl with --allow-private may.
	v.Check.Blocked, v.Record, v.Fetches = "port 8080: --allow-private permits it", nil, nil
	body, err := h.render("url", &page{Body: v})
	for _, says := range []string{"with the settings of this process", "a crawl with other settings may fetch it"} {
		if err != nil || !strings.Contains(string(body), says) {
			t.Errorf("of a port that this process may not use, the page does not say %q, %v", says, err)
		}
	}
}

// TestPagesLast: a button may take as long as the operation of the API that does the same, and so may a page that reads
// as much as one: no deadline of the connection ends them. Others are quick.
func TestPagesLast(t *testing.T) {
	s := newSite(t)
	h := New(s.e, Options{Token: testToken})
	host, form := url.QueryEscape(s.host), url.Values{"host": {s.host}}.Encode()
	for _, c := range []struct {
		method, address, body string
		lasts                 bool
	}{
		{"POST", "/act/recrawl", form, true}, {"GET", "/report/hosts", "", true},
		{"GET", "/host?host=" + host, "", true}, {"GET", "/crawl", "", false}, {"POST", "/act/delete", form, true},
	} {
		const kind = "application/x-www-form-urlencoded"
		r := request(c.method, c.address, c.body, map[string]string{"Content-Type": kind})
		r.AddCookie(ours(h))
		w := &deadlineWatch{ResponseRecorder: httptest.NewRecorder()}
		h.ServeHTTP(w, r)
		if w.read.IsZero() != c.lasts || w.Code >= 400 {
			t.Errorf("%s %s: status %d, it must be read until %v", c.method, c.address, w.Code, w.read)
		}
	}
}

// TestOriginOfForm: a button works where a browser says of its form no more than the origin, as over HTTP to another
// machine. What it says is "null" where the page's policy is no-referrer (Fetch, "append a request Origin header").
func TestOriginOfForm(t *testing.T) {
	h := New(opened(t, t.TempDir()), Options{Token: testToken})
	answer := answered(h, request("GET", "/crawl", "", nil))
	page, err := io.ReadAll(answer.Body)
	must(t, err)
	origin := "http://127.0.0.1:8080"
	if answer.Header.Get("Referrer-Policy") == "no-referrer" ||
		strings.Contains(string(page), `<meta name="referrer" content="no-referrer">`) {
		origin = "null"
	}
	if answer := press(h, "pause", nil, true, origin); answer.StatusCode != http.StatusSeeOther {
		t.Errorf("a form with the origin %s: %s", origin, answer.Status)
	}
}
