// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

// TestMain makes the test binary the command seine for the scripts.
func TestMain(m *testing.M) {
	if len(os.Args) == 2 && os.Args[1] == "read-pdf" { // seine calls the program that it is
		main()
	}
	testscript.Main(m, map[string]func(){"seine": main})
}

// TestScripts runs testdata/script/*.txtar: what a person types and what comes of it. $SITE is a small
// site on loopback.
func TestScripts(t *testing.T) {
	pages := map[string]string{
		"/":           `<title>Home of nets</title><p>Welcome. <a href="/mend.html">Mending nets</a> <a href="/gone.html">old page</a> <a href="/moved">moved page</a> <a href="/copy.html">copy</a>`,
		"/mend.html":  `<title>Mending</title><p>Find the torn mesh and begin above it, with needle and twine, until the net is whole again. <a href="/">home</a>`,
		"/copy.html":  `<title>Mending</title><p>Find the torn mesh and begin above it, with needle and twine, until the net is whole again. <a href="/">home</a>`,
		"/robots.txt": "User-agent: *\nDisallow: /private/\n",
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, ok := pages[r.URL.Path]
		switch {
		case r.URL.Path == "/moved":
			http.Redirect(w, r, "/mend.html", http.StatusMovedPermanently)
		case !ok:
			http.NotFound(w, r)
		default:
			fmt.Fprint(w, body)
		}
	}))
	t.Cleanup(server.Close) // the scripts run after this function
	testscript.Run(t, testscript.Params{
		Dir: filepath.Join("testdata", "script"),
		Setup: func(env *testscript.Env) error {
			env.Setenv("SITE", server.URL)
			env.Setenv("HOSTPORT", strings.TrimPrefix(server.URL, "http://"))
			return os.WriteFile(filepath.Join(env.WorkDir, "seeds"), []byte(server.URL+"\n"), 0o644)
		},
	})
}
