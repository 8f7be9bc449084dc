// SPDX-License-Identifier: Apache-2.0

package measure

import (
	"bufio"
	"context"
	"errors"
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

// floorConcurrency is the number of seine's fetchers by default.
const floorConcurrency = 64

// FloorOptions say what Floor fetches. HostsFile, Port and Pages are required.
type FloorOptions struct {
	HostsFile string // of a running simweb
	Port      int    // its port
	Pages     int    // of each host
	Gzip      bool   // accept compressed pages, which are not decompressed
	// Keep names a file to which every page is appended after the libraries' part of a crawler's work: it is lexed,
	// digested and compressed as for a WARC. "": nothing is done with pages.
	Keep string
}

// Floor fetches every page of a web made by simweb.Bench with fasthttp's client and returns their number. It reads no
// links, keeps nothing, and knows beforehand which pages there are: a crawl in this language on this library cannot
// take less. With Keep, no crawl that reads and stores pages with these libraries can take less. It fails at the first
// page that does not answer 200.
func Floor(ctx context.Context, o FloorOptions) (pages int, err error) {
	k, err := newKeeper(o.Keep)
	if err != nil {
		return 0, err
	}
	pages, err = fetchAll(ctx, &o, k)
	return pages, errors.Join(err, k.close())
}

func fetchAll(ctx context.Context, o *FloorOptions, k *keeper) (pages int, err error) {
	addresses, err := readHosts(o.HostsFile)
	if err != nil {
		return 0, err
	}
	web, err := simweb.New(simweb.Bench(len(addresses), o.Pages), o.Port)
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
				n, e := floorHost(ctx, web, host, net.JoinHostPort(addresses[host], fmt.Sprint(o.Port)), o.Gzip, k)
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
func floorHost(ctx context.Context, web *simweb.Web, host int, addr string, gzip bool, k *keeper) (int, error) {
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
		if err := k.keep(resp.Body()); err != nil {
			return n, fmt.Errorf("keeping %s: %w", url, err)
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
