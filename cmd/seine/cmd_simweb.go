// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/seine-crawler/seine/bench/simweb"
)

// simwebFlags are the flags of simweb and simweb truth: what there is to serve, and from where a crawl
// is to start.
type simwebFlags struct {
	params    simweb.Params
	shape     string
	docs      []string
	docsO     simweb.DocsOptions
	robots    string
	graph     string
	graphMean int
	port      int
	seedHosts int
	prerender string
}

// shapes are the webs to start from, by the name of --shape.
var shapes = map[string]func() simweb.Params{
	"small":   simweb.Small,
	"lively":  simweb.Lively,
	"default": simweb.Default,
	"heavy":   simweb.Heavy,
	"bench":   func() simweb.Params { return simweb.Bench(100, 100) },
}

func (f *simwebFlags) add(fs *pflag.FlagSet) {
	f.params = simweb.Small()
	fs.StringVar(&f.shape, "shape", "small", "parameters to start from: small, lively (failing, slow, changing), default (as the real web), heavy, bench (all alike)")
	for _, p := range f.params.Fields() {
		fs.Var(p.Value, p.Name, p.Usage)
	}
	fs.StringArrayVar(&f.docs, "docs", nil, "serve folders of HTML instead: DIR or name=DIR is a host; a DIR without HTML of its own stands for all its folders that have some")
	fs.StringVar(&f.docsO.Root, "docs-root", "", "no path and no symbolic link of --docs leads out of this folder (default /)")
	fs.StringVar(&f.robots, "docs-robots", "", "file to serve as the robots.txt of every host of --docs")
	fs.Float64Var(&f.docsO.RightCharset, "docs-right-charset", 0, "share of hosts of --docs whose Content-Type names the charset that the file declares")
	fs.Float64Var(&f.docsO.WrongCharset, "docs-wrong-charset", 0, "share of hosts of --docs whose Content-Type names another; the others name none")
	fs.BoolVar(&f.docsO.Sitemaps, "docs-sitemaps", false, "give every host of --docs a sitemap of its HTML files")
	fs.StringVar(&f.graph, "graph", "", "serve a link graph instead: a list of edges, two node numbers a line, plain, .gz or .xz")
	fs.IntVar(&f.graphMean, "graph-pages", 100, "mean number of nodes of a host of --graph")
	fs.IntVar(&f.port, "port", 0, "port of all hosts (0: a free one)")
	fs.IntVar(&f.seedHosts, "seed-hosts", 1, "how many hosts' first pages to start from (0: all; all of them with --docs)")
}

// site returns what the flags describe, and the URLs of its seeds on a port.
func (f *simwebFlags) site(cmd *cobra.Command) (simweb.Site, error) {
	if f.graph != "" {
		return simweb.LoadGraph(f.graph, simweb.GraphOptions{Seed: f.params.Seed, MeanPages: f.graphMean})
	}
	if len(f.docs) > 0 {
		o := f.docsO
		o.Listing, o.Seed = true, f.params.Seed
		if f.robots != "" {
			b, err := os.ReadFile(f.robots)
			if err != nil {
				return nil, fmt.Errorf("--docs-robots: %w", err)
			}
			o.Robots = string(b)
		}
		folders, err := simweb.DocFolders(f.docs...)
		if err != nil {
			return nil, err
		}
		return simweb.NewDocs(o, folders...)
	}
	shape, known := shapes[f.shape]
	if !known {
		return nil, &usageError{fmt.Errorf("--shape %s: want small, lively, default, heavy or bench", f.shape)}
	}
	p := shape()
	given := f.params.Fields()
	for i, field := range p.Fields() { // what was said stands, wherever --shape stood
		if cmd.Flags().Changed(field.Name) {
			if err := field.Value.Set(given[i].Value.String()); err != nil {
				return nil, fmt.Errorf("--%s: %w", field.Name, err)
			}
		}
	}
	w, err := simweb.New(p, f.port)
	if err != nil || f.prerender == "" {
		return w, err
	}
	keep, err := parseBytes(f.prerender)
	if err != nil {
		return nil, &usageError{fmt.Errorf("--prerender %q: %w", f.prerender, err)}
	}
	return simweb.Prerender(w, keep)
}

// seeds returns the URLs to start from.
func (f *simwebFlags) seeds(site simweb.Site) (urls []string) {
	n := f.seedHosts
	if len(f.docs) > 0 || n == 0 {
		n = site.Hosts()
	}
	for h := range min(n, site.Hosts()) {
		urls = append(urls, site.Root(h))
	}
	return urls
}

func simwebCommand(c *console) *cobra.Command {
	var f simwebFlags
	var o simweb.ServerOptions
	var hosts, seeds, ca, replay string
	var asJSON, bad bool
	cmd := &cobra.Command{
		Use:   "simweb",
		Short: "serve a synthetic web, or folders of HTML, on loopback until interrupted",
		Long: "Serves a deterministic web of many hosts on addresses in 127.0.0.0/8, or folders of HTML as hosts, writes a\n" +
			"hosts file and a seed file for a crawler, and when it is interrupted prints how politely it was visited.\n" +
			"A crawler that cannot be given a hosts file finds every host at 127.0.0.1 by its Host header, or uses that\n" +
			"address as its HTTP proxy.",
		Args: args(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if bad || replay != "" {
				return serveHostile(cmd, c, f.port, replay, hosts, seeds, asJSON)
			}
			site, err := f.site(cmd)
			if err != nil {
				return err
			}
			if f.params.HTTPS > 0 && !o.TLS {
				return &usageError{errors.New("--https is for servers with --tls")}
			}
			o.Port = f.port
			s, err := simweb.Serve(context.WithoutCancel(cmd.Context()), site, o)
			if err != nil {
				return err
			}
			defer s.Close()
			if o.TLS {
				if err := writeFile(ca, func(w *os.File) error { _, err := w.Write(s.CA()); return err }); err != nil {
					return err
				}
			}
			if err := announce(c, &f, s, hosts, seeds); err != nil {
				return err
			}
			<-cmd.Context().Done()
			r := s.Report()
			if asJSON {
				return c.object(r)
			}
			_, err = fmt.Fprintln(c.out, r)
			return err
		},
	}
	fs := cmd.Flags()
	f.add(fs)
	fs.StringVar(&f.prerender, "prerender", "", "make the pages before they are asked for and keep up to so many bytes of them, such as 1GB")
	fs.StringVar(&hosts, "hosts-file", "simweb.hosts", "where to write the names and addresses (\"\": nowhere)")
	fs.StringVar(&seeds, "seeds-file", "simweb.seeds", "where to write the URLs to start from (\"\": nowhere)")
	fs.BoolVar(&o.FrontOnly, "front-only", false, "listen on 127.0.0.1 alone: hosts are told apart by Host header, or it is used as a proxy")
	fs.BoolVar(&o.AllInterfaces, "all-interfaces", false, "listen once, on 0.0.0.0, for webs of more than 4,096 addresses; what is not loopback is refused")
	fs.BoolVar(&o.Gzip, "gzip", false, "compress responses for clients that accept it, as most of the web does")
	fs.DurationVar(&o.Delay, "delay", 0, "least time between two starts on one host that the report calls polite")
	fs.BoolVar(&o.TLS, "tls", false, "speak TLS too, on the same port")
	fs.StringVar(&ca, "ca-file", "simweb-ca.pem", "where to write the certificate of the authority that --tls uses (seine trusts it with SSL_CERT_FILE)")
	fs.BoolVar(&asJSON, "json", false, "print the report as JSON")
	fs.BoolVar(&bad, "hostile", false, "serve the hostile web instead: a host for everything that servers do to crawlers")
	fs.StringVar(&replay, "hostile-replay", "", "also serve the recorded responses of this folder (manifest.tsv and responses.tar.gz)")
	cmd.AddCommand(simwebTruthCommand(c))
	return cmd
}

// announce writes the files that a crawler needs and says what to do with them.
func announce(c *console, f *simwebFlags, s *simweb.Server, hosts, seeds string) error {
	urls := f.seeds(s.Site())
	if err := writeFile(seeds, func(w *os.File) error {
		for _, u := range urls {
			fmt.Fprintln(w, u)
		}
		return nil
	}); err != nil {
		return err
	}
	// The hosts file comes last and in one step: who waits for it finds everything ready.
	if err := writeFile(hosts, func(w *os.File) error { return s.HostsFile(w) }); err != nil {
		return err
	}
	scope := "any"
	if len(f.docs) > 0 {
		scope = "host" // documents link to the world outside
	}
	_, err := fmt.Fprintf(c.err, "simweb: %d hosts, first page %s, all of them also at %s by Host header and as a proxy\n"+
		"simweb: in another terminal: seine crawl --seeds %s --hosts %s --allow-private --scope %s --delay 0s\n",
		s.Site().Hosts(), urls[0], s.Front(), seeds, hosts, scope)
	return err
}

// writeFile writes a file under another name and renames it, so that nobody reads half of it. Without a
// name nothing is written.
func writeFile(name string, write func(f *os.File) error) error {
	if name == "" {
		return nil
	}
	f, err := os.Create(name + ".new")
	if err != nil {
		return err
	}
	if err := errors.Join(write(f), f.Close()); err != nil {
		return fmt.Errorf("writing %s: %w", name, err)
	}
	return os.Rename(name+".new", name)
}
