// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/seine-crawler/seine/bench/hostile"
	"github.com/seine-crawler/seine/storage/urlkey"
)

// hostileReport is what the host of a case saw, for JSON.
type hostileReport struct {
	Number      int           `json:"number"`
	Name        string        `json:"name"`
	Does        string        `json:"does"`
	Want        []string      `json:"want,omitempty"`
	Text        string        `json:"text,omitempty"`
	Requests    int           `json:"requests"`
	Robots      int           `json:"robots"`
	Conns       int           `json:"connections"`
	BytesIn     int64         `json:"bytes_in"`
	BytesOut    int64         `json:"bytes_out"`
	AtOnce      int           `json:"at_once"`
	SmallestGap time.Duration `json:"smallest_gap_ns"`
}

// serveHostile is simweb --hostile: it serves every case until it is interrupted, and prints what each host saw.
func serveHostile(cmd *cobra.Command, c *console, port int, o *serverFlags) error {
	cases := hostile.Cases()
	if o.replay != "" {
		more, err := hostile.Replay(o.replay)
		if err != nil {
			return &usageError{fmt.Errorf("--hostile-replay: %w", err)}
		}
		cases = append(cases, more...)
	}
	s, err := hostile.Start(hostile.Options{Port: port, Cases: cases})
	if err != nil {
		return err
	}
	defer s.Close()
	seeds, left, err := loopbackSeeds(s)
	if err != nil {
		return err
	}
	if err := writeFile(o.seeds, func(w *os.File) error {
		for _, u := range seeds {
			fmt.Fprintln(w, u)
		}
		return nil
	}); err != nil {
		return err
	}
	if err := writeFile(o.hosts, func(w *os.File) error { return s.HostsFile(w) }); err != nil {
		return err
	}
	fmt.Fprintf(c.err, "simweb: %d hostile hosts on port %d; %d more cases, of names and addresses that lead "+
		"elsewhere, are no seeds\n"+
		"simweb: limit the crawl, as some hosts have no end; in another terminal:\n"+
		"simweb: seine crawl --seeds %s --hosts %s --allow-private --delay 0s --set timeout=5s --max-pages 1000\n",
		len(seeds), s.Port(), left, o.seeds, o.hosts)
	<-cmd.Context().Done()
	return c.lines(func(w *bufio.Writer) error {
		for _, k := range cases {
			t := s.Log().Tally(k.Name)
			if o.json {
				if err := jsonLine(w, hostileReport{
					Number: k.Number, Name: k.Name, Does: k.Does, Want: k.Want.Results, Text: k.Want.Text,
					Requests: t.Requests, Robots: t.Robots, Conns: t.Conns, BytesIn: t.BytesIn, BytesOut: t.BytesOut,
					AtOnce: t.MaxInFlight, SmallestGap: t.SmallestGap,
				}); err != nil {
					return err
				}
				continue
			}
			if t.Conns > 0 {
				fmt.Fprintf(w, "%3d %-26s %4d requests on %d connections, %d at once, smallest gap %s, %d bytes sent\n",
					k.Number, k.Name, t.Requests, t.Conns, t.MaxInFlight,
					t.SmallestGap.Round(time.Microsecond), t.BytesOut)
			}
		}
		return nil
	})
}

// loopbackSeeds returns the seeds of the cases that a crawl can reach by the hosts file alone. The others, left of
// them, are about DNS and about addresses outside of loopback: a crawl that is allowed private addresses would dial
// these, and one without a contact refuses to begin.
func loopbackSeeds(s *hostile.Server) (seeds []string, left int, err error) {
	var file strings.Builder
	if err := s.HostsFile(&file); err != nil {
		return nil, 0, err
	}
	names := map[string]bool{}
	for line := range strings.Lines(file.String()) {
		if fields := strings.Fields(line); len(fields) == 2 {
			names[fields[1]] = true
		}
	}
	for _, raw := range s.Seeds() {
		u, err := urlkey.Parse(raw)
		if err == nil && !names[u.Host()] {
			var a netip.Addr
			if a, err = netip.ParseAddr(strings.Trim(u.Host(), "[]")); err == nil && !a.Unmap().IsLoopback() {
				err = errors.New("not loopback")
			}
		}
		if err != nil {
			left++
			continue
		}
		seeds = append(seeds, raw)
	}
	return seeds, left, nil
}
