// SPDX-License-Identifier: Apache-2.0

package visit

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/seine-crawler/seine/engine/fetch"
	"github.com/seine-crawler/seine/engine/internal/admission"
)

// TestReceivedCounts: bytes that make no page count too: in the limit of a run, in its report, and in the outcomes from
// which the budgets of hosts are taken.
func TestReceivedCounts(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	chunk := strings.Repeat("1;"+strings.Repeat("x", 4000)+"\r\nx\r\n", 16)
	var wg sync.WaitGroup
	wg.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			wg.Go(func() {
				defer c.Close()
				line, _ := bufio.NewReader(c).ReadString('\n')
				if strings.HasPrefix(line, "GET /robots.txt ") {
					io.WriteString(c, "HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
					return
				}
				io.WriteString(c, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
				for {
					if _, err := io.WriteString(c, chunk); err != nil {
						return
					}
				}
			})
		}
	})
	client, err := fetch.NewClient(fetch.Options{UserAgent: "seine-test", AllowPrivate: true, Grace: 20 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	w := newWorld(t, admission.Options{})
	w.env.Client = client
	var urls []string
	for i := range 4 {
		urls = append(urls, fmt.Sprintf("http://%s/%d", l.Addr(), i))
	}
	const limit, page = 300 << 10, 1 << 20
	r := w.start(NewHosts(w.env), newList(w, urls...), 1, Limits{MaxBytes: limit})
	r.quiet()
	reached := r.Reached()
	c := r.end()
	client.Close()
	l.Close()
	wg.Wait()
	if reached != LimitBytes || c.Failures["protocol_error/overhead"] != 1 || c.Attempts() != 1 ||
		c.Bytes < limit || c.Bytes > page {
		t.Errorf("limit %d is reached, %+v", reached, c)
	}
	for k, o := range w.outcomes(1) {
		if int64(o.Bytes) < limit || int64(o.Bytes) > page {
			t.Errorf("%s: %d bytes", k, o.Bytes)
		}
	}
}
