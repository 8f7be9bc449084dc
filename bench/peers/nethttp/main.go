// SPDX-License-Identifier: Apache-2.0

// Nethttp is the crawler that people write in Go without a framework: net/http, goquery, a queue in memory and some
// workers. It follows every link of every page on every host, each URL once, and obeys robots.txt. It keeps nothing of
// the pages.
package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/url"
	"sync"
	"time"

	"github.com/PuerkitoBio/goquery"
	"github.com/temoto/robotstxt"

	"github.com/seine-crawler/seine/bench/peers/hosts"
)

const agent = "nethttp-peer"

// crawler is shared by the workers.
type crawler struct {
	client *http.Client
	max    int

	mu      sync.Mutex
	changed sync.Cond
	queue   []*url.URL
	seen    map[string]bool
	busy    int // workers that have a page and may still add links
	begun   int
	pages   int
	failed  int

	robotsMu sync.Mutex
	robots   map[string]*hostRobots
}

// hostRobots is the robots.txt of a host, fetched once by the worker that needs it first.
type hostRobots struct {
	once sync.Once
	data *robotstxt.RobotsData
	err  error
}

func main() {
	seed := flag.String("seed", "", "URL to begin with")
	hostsFile := flag.String("hosts", "", "hosts(5) file of the web")
	concurrency := flag.Int("concurrency", 32, "requests at once")
	maxPages := flag.Int("max", 0, "stop after this number of pages (0: crawl to the end)")
	flag.Parse()

	dial, err := hosts.Dialer(*hostsFile)
	if err != nil {
		log.Fatalf("nethttp: %v", err)
	}
	u, err := url.Parse(*seed)
	if err != nil {
		log.Fatalf("nethttp: seed: %v", err)
	}
	c := &crawler{
		client: &http.Client{
			Timeout:   30 * time.Second,
			Transport: &http.Transport{DialContext: dial, MaxIdleConnsPerHost: *concurrency},
		},
		max: *maxPages, seen: map[string]bool{}, robots: map[string]*hostRobots{},
	}
	c.changed.L = &c.mu
	c.add([]*url.URL{u})
	var workers sync.WaitGroup
	for range *concurrency {
		workers.Go(c.work)
	}
	workers.Wait()
	fmt.Printf("%d pages, %d failed\n", c.pages, c.failed)
}

// add queues the URLs that are new.
func (c *crawler) add(urls []*url.URL) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, u := range urls {
		u.Fragment = ""
		if s := u.String(); (u.Scheme == "http" || u.Scheme == "https") && !c.seen[s] {
			c.seen[s] = true
			c.queue = append(c.queue, u)
		}
	}
	c.changed.Broadcast()
}

// next waits for a URL. It returns nil at the end: nothing is queued and no worker may add to it.
func (c *crawler) next() *url.URL {
	c.mu.Lock()
	defer c.mu.Unlock()
	for {
		if c.max > 0 && c.begun >= c.max {
			return nil
		}
		if len(c.queue) > 0 {
			u := c.queue[0]
			c.queue = c.queue[1:]
			c.busy++
			c.begun++
			return u
		}
		if c.busy == 0 {
			return nil
		}
		c.changed.Wait()
	}
}

func (c *crawler) work() {
	for u := c.next(); u != nil; u = c.next() {
		links, err := c.visit(u)
		c.add(links)
		c.mu.Lock()
		c.busy--
		if err != nil {
			c.failed++
		} else {
			c.pages++
		}
		c.changed.Broadcast()
		c.mu.Unlock()
		if err != nil {
			log.Printf("nethttp: %v", err)
		}
	}
}

var errForbidden = errors.New("forbidden by robots.txt")

// visit fetches a page and returns its links.
func (c *crawler) visit(u *url.URL) ([]*url.URL, error) {
	allowed, err := c.allowed(u)
	if err != nil {
		return nil, err
	}
	if !allowed {
		return nil, fmt.Errorf("%s: %w", u, errForbidden)
	}
	resp, err := c.get(u.String())
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		_, _ = io.Copy(io.Discard, resp.Body) // so that the connection can be reused
		return nil, fmt.Errorf("%s: %s", u, resp.Status)
	}
	doc, err := goquery.NewDocumentFromReader(resp.Body)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", u, err)
	}
	var links []*url.URL
	doc.Find("a[href]").Each(func(_ int, s *goquery.Selection) {
		if link, err := resp.Request.URL.Parse(s.AttrOr("href", "")); err == nil {
			links = append(links, link)
		}
	})
	return links, nil
}

func (c *crawler) allowed(u *url.URL) (bool, error) {
	c.robotsMu.Lock()
	r := c.robots[u.Host]
	if r == nil {
		r = &hostRobots{}
		c.robots[u.Host] = r
	}
	c.robotsMu.Unlock()
	r.once.Do(func() {
		resp, err := c.get(u.Scheme + "://" + u.Host + "/robots.txt")
		if err != nil {
			r.err = err
			return
		}
		defer resp.Body.Close()
		r.data, r.err = robotstxt.FromResponse(resp)
	})
	if r.err != nil {
		return false, fmt.Errorf("robots.txt of %s: %w", u.Host, r.err)
	}
	return r.data.TestAgent(u.RequestURI(), agent), nil
}

func (c *crawler) get(u string) (*http.Response, error) {
	req, err := http.NewRequest(http.MethodGet, u, nil)
	if err != nil {
		return nil, err
	}
	req.Header.Set("User-Agent", agent)
	return c.client.Do(req)
}
