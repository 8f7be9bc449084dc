// SPDX-License-Identifier: Apache-2.0

package hostile

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// redirect is a 302 to a location, which is sent unchanged.
func redirect(to string) string {
	return response("302 Found", "text/plain", "", "Location: "+to+"\r\n")
}

// urlCases are redirects, and hosts and URLs that are odd or lead where a crawler must not go.
func urlCases() []Case {
	return slices.Concat(loopCases(), redirectCases(), inertCases(), nameCases())
}

// hop is what is required of a redirect: it is stored, not followed by the client.
var hop = Want{Results: []string{"302"}, Crawl: []string{"db_redir_temp", "db_gone"}, CrawlRequests: 13}

// loopCases are redirects that lead round in circles or on and on.
func loopCases() []Case {
	redirects := func(number int, name, does string, to func(q *request) string) Case {
		serve := answers(func(q *request) string { return redirect(to(q)) })
		return Case{Number: number, Name: name, Does: does, Want: hop, serve: serve}
	}
	return []Case{
		redirects(84, "loop-self", "redirects to itself", func(q *request) string { return q.Path }),
		redirects(85, "loop-2", "redirects round a circle of two", func(q *request) string {
			if q.Path == "/" {
				return "/b"
			}
			return "/"
		}),
		redirects(86, "chain-1000", "redirects a thousand times", func(q *request) string {
			n, _ := strconv.Atoi(strings.TrimPrefix(q.Path, "/"))
			return fmt.Sprintf("/%d", n+1)
		}),
		redirects(87, "ping", "redirects to another host, which redirects back", func(q *request) string {
			return otherHost(q, "ping", "pong") + "/"
		}),
		redirects(87, "pong", "is that host", func(q *request) string {
			return otherHost(q, "pong", "ping") + "/" + strings.Repeat("x", len(q.Path)%50)
		}),
	}
}

// redirectCases are redirects to other schemes, to forbidden addresses and to odd locations.
func redirectCases() (out []Case) {
	for i, to := range []string{
		"file:///etc/passwd", "ftp://example.com/", "gopher://example.com/", "javascript:alert(1)",
		"data:text/html,hi", "//nowhere.hostile.test/", `\\nowhere.hostile.test\x`,
	} {
		out = append(out, Case{
			Number: 88, Name: fmt.Sprintf("redirect-scheme-%d", i), Does: "redirects to " + to,
			Want:  hop,
			serve: keeps(redirect(to)),
		})
	}
	for i, to := range ssrfTargets {
		out = append(out, Case{
			Number: 89, Name: fmt.Sprintf("ssrf-%d", i), Does: "leads to " + to, Policy: true, URL: to,
			Want:  Want{Results: []string{"blocked_address", "blocked_port", "bad_url", "dns_nx"}, Requests: -1},
			serve: keeps(redirect(to)),
		})
	}
	for _, l := range []struct{ name, to string }{
		{"ctl", "/a\x01b"},
		{"8-bit", "/caf\xe9"},
		{"60kib", "/" + strings.Repeat("a", 60<<10)},
		{"empty", ""},
		{"dots", "/" + strings.Repeat("../", 15_000) + "x"},
	} {
		out = append(out, Case{
			Number: 91, Name: "location-" + l.name, Does: "a Location that is odd: " + l.name,
			Want:  Want{Results: []string{"302", "protocol_error/field", "head_too_large"}},
			serve: keeps(redirect(l.to)),
		})
	}
	return append(out, Case{
		Number: 91, Name: "location-missing", Does: "a redirect to nowhere",
		Want:  Want{Results: []string{"302"}},
		serve: keeps(response("302 Found", "text/plain", "")),
	})
}

// inertCases are pages whose links lead where a crawler must not go, and must not harm by being fetched.
func inertCases() []Case {
	inert := Want{
		Results: []string{"200"}, Crawl: []string{"db_fetched", "db_duplicate"},
		Text: "what it points to is checked as a link is",
	}
	page := func(number int, name, does, html string) Case {
		serve := keeps(response("200 OK", "text/html", html))
		return Case{Number: number, Name: name, Does: does, Want: inert, serve: serve}
	}
	return []Case{
		page(92, "meta-refresh", "a refresh to the metadata service",
			`<meta http-equiv=refresh content="0;url=http://169.254.169.254/"><p>refresh`),
		page(92, "canonical", "a canonical link to a private address",
			`<link rel=canonical href="http://10.0.0.1/"><p>canonical`),
		page(92, "base-href", "a base on a private address",
			`<base href="http://192.168.0.1/"><a href=x>base</a>`),
		{
			Number: 94, Name: "userinfo-secrets", Does: "is linked to with a password",
			URL:   "http://user:hunter2@userinfo-secrets.hostile.test:PORT/?token=t",
			Want:  Want{Results: []string{"200", "bad_url"}, Absent: []string{"hunter2", "Authorization", "dXNlcj"}},
			serve: keeps(response("200 OK", "text/html", "userinfo")),
		},
		{
			Number: 96, Name: "host-header-echo", Does: "builds links from the Host header",
			Want: inert,
			serve: answers(func(q *request) string {
				return response("200 OK", "text/html", `<a href="http://`+q.Host+`/x">echo</a>`)
			}),
		},
	}
}

// nameCases are links to odd host names and ports.
func nameCases() (out []Case) {
	for i, u := range []string{
		"http://exаmple.hostile.test/", "http://xn--example-.com/", "http://xn--zzzzzz9999999.test/",
		"http://a。hostile。test/", "http://straße.test/", "http://a\u200db.test/",
		"http://" + strings.Repeat("a", 64) + ".test/", "http://" + strings.Repeat("a.", 150) + "test/",
		"http://a_b.hostile-nobody.test/", "http://NOBODY.Hostile.TEST./",
	} {
		out = append(out, Case{
			Number: 95, Name: fmt.Sprintf("idn-%d", i), Does: "is named " + u[:min(len(u), 50)], URL: u,
			Want:  Want{Results: []string{"bad_url", "dns_nx"}, Requests: -1},
			serve: keeps(response("200 OK", "text/html", "idn")),
		})
	}
	for i, port := range []string{":0", ":65536", ":22", ":x", ":-1"} {
		name := fmt.Sprintf("port-%d", i)
		out = append(out, Case{
			Number: 97, Name: name, Does: "is linked to at port " + port, Policy: true,
			URL:   "http://" + name + domain + port + "/",
			Want:  Want{Results: []string{"bad_url", "blocked_port", "blocked_address"}, Requests: -1},
			serve: keeps(response("200 OK", "text/html", "port")),
		})
	}
	return out
}

// ssrfTargets are spellings of addresses that a crawler of the public web must not touch.
var ssrfTargets = []string{
	"http://127.0.0.1:PORT/", "http://[::1]/", "http://169.254.169.254/latest/meta-data/",
	"http://[::ffff:7f00:1]/", "http://[64:ff9b::a9fe:a9fe]/", "http://2130706433/", "http://0x7f.1/",
	"http://127.1/", "http://①②⑦.0.0.1/", "http://localhost/", "http://localhost./",
	"http://metadata.google.internal/", "http://10.0.0.1:22/", "http://192.168.1.1:6379/", "http://0/",
	"http://[fd00::1]/",
}

// otherHost is the origin of another case's host, on the port of the request.
func otherHost(q *request, from, to string) string {
	return "http://" + strings.Replace(q.Host, from+domain, to+domain, 1)
}
