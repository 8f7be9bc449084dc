// SPDX-License-Identifier: Apache-2.0

package hostile_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"time"

	"github.com/seine-crawler/seine/bench/hostile"
)

// Example lets net/http fetch a page that ends before the length that it announced, and judges the outcome.
func Example() {
	c, _ := hostile.Find("cl-short")
	s, err := hostile.Start(hostile.Options{Cases: []hostile.Case{c}})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer s.Close()

	// Host names are those of the cases; LookUp knows their addresses on loopback.
	dial := func(ctx context.Context, network, addr string) (net.Conn, error) {
		host, port, err := net.SplitHostPort(addr)
		if err != nil {
			return nil, err
		}
		addrs, err := s.LookUp(ctx, host)
		if err != nil {
			return nil, err
		}
		return new(net.Dialer).DialContext(ctx, network, net.JoinHostPort(addrs[0].String(), port))
	}
	client := &http.Client{Transport: &http.Transport{DialContext: dial}, Timeout: 10 * time.Second}
	defer client.CloseIdleConnections()

	start := time.Now()
	resp, err := client.Get(s.URL(&c))
	if err != nil {
		fmt.Println(err)
		return
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	result := fmt.Sprint(resp.StatusCode)
	if errors.Is(err, io.ErrUnexpectedEOF) {
		result += " disconnect"
	}
	tally := s.Log().Tally(c.Name)
	verdict := hostile.Judge(&c, hostile.Outcome{
		Result: result, Requests: tally.Requests, Wall: time.Since(start), Received: tally.BytesOut, Body: body,
	}, hostile.Limits{Total: 10 * time.Second})

	fmt.Println("the server sends", c.Does)
	fmt.Printf("the client says %q and has %q\n", result, body)
	fmt.Print(hostile.Table([]hostile.Result{{Case: c, Err: verdict, Note: "one request"}}))
	// Output:
	// the server sends fewer bytes than announced
	// the client says "200 disconnect" and has "hi"
	//  29 cl-short                   framing      pass one request
	// 1 of 1 pass
}

// ExampleServer_LookUp resolves a name that has thousands of addresses, as a hostile name server might answer.
func ExampleServer_LookUp() {
	s, err := hostile.Start(hostile.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer s.Close()
	addrs, err := s.LookUp(context.Background(), "dns-huge.hostile.test")
	fmt.Println(len(addrs), addrs[0].IsLoopback(), err)
	_, err = s.LookUp(context.Background(), "dns-nx.hostile.test")
	var dns *net.DNSError
	fmt.Println(errors.As(err, &dns) && dns.IsNotFound)
	// Output:
	// 4000 true <nil>
	// true
}
