// SPDX-License-Identifier: Apache-2.0

package hostile

import (
	"fmt"
	"strconv"
	"strings"
)

func redirect(to string) string {
	return response("302 Found", "text/plain", "", "Location: "+to+"\r\n")
}

// urlCases are redirects, and hosts and URLs that are odd or lead where nobody must go.
func urlCases() []Case {
	hop := Want{Results: []string{"302"}, Crawl: []string{"db_redir_temp", "db_gone"}, CrawlRequests: 13}
	out := []Case{
		{Number: 84, Name: "loop-self", Does: "redirects to itself", Want: hop, serve: answers(func(q *Request) string { return redirect(q.Path) })},
		{Number: 85, Name: "loop-2", Does: "redirects round a circle of two", Want: hop, serve: answers(func(q *Request) string {
			if q.Path == "/" {
				return redirect("/b")
			}
			return redirect("/")
		})},
		{Number: 86, Name: "chain-1000", Does: "redirects a thousand times", Want: hop, serve: answers(func(q *Request) string {
			n, _ := strconv.Atoi(strings.TrimPrefix(q.Path, "/"))
			return redirect(fmt.Sprintf("/%d", n+1))
		})},
		{Number: 87, Name: "ping", Does: "redirects to another host, which redirects back", Want: hop, serve: answers(func(q *Request) string { return redirect(otherHost(q, "ping", "pong") + "/") })},
		{Number: 87, Name: "pong", Does: "is that host", Want: hop, serve: answers(func(q *Request) string {
			n := len(q.Path)
			return redirect(otherHost(q, "pong", "ping") + "/" + strings.Repeat("x", n%50))
		})},
	}
	for i, to := range []string{"file:///etc/passwd", "ftp://example.com/", "gopher://example.com/", "javascript:alert(1)", "data:text/html,hi", "//nowhere.hostile.test/", `\\nowhere.hostile.test\x`} {
		out = append(out, Case{Number: 88, Name: fmt.Sprintf("redirect-scheme-%d", i), Does: "redirects to " + to, Want: hop, serve: keeps(redirect(to))})
	}
	for i, to := range ssrfTargets {
		out = append(out, Case{Number: 89, Name: fmt.Sprintf("ssrf-%d", i), Does: "leads to " + to, Policy: true, URL: to, serve: keeps(redirect(to)),
			Want: Want{Results: []string{"blocked_address", "blocked_port", "bad_url", "dns_nx"}, Requests: -1}})
	}
	for _, l := range [][2]string{{"ctl", "/a\x01b"}, {"8-bit", "/caf\xe9"}, {"60kib", "/" + strings.Repeat("a", 60<<10)}, {"empty", ""}, {"dots", "/" + strings.Repeat("../", 15_000) + "x"}} {
		name, to := l[0], l[1]
		out = append(out, Case{Number: 91, Name: "location-" + name, Does: "a Location that is odd: " + name, Want: Want{Results: []string{"302", "protocol_error/field", "head_too_large"}}, serve: keeps(redirect(to))})
	}
	inert := Want{Results: []string{"200"}, Crawl: []string{"db_fetched", "db_duplicate"}, Text: "what it points to is checked as a link is"}
	out = append(out,
		Case{Number: 91, Name: "location-missing", Does: "a redirect to nowhere", Want: Want{Results: []string{"302"}}, serve: keeps(response("302 Found", "text/plain", ""))},
		Case{Number: 92, Name: "meta-refresh", Does: "a refresh to the metadata service", Want: inert, serve: keeps(response("200 OK", "text/html", `<meta http-equiv=refresh content="0;url=http://169.254.169.254/"><p>refresh`))},
		Case{Number: 92, Name: "canonical", Does: "a canonical link to a private address", Want: inert, serve: keeps(response("200 OK", "text/html", `<link rel=canonical href="http://10.0.0.1/"><p>canonical`))},
		Case{Number: 92, Name: "base-href", Does: "a base on a private address", Want: inert, serve: keeps(response("200 OK", "text/html", `<base href="http://192.168.0.1/"><a href=x>base</a>`))},
		Case{Number: 94, Name: "userinfo-secrets", Does: "is linked to with a password", URL: "http://user:hunter2@userinfo-secrets.hostile.test:PORT/?token=t", serve: keeps(response("200 OK", "text/html", "userinfo")),
			Want: Want{Results: []string{"200", "bad_url"}, Absent: []string{"hunter2", "Authorization", "dXNlcj"}}},
		Case{Number: 96, Name: "host-header-echo", Does: "builds links from the Host header", Want: inert, serve: answers(func(q *Request) string {
			return response("200 OK", "text/html", `<a href="http://`+q.Host+`/x">echo</a>`)
		})})
	odd := []string{"http://exаmple.hostile.test/", "http://xn--example-.com/", "http://xn--zzzzzz9999999.test/", "http://a。hostile。test/", "http://straße.test/", "http://a\u200db.test/",
		"http://" + strings.Repeat("a", 64) + ".test/", "http://" + strings.Repeat("a.", 150) + "test/", "http://a_b.hostile-nobody.test/", "http://NOBODY.Hostile.TEST./"}
	for i, u := range odd {
		out = append(out, Case{Number: 95, Name: fmt.Sprintf("idn-%d", i), Does: "is named " + u[:min(len(u), 50)], URL: u, serve: keeps(response("200 OK", "text/html", "idn")), Want: Want{Results: []string{"bad_url", "dns_nx"}, Requests: -1}})
	}
	for i, port := range []string{":0", ":65536", ":22", ":x", ":-1"} {
		name := fmt.Sprintf("port-%d", i)
		out = append(out, Case{Number: 97, Name: name, Does: "is linked to at port " + port, Policy: true, URL: "http://" + name + domain + port + "/", serve: keeps(response("200 OK", "text/html", "port")),
			Want: Want{Results: []string{"bad_url", "blocked_port", "blocked_address"}, Requests: -1}})
	}
	return out
}

// ssrfTargets are spellings of places that a crawler of the public web must not touch.
var ssrfTargets = []string{"http://127.0.0.1:PORT/", "http://[::1]/", "http://169.254.169.254/latest/meta-data/", "http://[::ffff:7f00:1]/", "http://[64:ff9b::a9fe:a9fe]/",
	"http://2130706433/", "http://0x7f.1/", "http://127.1/", "http://①②⑦.0.0.1/", "http://localhost/", "http://localhost./", "http://metadata.google.internal/", "http://10.0.0.1:22/", "http://192.168.1.1:6379/",
	"http://0/", "http://[fd00::1]/"}

// otherHost is the origin of a case's host on the port that was asked.
func otherHost(q *Request, from, to string) string {
	return "http://" + strings.Replace(q.Host, from+domain, to+domain, 1)
}
