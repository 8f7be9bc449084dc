// SPDX-License-Identifier: Apache-2.0

package measure_test

import (
	"bytes"
	"fmt"
	"os"
	"sync"
	"testing"
	"time"

	"golang.org/x/net/html"

	"github.com/seine-crawler/seine/bench/simweb"
	"github.com/seine-crawler/seine/storage/urlkey"
)

// This file has what the benchmarks of the layers share: pages, and the way in which the test binary becomes the server
// of fetch_test.go. How to run all of them:
//
//	go test -run '^$' -bench . -benchtime 200ms ./bench/measure
//
// Each layer is measured beside the floor that it is built on, in the same run and on the same bytes: the ratio counts,
// not the numbers.

func TestMain(m *testing.M) {
	if os.Getenv(serverEnv) != "" {
		if err := runServer(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

// someDay is the time at which pages are made.
var someDay = time.Date(2026, 6, 1, 0, 0, 0, 0, time.UTC)

// page is a document with its URL.
type page struct {
	url  urlkey.URL
	text []byte // HTML
}

// simPages are 400 pages of 12 KB with 50 links, on 40 hosts.
var simPages = sync.OnceValue(func() []page {
	const hosts, each = 40, 10
	return makePages(hosts, each)
})

// makePages makes the first pages of hosts of 1,000 pages.
func makePages(hosts, each int) []page {
	web, err := simweb.New(simweb.Bench(hosts, 1000), 80)
	if err != nil {
		panic(err)
	}
	pages := make([]page, 0, hosts*each)
	for host := range hosts {
		for n := range each {
			u, err := urlkey.Parse(web.URL(host, n))
			if err != nil {
				panic(err)
			}
			pages = append(pages, page{u, web.AppendHTML(nil, host, n, someDay)})
		}
	}
	return pages
}

func totalBytes(pages []page) (n int) {
	for _, p := range pages {
		n += len(p.text)
	}
	return n
}

// hrefs returns the links of a page as they are written.
func hrefs(text []byte) (refs []string) {
	z := html.NewTokenizer(bytes.NewReader(text))
	for z.Next() != html.ErrorToken {
		t := z.Token()
		if t.Type != html.StartTagToken || t.Data != "a" {
			continue
		}
		for _, a := range t.Attr {
			if a.Key == "href" {
				refs = append(refs, a.Val)
			}
		}
	}
	return refs
}

// per reports the time of one of the n things that an iteration does.
func per(b *testing.B, n int, unit string) {
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(n), "ns/"+unit)
}

// rate reports how many things are done in a second if an iteration does n of them.
func rate(b *testing.B, n int, unit string) {
	b.ReportMetric(float64(n)*float64(b.N)/b.Elapsed().Seconds(), unit+"/s")
}
