// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/seine-crawler/seine/bench/simweb"
)

func simwebCommand(c *console) *cobra.Command {
	p := simweb.Small()
	var port int
	var hosts, seeds string
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "simweb",
		Short: "serve a small synthetic web on loopback until interrupted",
		Long: "Serves a deterministic web of many hosts on addresses in 127.0.0.0/8, writes a hosts file and a seed\n" +
			"file for a crawler, and when it is interrupted prints how politely it was visited.",
		Args: args(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			s, err := simweb.Start(p, port)
			if err != nil {
				return err
			}
			defer s.Close()
			if err := writeFile(seeds, func(f *os.File) error {
				_, err := fmt.Fprintln(f, s.Web.Root(0))
				return err
			}); err != nil {
				return err
			}
			// The hosts file comes last and in one step: who waits for it finds everything ready.
			if err := writeFile(hosts, func(f *os.File) error { return s.HostsFile(f) }); err != nil {
				return err
			}
			fmt.Fprintf(c.err, "simweb: %d hosts, first page %s\nsimweb: in another terminal: seine crawl --seeds %s --hosts %s --allow-private --scope any --delay 0s\n",
				p.Hosts, s.Web.Root(0), seeds, hosts)
			<-cmd.Context().Done()
			r := s.Report()
			if asJSON {
				return c.object(r)
			}
			_, err = fmt.Fprintln(c.out, r)
			return err
		},
	}
	f := cmd.Flags()
	f.IntVar(&port, "port", 0, "port of all hosts (0: a free one)")
	f.StringVar(&hosts, "hosts-file", "simweb.hosts", "where to write the names and addresses")
	f.StringVar(&seeds, "seeds-file", "simweb.seeds", "where to write the first URL")
	f.BoolVar(&asJSON, "json", false, "print the report as JSON")
	f.Uint64Var(&p.Seed, "seed", p.Seed, "seed of the web: equal seeds give equal bytes")
	f.IntVar(&p.Hosts, "web-hosts", p.Hosts, "number of hosts")
	f.IntVar(&p.MeanPages, "pages", p.MeanPages, "mean number of pages of a host")
	f.IntVar(&p.MaxPages, "max-pages", p.MaxPages, "most pages of a host")
	f.IntVar(&p.PageBytes, "page-bytes", p.PageBytes, "median size of a page")
	f.IntVar(&p.Links, "links", p.Links, "mean number of links of a page")
	f.IntVar(&p.PerAddress, "per-address", p.PerAddress, "hosts that share an IP address")
	f.DurationVar(&p.Latency, "latency", 0, "added to each response")
	return cmd
}

// writeFile writes a file under another name and renames it, so that nobody reads half of it.
func writeFile(name string, write func(f *os.File) error) error {
	f, err := os.Create(name + ".new")
	if err != nil {
		return err
	}
	if err := errors.Join(write(f), f.Close()); err != nil {
		return fmt.Errorf("writing %s: %w", name, err)
	}
	return os.Rename(name+".new", name)
}
