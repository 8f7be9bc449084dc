// SPDX-License-Identifier: Apache-2.0

package simweb_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"

	"github.com/seine-crawler/seine/bench/simweb"
)

// Example serves a small web on loopback, fetches the first page of two hosts by their names, and asks what the servers
// saw and what there was to find.
func Example() {
	web, err := simweb.Start(simweb.Small(), 0)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer web.Close()

	// The hosts file gives each host its loopback address, as /etc/hosts would.
	var hosts bytes.Buffer
	if err := web.HostsFile(&hosts); err != nil {
		fmt.Println(err)
		return
	}
	address := map[string]string{}
	for line := range strings.Lines(hosts.String()) {
		addr, name, _ := strings.Cut(strings.TrimSpace(line), " ")
		address[name] = addr
	}
	dial := func(ctx context.Context, network, addr string) (net.Conn, error) {
		host, port, err := net.SplitHostPort(addr)
		if err != nil {
			return nil, err
		}
		return new(net.Dialer).DialContext(ctx, network, net.JoinHostPort(address[host], port))
	}
	client := &http.Client{Transport: &http.Transport{DialContext: dial}}
	defer client.CloseIdleConnections()

	for host := range 2 {
		resp, err := client.Get(web.Web.Root(host))
		if err != nil {
			fmt.Println(err)
			return
		}
		page, err := io.ReadAll(resp.Body)
		resp.Body.Close()
		fmt.Println(web.Web.Host(host), resp.Status, err, bytes.Contains(page, []byte("</html>")))
	}

	r := web.Report()
	fmt.Printf("%d requests to %d hosts, polite: %t\n", r.Requests, r.Hosts, r.Polite())
	t := web.Web.Truth([]int{0}, nil)
	fmt.Printf("to find: %d pages, of which %d are duplicates; %d redirects, %d gone, %d denied\n",
		len(t.Fetched), len(t.Duplicate), len(t.Redirected), len(t.Gone), len(t.Denied))
	// Output:
	// www.kestrel-0.example 200 OK <nil> true
	// blog.kestrel-0.example 200 OK <nil> true
	// 2 requests to 2 hosts, polite: true
	// to find: 2552 pages, of which 75 are duplicates; 227 redirects, 154 gone, 102 denied
}

// ExampleServer_Front reaches the same web as an HTTP proxy, for clients that cannot be given addresses.
func ExampleServer_Front() {
	site, err := simweb.New(simweb.Small(), 0)
	if err != nil {
		fmt.Println(err)
		return
	}
	web, err := simweb.Serve(context.Background(), site, simweb.ServerOptions{FrontOnly: true})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer web.Close()
	proxy := http.ProxyURL(&url.URL{Scheme: "http", Host: web.Front()})
	client := &http.Client{Transport: &http.Transport{Proxy: proxy}}
	defer client.CloseIdleConnections()
	resp, err := client.Get(web.Web.Root(0))
	if err != nil {
		fmt.Println(err)
		return
	}
	defer resp.Body.Close()
	fmt.Println(resp.Status, resp.Header.Get("Content-Type"))
	// Output:
	// 200 OK text/html; charset=windows-1252
}

// ExampleWalkSite visits what a polite crawler reaches, nearest first, without a server.
func ExampleWalkSite() {
	web, err := simweb.New(simweb.Small(), 0)
	if err != nil {
		fmt.Println(err)
		return
	}
	outcomes := map[simweb.Outcome]int{}
	err = simweb.WalkSite(context.Background(), web, []string{web.Root(0)}, func(v *simweb.SiteVisit) error {
		outcomes[v.Outcome]++
		return nil
	})
	fmt.Println(outcomes, err)
	// Output:
	// map[fetched:2477 duplicate:75 redirect:227 gone:154 denied:102] <nil>
}
