// SPDX-License-Identifier: Apache-2.0

// Colly is the crawler that people write with gocolly/colly: asynchronous, every link of every page on every host, each
// URL once, robots.txt obeyed. It keeps nothing of the pages.
//
// Colly looks up a URL among the visited ones and adds it in two steps, so several pages that link to the same new URL
// at once may all visit it. With -own-visited the program keeps a set without this gap.
package main

import (
	"flag"
	"fmt"
	"log"
	"net/http"
	"sync"
	"sync/atomic"

	"github.com/gocolly/colly/v2"

	"github.com/seine-crawler/seine/bench/peers/hosts"
)

func main() {
	seed := flag.String("seed", "", "URL to begin with")
	hostsFile := flag.String("hosts", "", "hosts(5) file of the web")
	concurrency := flag.Int("concurrency", 32, "requests at once")
	maxPages := flag.Uint("max", 0, "stop after this number of requests (0: crawl to the end)")
	ownVisited := flag.Bool("own-visited", false, "keep a set of visited URLs beside colly's")
	flag.Parse()

	dial, err := hosts.Dialer(*hostsFile)
	if err != nil {
		log.Fatalf("colly: %v", err)
	}
	c := colly.NewCollector(colly.Async(true), colly.MaxRequests(uint32(*maxPages)))
	c.IgnoreRobotsTxt = false
	c.WithTransport(&http.Transport{DialContext: dial, MaxIdleConnsPerHost: *concurrency})
	if err := c.Limit(&colly.LimitRule{DomainGlob: "*", Parallelism: *concurrency}); err != nil {
		log.Fatalf("colly: %v", err)
	}

	var pages, failed atomic.Int64
	var visited sync.Map
	c.OnHTML("a[href]", func(e *colly.HTMLElement) {
		if *ownVisited {
			if _, known := visited.LoadOrStore(e.Request.AbsoluteURL(e.Attr("href")), true); known {
				return
			}
		}
		// The error says that the URL was visited before or must not be: neither matters here.
		_ = e.Request.Visit(e.Attr("href"))
	})
	c.OnScraped(func(*colly.Response) { pages.Add(1) })
	c.OnError(func(r *colly.Response, err error) {
		if failed.Add(1) <= 10 {
			log.Printf("colly: %s: %v", r.Request.URL, err)
		}
	})
	visited.Store(*seed, true)
	if err := c.Visit(*seed); err != nil {
		log.Fatalf("colly: %s: %v", *seed, err)
	}
	c.Wait()
	fmt.Printf("%d pages, %d failed\n", pages.Load(), failed.Load())
}
