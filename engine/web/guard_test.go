// SPDX-License-Identifier: Apache-2.0

package web

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// answered is the answer of a handler to a request.
func answered(h *Handler, r *http.Request) *http.Response {
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w.Result()
}

func request(method, target, body string, head map[string]string) *http.Request {
	r := httptest.NewRequest(method, target, strings.NewReader(body))
	r.Host = "127.0.0.1:8080"
	for name, value := range head {
		if r.Header.Set(name, value); name == "Host" {
			r.Host = value
		}
	}
	return r
}

// ours is the cookie of a session with a handler at port 8080.
func ours(h *Handler) *http.Cookie {
	return &http.Cookie{Name: "seine-session-8080", Value: h.session("seine-session-8080")}
}

// TestGuard: what reads is served by each name that cannot be foreign; what changes something needs the token, and from
// a browser the same origin.
func TestGuard(t *testing.T) {
	names := []string{"Search.example", "Netz.Bücher.example."}
	h := New(opened(t, t.TempDir()), Options{Token: testToken, Hosts: names})
	bearer := "Bearer " + testToken
	for _, c := range []struct {
		method string
		head   map[string]string
		status int
		code   string
	}{
		{"GET", map[string]string{"Host": "localhost"}, 200, ""},
		{"GET", map[string]string{"Host": "LOCALHOST.:99"}, 200, ""},
		{"GET", map[string]string{"Host": "127.0.0.1"}, 200, ""},
		{"GET", map[string]string{"Host": "[::1]:80"}, 200, ""},
		{"GET", map[string]string{"Host": "10.1.2.3:80"}, 200, ""},
		{"GET", map[string]string{"Host": "search.example:8080"}, 200, ""},
		{"GET", map[string]string{"Host": "netz.xn--bcher-kva.example:8080"}, 200, ""},
		{"GET", map[string]string{"Host": "evil.example"}, 421, "host"},
		{"GET", map[string]string{"Host": "127.0.0.1.evil.example"}, 421, "host"},
		{"GET", map[string]string{"Host": "localhost.evil.example"}, 421, "host"},
		{"GET", map[string]string{"Host": ""}, 421, "host"},
		{"POST", nil, 401, "token"},
		{"POST", map[string]string{"Authorization": "Bearer x"}, 401, "token"},
		{"POST", map[string]string{"Authorization": testToken}, 401, "token"},
		{"POST", map[string]string{"Authorization": bearer}, 200, ""},
		{"POST", map[string]string{"Authorization": "bearer " + testToken}, 200, ""},
		{"POST", map[string]string{"Authorization": bearer, "Host": "evil.example"}, 421, "host"},
		{"POST", map[string]string{"Authorization": bearer, "Origin": "http://127.0.0.1:8080"}, 200, ""},
		{"POST", map[string]string{"Authorization": bearer, "Origin": "http://evil.example"}, 403, "origin"},
		{"POST", map[string]string{"Authorization": bearer, "Origin": "null"}, 403, "origin"},
		{"POST", map[string]string{"Authorization": bearer, "Sec-Fetch-Site": "same-origin"}, 200, ""},
		{"POST", map[string]string{"Authorization": bearer, "Sec-Fetch-Site": "same-site"}, 403, "origin"},
		{"POST", map[string]string{"Authorization": bearer, "Sec-Fetch-Site": "cross-site"}, 403, "origin"},
		{"POST", map[string]string{"Cookie": ours(h).String()}, 200, ""},
		// A server with accounts in front may send its own.
		{"POST", map[string]string{"Cookie": ours(h).String(), "Authorization": "Bearer x"}, 200, ""},
		{"POST", map[string]string{"Cookie": "seine-session=" + h.session("seine-session")}, 401, "token"},
		{"POST", map[string]string{"Cookie": "seine-session-8080=" + h.session("seine-session-81")}, 401, "token"},
		{"POST", map[string]string{"Cookie": ours(h).String(), "Host": "127.0.0.1:81"}, 401, "token"},
		{"POST", map[string]string{"Cookie": ours(h).Name + "=" + testToken}, 401, "token"},
		{"POST", map[string]string{"Cookie": ours(h).String(), "Origin": "http://a.b"}, 403, "origin"},
	} {
		path := map[string]string{"GET": "/index", "POST": "/crawl/pause"}[c.method]
		answer := answered(h, request(c.method, apiPath+path, "", c.head))
		var p Problem
		must(t, json.NewDecoder(answer.Body).Decode(&p))
		if answer.StatusCode != c.status || p.Code != c.code {
			t.Errorf("%s with %v: status %d, %+v", c.method, c.head, answer.StatusCode, p)
		}
		for name, value := range map[string]string{
			"Content-Security-Policy": contentPolicy, "X-Content-Type-Options": "nosniff",
			"Referrer-Policy": "same-origin", "Cross-Origin-Opener-Policy": "same-origin",
			"Cross-Origin-Resource-Policy": "same-origin", "Cache-Control": "no-store",
		} {
			if got := answer.Header.Get(name); got != value {
				t.Errorf("%s with %v: %s is %q", c.method, c.head, name, got)
			}
		}
	}
	without := New(opened(t, t.TempDir()), Options{})
	for _, token := range []string{"Bearer ", "Bearer"} {
		r := request("POST", apiPath+"/crawl/pause", "", map[string]string{"Authorization": token})
		if status := answered(without, r).StatusCode; status != 401 {
			t.Errorf("without a token: status %d", status)
		}
	}
	local := New(opened(t, t.TempDir()), Options{Local: true})
	foreign := map[string]string{"Host": "evil.example", "Origin": "http://evil.example"}
	if answer := answered(local, request("POST", apiPath+"/crawl/pause", "", foreign)); answer.StatusCode != 200 {
		t.Errorf("the owner is checked: status %d", answer.StatusCode)
	}
	if answer := answered(local, request("GET", "/debug/pprof/goroutine", "", foreign)); answer.StatusCode != 200 {
		t.Errorf("the owner has no token: status %d", answer.StatusCode)
	}
	if answer := answered(without, request("GET", "/?token=", "", nil)); len(answer.Cookies()) > 0 {
		t.Errorf("without a token a session is opened: %v", answer.Header)
	}
}

// TestSession: the address with the token opens a session and leads to the address without.
func TestSession(t *testing.T) {
	h := New(opened(t, t.TempDir()), Options{Token: testToken, Prefix: "/p"})
	answer := answered(h, request("GET", "/p/hosts?a=1&token="+testToken, "", nil))
	cookies := answer.Cookies()
	if answer.StatusCode != 303 || answer.Header.Get("Location") != "/p/hosts?a=1" || len(cookies) != 1 {
		t.Fatal(answer)
	}
	if body, err := io.ReadAll(answer.Body); err != nil || strings.Count(string(body), "<") > 2 {
		t.Errorf("a page with the way to it: %s, %v", body, err) // net/http says where it is in one link
	}
	if c := cookies[0]; !c.HttpOnly || c.SameSite != http.SameSiteStrictMode || c.Path != "/p/" ||
		strings.Contains(c.Value, testToken) || c.Secure {
		t.Error(c)
	}
	behind := request("GET", "/p/?token="+testToken, "", map[string]string{schemeHeader: "https"})
	if c := answered(h, behind).Cookies(); len(c) != 1 || !c[0].Secure {
		t.Errorf("the session of a server with TLS: %v", c) // it must not be sent without
	}
	r := request("POST", "/p"+apiPath+"/crawl/resume", "", nil)
	r.AddCookie(cookies[0])
	if status := answered(h, r).StatusCode; status != 200 {
		t.Errorf("status %d with the session", status)
	}
	for target, status := range map[string]int{
		"/p/?token=x": 401, "/p/?token=": 401, "/p//evil.example/?token=" + testToken: 303,
		"/p/?atoken=x": 200,
	} {
		answer := answered(h, request("GET", target, "", nil))
		if to := answer.Header.Get("Location"); answer.StatusCode != status || strings.HasPrefix(to, "//") {
			t.Errorf("%s: status %d, to %s", target, answer.StatusCode, to)
		}
	}
}

// TestNotServed: what the API does not have is a problem, too.
func TestNotServed(t *testing.T) {
	h := New(opened(t, t.TempDir()), Options{Token: testToken, Prefix: "/p"})
	bearer := map[string]string{"Authorization": "Bearer " + testToken, "Content-Type": "application/json"}
	for _, c := range []struct {
		method, target, body string
		status               int
		code, allow          string
	}{
		{"GET", "/p" + apiPath + "/nothing", "", 404, "no_operation", ""},
		{"POST", "/p" + apiPath + "/search", "", 405, "method", "GET, HEAD"},
		{"DELETE", "/p" + apiPath + "/seeds", "", 405, "method", "POST"},
		{"GET", "/p" + apiPath + "/seeds", "", 405, "method", "POST"},
		{"POST", "/p" + apiPath + "/seeds", `{"urls":["` + strings.Repeat("a", bodyMax) + `"]}`, 413, "too_large", ""},
	} {
		answer := answered(h, request(c.method, c.target, c.body, bearer))
		var p Problem
		text, _ := io.ReadAll(answer.Body)
		if err := json.Unmarshal(text, &p); err != nil || answer.StatusCode != c.status || p.Code != c.code ||
			p.Status != c.status || answer.Header.Get("Allow") != c.allow ||
			answer.Header.Get("Content-Type") != "application/problem+json" {
			t.Errorf("%s %s: status %d, %s", c.method, c.target, answer.StatusCode, text)
		}
	}
	for target, status := range map[string]map[string]int{ // without a token: what nobody takes needs none
		apiPath + "/seeds":   {"PUT": 405, "DELETE": 405, "POST": 401},
		apiPath + "/records": {"PUT": 405, "POST": 405},
		apiPath + "/nothing": {"PUT": 404, "POST": 404},
		"/urls":              {"PUT": 405, "POST": 405},
		"/act/stop":          {"PUT": 405, "POST": 401},
		"/act/nothing":       {"POST": 401},
	} {
		for method, want := range status {
			if answer := answered(h, request(method, "/p"+target, "", nil)); answer.StatusCode != want {
				t.Errorf("%s %s without a token: status %d, want %d", method, target, answer.StatusCode, want)
			}
		}
	}
	if answer := answered(h, request("HEAD", "/p"+apiPath+"/index", "", nil)); answer.StatusCode != 200 {
		t.Error("HEAD:", answer.Status)
	}
	for _, name := range []string{"/healthz", "/readyz"} {
		if answer := answered(h, request("GET", "/p"+name, "", nil)); answer.StatusCode != 200 {
			t.Error(name, answer.Status)
		}
	}
}

// TestDenied: a browser that asks for a page gets a page, which says what to do and, of a foreign name, nothing else.
func TestDenied(t *testing.T) {
	h := New(opened(t, t.TempDir()), Options{Token: testToken, Prefix: "/p"})
	for _, c := range []struct {
		method, target, host, says string
		status                     int
	}{
		{"GET", "/p/crawl", "evil.example", "seine serve with --host-name", 421},
		{"POST", "/p/act/stop", "127.0.0.1:8080", "seine serve", 401},
		{"GET", "/p/?token=x", "127.0.0.1:8080", "seine serve", 401},
		{"GET", "/p/nothing", "127.0.0.1:8080", "no such page", 404},
		{"GET", "/p/act/stop", "127.0.0.1:8080", "no such page", 404},
	} {
		for accept, kind := range map[string]string{
			"text/html,*/*;q=0.8": "text/html; charset=utf-8", "*/*": "application/problem+json",
		} {
			answer := answered(h, request(c.method, c.target, "", map[string]string{"Accept": accept, "Host": c.host}))
			text, _ := io.ReadAll(answer.Body)
			if answer.StatusCode != c.status || answer.Header.Get("Content-Type") != kind ||
				kind[0] == 't' && !strings.Contains(string(text), c.says) {
				t.Errorf("%s %s as %s: status %d, %s", c.method, c.target, kind, answer.StatusCode, text)
			}
			says := string(text)
			if c.status == 421 && (strings.Contains(says, "crawl is") || strings.Contains(says, "/p/")) {
				t.Errorf("a foreign name learns something: %s", text)
			}
		}
	}
	answer := answered(h, request("GET", "/p"+apiPath+"/nothing", "", map[string]string{"Accept": "text/html"}))
	if kind := answer.Header.Get("Content-Type"); kind != "application/problem+json" {
		t.Errorf("the API answers with %s", kind)
	}
}

// TestOverload: requests beyond the slots are refused and told when to try again.
func TestOverload(t *testing.T) {
	h := New(opened(t, t.TempDir()), Options{})
	for range streamsMax {
		h.streams <- struct{}{}
	}
	answer := answered(h, request("GET", apiPath+"/records", "", nil))
	if answer.StatusCode != 503 || answer.Header.Get("Retry-After") == "" {
		t.Error("records:", answer.Status)
	}
	if answer := answered(h, request("GET", apiPath+"/search?q=a", "", nil)); answer.StatusCode != 200 {
		t.Error("search:", answer.Status)
	}
	for range workersMax {
		h.workers <- struct{}{}
	}
	if answer := answered(h, request("GET", apiPath+"/search?q=a", "", nil)); answer.StatusCode != 503 {
		t.Error("search:", answer.Status)
	}
}

// TestToken: the token is made once, for the owner alone, and one that others may read is refused.
func TestToken(t *testing.T) {
	dir := t.TempDir()
	first, err := Token(dir)
	if err != nil || len(first) < 20 {
		t.Fatal(first, err)
	}
	name := filepath.Join(dir, tokenFile)
	if info, err := os.Stat(name); err != nil || info.Mode().Perm() != 0o600 {
		t.Error(info, err)
	}
	if again, err := Token(dir); again != first || err != nil {
		t.Error(again, err)
	}
	must(t, os.WriteFile(name, nil, 0o600)) // a crash came between its name and its text
	if other, err := Token(dir); other == first || len(other) < 20 || err != nil {
		t.Error(other, err)
	}
	must(t, os.Chmod(name, 0o644))
	if _, err := Token(dir); err == nil || !strings.Contains(err.Error(), "mode 0600") {
		t.Error(err)
	}
	if list, err := os.ReadDir(dir); err != nil || len(list) != 1 {
		t.Error(list, err)
	}
}

// TestTokenRace: callers that make a token at once get the same.
func TestTokenRace(t *testing.T) {
	dir := t.TempDir()
	tokens := make(chan string)
	const callers = 16
	for range callers {
		go func() {
			token, err := Token(dir)
			if err != nil {
				t.Error(err)
			}
			tokens <- token
		}()
	}
	first := <-tokens
	for range callers - 1 {
		if token := <-tokens; token != first || token == "" {
			t.Errorf("%q and %q", first, token)
		}
	}
}
