// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
)

// TestMain makes the test binary the command seine for the scripts.
func TestMain(m *testing.M) {
	if len(os.Args) == 2 && os.Args[1] == "read-pdf" { // seine runs its own program
		main()
	}
	testscript.Main(m, map[string]func(){"seine": main})
}

const (
	homePage = `<title>Home of nets</title><p>Welcome. <a href="/mend.html">Mending nets</a>
		<a href="/gone.html">old page</a> <a href="/moved">moved page</a> <a href="/copy.html">copy</a>`
	mendPage = `<title>Mending</title><p>Find the torn mesh and begin above it, with needle and twine,
		until the net is whole again. <a href="/">home</a>`
	membersPage = `<title>Members</title><p>Secret knots of the crew.`
)

// logText is the text of pages with values: /log/a.html and /log/b.html are near-duplicates.
func logText() string {
	var b strings.Builder
	for day := range 60 {
		fmt.Fprintf(&b, "On evening %d the keeper wrote that %d ships had passed, of %d. ", day, 3*day%41, 7*day%53)
	}
	return b.String()
}

func logPage(title, date, text string) string {
	return `<html lang="en"><head><title>Log ` + title + `</title><meta property="article:published_time" content="` +
		date + `"></head><body><main><article><p>` + text + `</p></article></main></body></html>`
}

// TestScripts runs testdata/script/*.txtar: commands, and the output that they must have. $SITE is a small site on
// loopback, $HOSTPORT its address, $PORT its port.
func TestScripts(t *testing.T) {
	pages := map[string]string{
		"/":           homePage,
		"/mend.html":  mendPage,
		"/copy.html":  mendPage,
		"/log/a.html": logPage("A", "2023-05-01", logText()),
		"/log/b.html": logPage("B", "2024-06-01", logText()+"Then it was calm again."),
		"/log/c.html": logPage("C", "2022-07-01", "The keeper was ill."),
		"/robots.txt": "User-agent: *\nDisallow: /private/\n",
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, ok := pages[r.URL.Path]
		_, port, _ := net.SplitHostPort(r.Host)
		if strings.HasPrefix(r.Host, "e.example") { // whose time is limited to less
			time.Sleep(5 * time.Millisecond)
		}
		switch {
		case r.URL.Path == "/moved":
			http.Redirect(w, r, "/mend.html", http.StatusMovedPermanently)
		case r.URL.Path == "/out.html":
			fmt.Fprintf(w, `<title>Out</title><a href="http://elsewhere.example:%s/">elsewhere</a>`, port)
		case strings.HasPrefix(r.Host, "shut.example") && r.URL.Path == "/robots.txt":
			fmt.Fprint(w, "User-agent: *\nDisallow: /\n")
		case strings.HasPrefix(r.Host, "ill.example") && r.URL.Path == "/robots.txt":
			w.WriteHeader(http.StatusInternalServerError)
		case r.URL.Path == "/members/" && !isMember(r):
			w.WriteHeader(http.StatusUnauthorized)
		case r.URL.Path == "/members/":
			fmt.Fprint(w, membersPage)
		case !ok:
			http.NotFound(w, r)
		default:
			fmt.Fprint(w, body)
		}
	}))
	t.Cleanup(server.Close) // the scripts run after this function
	secure := httptest.NewTLSServer(server.Config.Handler)
	secure.Config.ErrorLog = log.New(io.Discard, "", 0) // clients that do not trust its certificate
	t.Cleanup(secure.Close)
	closed, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { closed.Close() })
	_, closedPort, _ := net.SplitHostPort(closed.Addr().String())
	closed.Close() // nothing listens there
	testscript.Run(t, testscript.Params{
		Dir: filepath.Join("testdata", "script"),
		Setup: func(env *testscript.Env) error {
			address := strings.TrimPrefix(server.URL, "http://")
			env.Setenv("SITE", server.URL)
			env.Setenv("HOSTPORT", address)
			env.Setenv("TLSPORT", secure.URL[strings.LastIndexByte(secure.URL, ':')+1:])
			env.Setenv("CLOSEDPORT", closedPort)
			env.Setenv("PORT", address[strings.LastIndexByte(address, ':')+1:])
			return os.WriteFile(filepath.Join(env.WorkDir, "seeds"), []byte(server.URL+"\n"), 0o644)
		},
	})
}

// isMember reports whether a request has the header, cookie and password of hosts.txtar.
func isMember(r *http.Request) bool {
	session, err := r.Cookie("session")
	user, password, _ := r.BasicAuth()
	return err == nil && session.Value == "one" && r.Header.Get("X-Key") == "twine" &&
		user == "crew" && password == "shoal"
}
