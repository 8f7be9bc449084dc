// SPDX-License-Identifier: Apache-2.0

package engine_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/seine-crawler/seine/engine"
	"github.com/seine-crawler/seine/engine/policy"
)

// turns is a site of many names on one address. It notes requests to one host that come too soon after another.
type turns struct {
	mu    sync.Mutex
	busy  map[string]int
	ended map[string]time.Time
	rude  []string
	asked []string
}

// enter begins a request to a host and returns its end.
func (s *turns) enter(host, path string, delay time.Duration) func() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.asked = append(s.asked, host+path)
	if s.busy[host]++; s.busy[host] > 1 {
		s.rude = append(s.rude, host+path+" at once with another")
	}
	if last, ok := s.ended[host]; ok && time.Since(last) < delay {
		s.rude = append(s.rude, fmt.Sprintf("%s%s %s after the last", host, path, time.Since(last)))
	}
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.busy[host]--
		s.ended[host] = time.Now()
	}
}

// robotsRedirects says where a path of a host is redirected to.
var robotsRedirects = map[string]string{
	"a.example/robots.txt":    "www.example/robots.txt",
	"b.example/robots.txt":    "www.example/robots.txt",
	"self.example/robots.txt": "self.example/r.txt",
	"long.example/robots.txt": "long.example/1",
	"long.example/1":          "long.example/2",
	"long.example/2":          "long.example/3",
	"long.example/3":          "long.example/4",
	"long.example/4":          "long.example/5",
	"long.example/5":          "long.example/6",
	"lost.example/robots.txt": "down.example/robots.txt",
}

// TestRobotsRedirects: the target of a redirected robots.txt is requested in the turn of its host. This holds for the
// same host, for a host that many others redirect to, and for one with pages of its own. A chain that is too long
// allows everything; a host that does not answer allows nothing.
func TestRobotsRedirects(t *testing.T) {
	t.Parallel()
	const delay = 30 * time.Millisecond
	for _, fetchers := range []int{1, 8} {
		t.Run(fmt.Sprint(fetchers, " fetchers"), func(t *testing.T) {
			t.Parallel()
			site := &turns{busy: map[string]int{}, ended: map[string]time.Time{}}
			s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				host, port, _ := strings.Cut(r.Host, ":")
				defer site.enter(host, r.URL.Path, delay)()
				to := robotsRedirects[host+r.URL.Path]
				switch {
				case to != "":
					name, path, _ := strings.Cut(to, "/")
					if name == "down.example" {
						port = "1" // where nobody listens
					}
					http.Redirect(w, r, "http://"+name+":"+port+"/"+path, http.StatusFound)
				case r.URL.Path == "/robots.txt" || r.URL.Path == "/r.txt":
					fmt.Fprint(w, "User-agent: *\nDisallow: /no")
				default:
					w.Header().Set("Content-Type", "text/html")
					fmt.Fprintf(w, `This is %s of %s. <a href=/yes>yes</a> <a href=/no>no</a>`, r.URL.Path, host)
				}
			}))
			defer s.Close()
			o := siteOptions(t)
			o.Delay, o.Concurrency = delay, fetchers
			o.Hosts = loopbackHosts("a.example", "b.example", "www.example", "self.example", "long.example",
				"lost.example", "down.example")
			port := s.URL[strings.LastIndexByte(s.URL, ':'):]
			var seeds []string
			for _, h := range []string{"a", "b", "www", "self", "long", "lost"} {
				seeds = append(seeds, "http://"+h+".example"+port+"/")
			}
			e := open(t, o)
			ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
			defer cancel()
			c := engine.CrawlOptions{Inject: engine.InjectOptions{URLs: seeds}, Patience: time.Nanosecond}
			r, err := e.Crawl(ctx, c)
			if err != nil {
				t.Fatal(err)
			}
			if r.Fetched != 4*2+3 || r.RobotsDenied != 4 {
				t.Errorf("%d fetched, %d denied", r.Fetched, r.RobotsDenied)
			}
			if len(site.rude) > 0 {
				t.Errorf("%s", strings.Join(site.rude, "; "))
			}
			asked := " " + strings.Join(site.asked, " ") + " "
			for url, n := range map[string]int{
				"a.example/yes":      1,
				"self.example/r.txt": 1,
				"long.example/no":    1,
				"long.example/5":     1,
				"long.example/6":     0,
				"lost.example/":      0,
			} {
				if got := strings.Count(asked, " "+url+" "); got != n {
					t.Errorf("%s was requested %d times, want %d", url, got, n)
				}
			}
			check, err := e.Inspect().Check("http://lost.example"+port+"/", policy.NormalizeInject)
			if err != nil || check.Known.Robots != "unreachable" {
				t.Errorf("lost: %+v, %v", check.Known, err)
			}
			mustClose(t, e)
		})
	}
}
