// SPDX-License-Identifier: Apache-2.0

package hostile_test

import (
	"bytes"
	"compress/gzip"
	"compress/zlib"
	"context"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"

	"github.com/andybalholm/brotli"
	"github.com/klauspost/compress/zstd"

	"github.com/seine-crawler/seine/bench/hostile"
)

// TestHeavy: pages of each kind are as long as they are meant to be, in their content coding, and their seeds and hosts
// lead to them.
func TestHeavy(t *testing.T) {
	for _, kind := range hostile.HeavyKinds {
		h, err := hostile.StartHeavy(kind, 2, 3)
		if err != nil {
			t.Fatal(err)
		}
		client := http.Client{Transport: &http.Transport{
			DisableCompression: true,
			DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
				host, port, _ := net.SplitHostPort(address)
				for line := range strings.Lines(h.Hosts()) {
					if f := strings.Fields(line); f[1] == host {
						return new(net.Dialer).DialContext(ctx, network, net.JoinHostPort(f[0], port))
					}
				}
				return nil, &net.AddrError{Err: "no such host", Addr: host}
			},
		}}
		get := func(url string) (*http.Response, []byte) {
			resp, err := client.Get(url)
			if err != nil {
				t.Fatal(err)
			}
			defer resp.Body.Close()
			body, err := io.ReadAll(resp.Body)
			if err != nil {
				t.Fatal(err)
			}
			return resp, body
		}
		if n := len(h.Seeds()); n != 6 {
			t.Errorf("%s: %d seeds", kind, n)
		}
		resp, body := get(h.Seeds()[5])
		packed := len(body)
		var from io.Reader = bytes.NewReader(body)
		switch resp.Header.Get("Content-Encoding") {
		case "gzip":
			from, err = gzip.NewReader(from)
		case "deflate":
			from, err = zlib.NewReader(from)
		case "br":
			from = brotli.NewReader(from)
		case "zstd":
			from, err = zstd.NewReader(from)
		}
		if err != nil {
			t.Fatal(err)
		}
		if body, err = io.ReadAll(from); err != nil {
			t.Errorf("%s: %v", kind, err)
		}
		links := bytes.Count(body, []byte("<a href="))
		switch {
		case kind == "links" && links != 2000, kind == "boxes" && bytes.Count(body, []byte("<p class=n")) != 70_000,
			kind != "links" && kind != "boxes" && len(body) < 9<<20,
			resp.Header.Get("Content-Encoding") != "" && packed > 4<<20:
			t.Errorf("%s: %d bytes, %d with content coding, %d links", kind, len(body), packed, links)
		}
		resp, _ = get(strings.TrimSuffix(h.Seeds()[0], "0") + "robots.txt")
		if resp.StatusCode != http.StatusNotFound {
			t.Errorf("%s: robots.txt: %s", kind, resp.Status)
		}
		client.CloseIdleConnections()
		h.Close()
	}
}
