// SPDX-License-Identifier: Apache-2.0

package measure_test

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/valyala/fasthttp"

	"github.com/seine-crawler/seine/bench/simweb"
	"github.com/seine-crawler/seine/engine/fetch"
	"github.com/seine-crawler/seine/storage/urlkey"
)

// What is measured: pages of 12 KB fetched over loopback by 64 goroutines from 64 hosts with an address each, and the
// CPU time that the client's process takes for one (getrusage: user and system, garbage collection included). The
// server is this binary run again, so that its CPU time is not counted; it uses the same cores, so pages/s are for
// both. "kept-alive" is simweb on kept connections; "new-connection" is a server that says "Connection: close". The
// floor is fasthttp.HostClient, one for each host, whose Do reads the same bytes into a reused response, without
// deadlines, guarded addresses, byte budgets or heads kept as they were sent. How to run:
//
//	go test -run '^$' -bench Fetch ./bench/measure

// serverEnv makes this binary a server, see TestMain.
const serverEnv = "SEINE_BENCH_SERVER"

const (
	fetchers    = 64
	pagesAHost  = 16 // that are requested
	fetchWarmUp = 2 * fetchers
)

func fetchWeb(port int) (*simweb.Web, error) { return simweb.New(simweb.Bench(fetchers, 1000), port) }

// runServer serves until its standard input ends, as it does when the benchmark's process ends.
func runServer() error {
	web, err := fetchWeb(0)
	if err != nil {
		return err
	}
	kept, err := simweb.Serve(context.Background(), web, simweb.ServerOptions{})
	if err != nil {
		return err
	}
	defer kept.Close()
	pages := map[string][]byte{}
	for host := range fetchers {
		for n := range pagesAHost {
			pages[strings.TrimPrefix(kept.Web.URL(host, n), "http://")] = kept.Web.AppendHTML(nil, host, n, someDay)
		}
	}
	closing := &fasthttp.Server{DisableKeepalive: true, Handler: func(ctx *fasthttp.RequestCtx) {
		host, _, _ := strings.Cut(string(ctx.Host()), ":")
		text, ok := pages[host+":"+strconv.Itoa(kept.Port())+string(ctx.RequestURI())]
		if !ok {
			ctx.SetStatusCode(fasthttp.StatusNotFound)
		}
		ctx.SetContentType("text/html; charset=utf-8")
		ctx.SetBody(text)
	}}
	port := 0
	for host := range fetchers {
		l, err := net.Listen("tcp", net.JoinHostPort(kept.Web.Address(host), strconv.Itoa(port)))
		if err != nil {
			return err
		}
		port = l.Addr().(*net.TCPAddr).Port // a port that is free on the first address is nearly always free on all
		go func() { _ = closing.Serve(l) }()
	}
	fmt.Println(kept.Port(), port)
	_, err = io.Copy(io.Discard, os.Stdin)
	return err
}

// startServer runs this binary again as the server and returns its ports.
func startServer(b *testing.B) (kept, closing int) {
	self, err := os.Executable()
	if err != nil {
		b.Fatal(err)
	}
	cmd := exec.Command(self)
	cmd.Env = append(os.Environ(), serverEnv+"=1")
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	out, err2 := cmd.StdoutPipe()
	if err := errors.Join(err, err2, cmd.Start()); err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		in.Close()
		if err := cmd.Wait(); err != nil {
			b.Error(err)
		}
	})
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		b.Fatal(err)
	}
	if _, err := fmt.Sscan(line, &kept, &closing); err != nil {
		b.Fatal(err)
	}
	return kept, closing
}

// target is a page to fetch.
type target struct {
	url  urlkey.URL
	addr netip.Addr
	text []byte // the body that must come
}

// targets are pages by host, requested at a port. The port in their links is simweb's.
func targets(b *testing.B, port, linked int) [fetchers][pagesAHost]target {
	web, err := fetchWeb(port)
	made, err2 := fetchWeb(linked)
	if err := errors.Join(err, err2); err != nil {
		b.Fatal(err)
	}
	var all [fetchers][pagesAHost]target
	for host := range fetchers {
		for n := range pagesAHost {
			u, err := urlkey.Parse(web.URL(host, n))
			if err != nil {
				b.Fatal(err)
			}
			all[host][n] = target{u, netip.MustParseAddr(web.Address(host)), made.AppendHTML(nil, host, n, someDay)}
		}
	}
	return all
}

// getter makes one exchange and hands the body to check.
type getter func(t *target, check func(body []byte) error) error

// seineGetter uses one client for all hosts, as a crawl does.
func seineGetter(b *testing.B) func(host int) getter {
	c, err := fetch.NewClient(fetch.Options{UserAgent: "seine-bench", LoopbackOnly: true, AllowPrivate: true})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(c.Close)
	return func(int) getter {
		return func(t *target, check func([]byte) error) error {
			r := c.Fetch(context.Background(), &fetch.Request{URL: t.url, Addr: t.addr})
			defer r.Release()
			if r.Failure != "" || r.Status != 200 || r.Truncated != "" {
				return fmt.Errorf("%s: %s, status %d, truncated %q: %w", t.url, r.Failure, r.Status, r.Truncated, r.Err)
			}
			return check(r.Body)
		}
	}
}

func fasthttpGetter(all *[fetchers][pagesAHost]target) func(host int) getter {
	return func(host int) getter {
		first := &all[host][0]
		c := &fasthttp.HostClient{
			Addr: netip.AddrPortFrom(first.addr, first.url.Port()).String(), Name: "seine-bench", MaxConns: 2,
		}
		req, resp := new(fasthttp.Request), new(fasthttp.Response)
		return func(t *target, check func([]byte) error) error {
			req.SetRequestURI(t.url.String())
			if err := c.Do(req, resp); err != nil {
				return err
			}
			if resp.StatusCode() != fasthttp.StatusOK {
				return fmt.Errorf("%s: status %d", t.url, resp.StatusCode())
			}
			return check(resp.Body())
		}
	}
}

// cpuTime is the processor time that this process has used so far.
func cpuTime(b *testing.B) time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// fetchAll fetches n pages with all fetchers at once.
func fetchAll(b *testing.B, n int, all *[fetchers][pagesAHost]target, gets []getter, whole bool) {
	var left atomic.Int64
	left.Store(int64(n))
	var wg sync.WaitGroup
	for host, get := range gets {
		wg.Go(func() {
			for i := host; left.Add(-1) >= 0; i++ {
				t := &all[host][i%pagesAHost]
				err := get(t, func(body []byte) error {
					if len(body) != len(t.text) || whole && !bytes.Equal(body, t.text) {
						return fmt.Errorf("%s: %d bytes, want %d, or other ones", t.url, len(body), len(t.text))
					}
					return nil
				})
				if err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	wg.Wait()
}

func BenchmarkFetch(b *testing.B) {
	kept, closing := startServer(b)
	for _, c := range []struct {
		name string
		port int
	}{{"kept-alive", kept}, {"new-connection", closing}} {
		all := targets(b, c.port, kept)
		for _, impl := range []string{"seine", "floor-fasthttp"} {
			b.Run(c.name+"/"+impl, func(b *testing.B) {
				newGetter := fasthttpGetter(&all)
				if impl == "seine" {
					newGetter = seineGetter(b)
				}
				var gets []getter
				for host := range fetchers {
					gets = append(gets, newGetter(host))
				}
				// Not b.Loop: an iteration is one page, and pages are divided among goroutines.
				fetchAll(b, fetchWarmUp, &all, gets, true)
				b.SetBytes(int64(len(all[0][0].text)))
				b.ReportAllocs()
				b.ResetTimer()
				before := cpuTime(b)
				fetchAll(b, b.N, &all, gets, false)
				cpu := cpuTime(b) - before
				rate(b, 1, "pages")
				b.ReportMetric(float64(cpu.Microseconds())/float64(b.N), "cpu-µs/page")
			})
		}
	}
}
