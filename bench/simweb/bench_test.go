// SPDX-License-Identifier: Apache-2.0

package simweb

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"net"
	"strconv"
	"sync"
	"testing"
)

// What is measured: the cost of a page of about 12 KB with 50 links, first as bytes in memory, then
// over kept-alive loopback connections to the simplest possible client: it writes prepared requests,
// looks for Content-Length and discards the body. Server and client share the machine, so pages per
// second are for both; the server's share is not measured here.
//
// How to run: go test -run '^$' -bench . ./bench/simweb

func BenchmarkPage(b *testing.B) {
	for _, c := range []struct {
		name string
		p    Params
	}{{"bench", Bench(1000, 1000)}, {"default", Default()}} {
		b.Run(c.name, func(b *testing.B) {
			w := newWeb(b, c.p)
			buf := make([]byte, 0, 16<<20)
			n, size := 0, 0
			b.ReportAllocs()
			for b.Loop() {
				host := n % 1000
				buf = w.AppendHTML(buf[:0], host, n*7%w.Pages(host), someDay)
				size += len(buf)
				n++
			}
			b.ReportMetric(float64(size)/float64(n), "bytes/page")
		})
	}
}

func BenchmarkPath(b *testing.B) {
	w := newWeb(b, Default())
	h := w.host(0)
	d := w.draw(&h, 9)
	path := w.appendPath(nil, &h, 9, &d, false)
	b.ReportAllocs()
	for b.Loop() {
		if _, _, ok := w.number(&h, path); !ok {
			b.Fatal(string(path))
		}
	}
}

func BenchmarkSimweb(b *testing.B) {
	w := newWeb(b, Bench(conns, 1000))
	kept, err := Prerender(w, 1<<30)
	if err != nil {
		b.Fatal(err)
	}
	b.Run("serve/made", func(b *testing.B) { benchmarkServe(b, w) })
	b.Run("serve/prerendered", func(b *testing.B) { benchmarkServe(b, kept) })
}

const conns = 16

func benchmarkServe(b *testing.B, site Site) {
	s, err := Serve(context.Background(), site, ServerOptions{})
	if err != nil {
		b.Fatal(err)
	}
	defer s.Close()
	var wg sync.WaitGroup
	b.ResetTimer()
	for host := range conns {
		wg.Add(1)
		go func() {
			defer wg.Done()
			if err := ask(s, host, b.N/conns+1); err != nil {
				b.Error(err)
			}
		}()
	}
	wg.Wait()
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "pages/s")
}

// ask fetches n pages of a host over one connection.
func ask(s *Server, host, n int) error {
	c, err := net.Dial("tcp", net.JoinHostPort(s.Web.Address(host), strconv.Itoa(s.Port())))
	if err != nil {
		return err
	}
	defer c.Close()
	requests := make([][]byte, 100)
	for i := range requests {
		p := s.Web.Page(host, i)
		requests[i] = fmt.Appendf(
			nil, "GET %s HTTP/1.1\r\nHost: %s\r\n\r\n", p.URL[len(s.Web.Root(host))-1:], s.Web.Host(host),
		)
	}
	r := bufio.NewReaderSize(c, 32<<10)
	for i := range n {
		if _, err := c.Write(requests[i%len(requests)]); err != nil {
			return err
		}
		length := 0
		for {
			line, err := r.ReadSlice('\n')
			if err != nil {
				return err
			}
			if len(line) <= 2 {
				break
			}
			if v, ok := bytes.CutPrefix(line, []byte("Content-Length: ")); ok {
				if length, ok = parseNumber(bytes.TrimSpace(v)); !ok {
					return fmt.Errorf("length %q", v)
				}
			}
		}
		if _, err := r.Discard(length); err != nil {
			return err
		}
	}
	return nil
}

// TestAllocations: a page and a path cost none.
func TestAllocations(t *testing.T) {
	w := newWeb(t, Bench(10, 100))
	buf := make([]byte, 0, 1<<20)
	n := 0
	if got := testing.AllocsPerRun(200, func() {
		buf = w.AppendHTML(buf[:0], n%10, n%100, someDay)
		n++
	}); got > 0 {
		t.Errorf("a page costs %v allocations, want none", got)
	}
}
