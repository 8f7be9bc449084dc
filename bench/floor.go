// SPDX-License-Identifier: Apache-2.0

package bench

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/valyala/fasthttp"

	"github.com/seine-crawler/seine/bench/simweb"
)

// floorConcurrency is as many as seine has fetchers by default.
const floorConcurrency = 64

// Floor fetches every page of a web made by simweb.Bench with fasthttp's client and nothing else: no
// links are read, nothing is kept, and which pages there are is known beforehand. It is what a crawl in
// this language on this library cannot go below. hosts is the hosts file of a running simweb, port its
// port; gzip says to accept compressed pages, which are not decompressed.
func Floor(ctx context.Context, hostsFile string, port, pagesPerHost int, gzip bool) (pages int, err error) {
	addresses, err := readHosts(hostsFile)
	if err != nil {
		return 0, err
	}
	web, err := simweb.New(simweb.Bench(len(addresses), pagesPerHost), port)
	if err != nil {
		return 0, err
	}
	var next, done atomic.Int64
	var wg sync.WaitGroup
	var once sync.Once
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	for range floorConcurrency {
		wg.Go(func() {
			for ctx.Err() == nil {
				host := int(next.Add(1)) - 1
				if host >= len(addresses) {
					return
				}
				n, e := floorHost(ctx, web, host, net.JoinHostPort(addresses[host], fmt.Sprint(port)), gzip)
				done.Add(int64(n))
				if e != nil {
					once.Do(func() { err = e })
					cancel()
				}
			}
		})
	}
	wg.Wait()
	if err == nil {
		err = ctx.Err()
	}
	return int(done.Load()), err
}

// floorHost fetches the pages of one host over one connection.
func floorHost(ctx context.Context, web *simweb.Web, host int, addr string, gzip bool) (int, error) {
	c := fasthttp.HostClient{Addr: addr, MaxConns: 1, ReadTimeout: 30 * time.Second, MaxResponseBodySize: 8 << 20}
	defer c.CloseIdleConnections()
	req, resp := fasthttp.AcquireRequest(), fasthttp.AcquireResponse()
	defer fasthttp.ReleaseRequest(req)
	defer fasthttp.ReleaseResponse(resp)
	if gzip {
		req.Header.Set(fasthttp.HeaderAcceptEncoding, "gzip")
	}
	var url []byte
	for n := range web.Pages(host) {
		if ctx.Err() != nil {
			return n, nil
		}
		url = web.AppendURL(url[:0], host, n)
		req.SetRequestURIBytes(url)
		if err := c.Do(req, resp); err != nil {
			return n, fmt.Errorf("fetching %s: %w", url, err)
		}
		if resp.StatusCode() != fasthttp.StatusOK || len(resp.Body()) == 0 {
			return n, fmt.Errorf("fetching %s: status %d, %d bytes", url, resp.StatusCode(), len(resp.Body()))
		}
	}
	return web.Pages(host), nil
}

// readHosts returns the addresses of a hosts file, in order.
func readHosts(name string) (out []string, err error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	s := bufio.NewScanner(f)
	for s.Scan() {
		if fields := strings.Fields(s.Text()); len(fields) > 1 {
			out = append(out, fields[0])
		}
	}
	return out, s.Err()
}
