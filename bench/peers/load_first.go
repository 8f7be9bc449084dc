// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"regexp"
	"slices"
	"time"
)

// firstPages is the number of first result pages that are looked at in a server that has just started, and at most in
// one that is in use. newQueries is how many queries are drawn to find as many that nobody asked before.
const (
	firstPages = 500
	newQueries = 2000
)

// firstPage asks for pages one after the other, each for a query that was not asked before: of a server that has just
// started, then of the same when it has answered a log.
func firstPage(ctx context.Context, d folders, o loadOptions, dir string, warm, log []asked) (err error) {
	s, err := startServer(d, o, "seine", dir)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.stop()) }()
	if err := firstOf(o, s.address, "started", log[:firstPages]); err != nil {
		return err
	}
	run := loadRun{
		address: s.address, rate: o.rate, connections: o.connections, patience: patience,
		requests: requestsOf("page", s.address, warm),
	}
	run.send(ctx, nil)
	return firstOf(o, s.address, "used", newOf(warm, log))
}

// newOf are the queries behind the firstPages of a log that neither these nor warm have, at most firstPages.
func newOf(warm, log []asked) (list []asked) {
	known := map[string]bool{}
	for _, part := range [][]asked{warm, log[:firstPages]} {
		for i := range part {
			known[part[i].text()] = true
		}
	}
	for i := range log[firstPages:] {
		a := log[firstPages+i]
		if text := a.text(); !known[text] && len(list) < firstPages {
			known[text] = true
			list = append(list, a)
		}
	}
	return list
}

var assetOf = regexp.MustCompile(`(?:href|src)="(/static/[^"]+)"`)

// firstOf asks for the first pages of a log's queries, and for what the browser loads with them.
func firstOf(o loadOptions, address, state string, log []asked) error {
	var r loaded
	largest, assets := 0, map[string]int{}
	for i := range log {
		log[i].page = 1
		start := time.Now()
		n, text, err := getPage(address, target("page", &log[i]))
		if err != nil {
			return err
		}
		if r.took = append(r.took, time.Since(start)); i == 0 { // opens the store's files
			r.took = nil
		}
		largest = max(largest, n)
		for _, m := range assetOf.FindAllStringSubmatch(text, -1) {
			if assets[m[1]] == 0 {
				if assets[m[1]], _, err = getPage(address, m[1]); err != nil {
					return err
				}
			}
		}
	}
	slices.Sort(r.took)
	sum := largest
	for _, n := range assets {
		sum += n
	}
	fmt.Printf("BenchmarkPeerFirstPage/pages=%d/%s %d %d p50-ns %d p99-ns %d max-ns %d largest-page-B %d with-assets-B\n",
		o.pages, state, len(r.took), r.at(.5), r.at(.99), r.at(1), largest, sum)
	fmt.Fprintf(os.Stderr, "first page, server %s, %d of them: ms: p50 %.1f, p99 %.1f, max %.1f; largest page %.1f KB, with its "+
		"%d files %.1f KB, nothing compressed\n", state, len(r.took), r.at(.5).Seconds()*1000, r.at(.99).Seconds()*1000,
		r.at(1).Seconds()*1000, float64(largest)/1000, len(assets), float64(sum)/1000)
	return nil
}

// getPage gets a page of a server.
func getPage(address, path string) (int, string, error) {
	r, err := http.Get("http://" + address + path)
	if err != nil {
		return 0, "", err
	}
	defer r.Body.Close()
	b, err := io.ReadAll(r.Body)
	if err == nil && r.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s: status %d", path, r.StatusCode)
	}
	return len(b), string(b), err
}
