// SPDX-License-Identifier: Apache-2.0

package policy_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/seine-crawler/seine/engine/policy"
	"github.com/seine-crawler/seine/storage/urlkey"
)

// A crawl's own filter, next to the default ones.
func ExampleDefaultFilters() {
	noPrint := policy.URLFilterFunc(func(u urlkey.URL) string {
		if strings.HasPrefix(u.Path(), "/print/") {
			return "print_version"
		}
		return ""
	})
	filters := append(policy.DefaultFilters(time.Now()), noPrint)
	for _, url := range []string{"https://example.org/a", "https://example.org/print/a", "https://example.org/a.png"} {
		u, err := urlkey.Parse(url)
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Printf("%s %q\n", u, filters.Accept(u))
	}
	// Output:
	// https://example.org/a ""
	// https://example.org/print/a "print_version"
	// https://example.org/a.png "suffix"
}

// Rules in a file that people may edit while a crawl runs.
func ExampleWatchFile() {
	dir, err := os.MkdirTemp("", "rules")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "rules.txt")
	if err := os.WriteFile(path, []byte("-/private/\n+.\n"), 0o600); err != nil {
		fmt.Println(err)
		return
	}
	f, err := policy.WatchFile(path, "URL rules", policy.ParseRules)
	if err != nil {
		fmt.Println(err)
		return
	}
	u, err := urlkey.Parse("https://example.org/private/x")
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("%q\n", f.Accept(u))

	if err := os.WriteFile(path, []byte("+.\n"), 0o600); err != nil {
		fmt.Println(err)
		return
	}
	changed, err := f.Refresh() // the engine calls it a few times a second
	fmt.Printf("changed: %t, %v\n", changed, err)
	fmt.Printf("%q\n", f.Accept(u))
	// Output:
	// "rules"
	// changed: true, <nil>
	// ""
}

// A slow host, and a domain that needs a login.
func ExampleNewHostTable() {
	table, err := policy.NewHostTable(map[string]policy.HostSettings{
		"slow.example.org": {Delay: 30 * time.Second},
		"*.example.com":    {Username: "seine", Password: "correct horse", MaxPages: 10_000},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, host := range []string{"slow.example.org", "docs.example.com:8443", "example.net"} {
		h, err := urlkey.ParseHost(host)
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(host, table.Settings(h))
	}
	// Output:
	// slow.example.org delay 30s
	// docs.example.com:8443 username "seine", password …, at most 10000 pages
	// example.net <nil>
}
