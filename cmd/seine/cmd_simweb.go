// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/seine-crawler/seine/bench/simweb"
)

// simwebFlags are the flags that simweb and simweb truth share: what to serve, and where a crawl starts.
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

// shapes are the parameters that --shape names.
var shapes = map[string]func() simweb.Params{
	"small":   simweb.Small,
	"lively":  simweb.Lively,
	"default": simweb.Default,
	"heavy":   simweb.Heavy,
	"bench":   func() simweb.Params { return simweb.Bench(100, 100) },
}

func (f *simwebFlags) add(fs *pflag.FlagSet) {
	f.params = simweb.Small()
	fs.StringVar(&f.shape, "shape", "small",
		"parameters to start from: small, lively (failing, slow, changing hosts), default (like the real web), "+
			"heavy, bench (all hosts alike)")
	for _, p := range f.params.Fields() {
		fs.Var(p.Value, p.Name, p.Usage)
	}
	fs.StringArrayVar(&f.docs, "docs", nil, "serve folders of HTML instead: DIR or name=DIR is a host; "+
		"a DIR without HTML files stands for all its folders that have some")
	fs.StringVar(&f.docsO.Root, "docs-root", "",
		"refuse paths and symbolic links of --docs that lead out of this folder (default /)")
	fs.StringVar(&f.robots, "docs-robots", "", "file to serve as the robots.txt of every host of --docs; "+
		"the report does not count what it forbids")
	fs.Float64Var(&f.docsO.RightCharset, "docs-right-charset", 0, "share of hosts of --docs, from 0 to 1, whose "+
		"Content-Type names the charset that the file declares")
	fs.Float64Var(&f.docsO.WrongCharset, "docs-wrong-charset", 0, "share of hosts of --docs, from 0 to 1, whose "+
		"Content-Type names another charset; the remaining hosts name none")
	fs.BoolVar(&f.docsO.Sitemaps, "docs-sitemaps", false, "serve a sitemap of the HTML files on every host of --docs")
	fs.StringVar(&f.graph, "graph", "",
		"serve a link graph instead: a file of edges, two node numbers per line, plain, .gz or .xz")
	addCount(fs, &f.graphMean, "graph-pages", 100, 1, "mean number of nodes per host of --graph")
	addCountTo(fs, &f.port, "port", 0, 0, 1<<16-1, "port of all hosts (0: a free one)")
	addCount(fs, &f.seedHosts, "seed-hosts", 1, 0,
		"number of hosts whose first pages are seeds (0: all; with --docs always all)")
}

// check returns an error for flags that have no effect beside the others, and numbers that make no sense.
func (f *simwebFlags) check(cmd *cobra.Command) error {
	var faults []error
	cmd.Flags().VisitAll(func(flag *pflag.Flag) {
		switch name := flag.Name; {
		case strings.HasPrefix(name, "docs-"):
			faults = append(faults, without(cmd, name, "docs"))
		case name == "graph-pages":
			faults = append(faults, without(cmd, name, "graph"))
		case name == "ca-file":
			faults = append(faults, without(cmd, name, "tls"))
		}
	})
	made := []string{"shape", "prerender"} // of the synthetic web, as its parameters are
	for _, p := range f.params.Fields() {
		if p.Name != "seed" {
			made = append(made, p.Name)
		}
	}
	for _, other := range []string{"docs", "graph", "hostile", "attacks"} {
		for _, name := range made {
			if cmd.Flags().Lookup(name) != nil && cmd.Flags().Lookup(other) != nil {
				faults = append(faults, together(cmd, name, other))
			}
		}
	}
	return errors.Join(faults...)
}

// site returns the web that the flags describe. What makes that impossible is in them, or in files that they name.
func (f *simwebFlags) site(cmd *cobra.Command) (simweb.Site, error) {
	site, err := f.described(cmd)
	if err != nil && !diskFailed(err) {
		err = &usageError{err}
	}
	return site, err
}

func (f *simwebFlags) described(cmd *cobra.Command) (simweb.Site, error) {
	if err := f.check(cmd); err != nil {
		return nil, err
	}
	if f.graph != "" {
		return simweb.LoadGraph(f.graph, simweb.GraphOptions{Seed: f.params.Seed, MeanPages: f.graphMean})
	}
	if len(f.docs) > 0 {
		o := f.docsO
		o.Listing, o.Seed = true, f.params.Seed
		if f.robots != "" {
			b, err := os.ReadFile(f.robots)
			if err != nil {
				return nil, fmt.Errorf("--docs-robots: %w", fileError(f.robots, err))
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
		return nil, fmt.Errorf("--shape %s: want small, lively, default, heavy or bench", f.shape)
	}
	p := shape()
	given := f.params.Fields()
	for i, field := range p.Fields() { // flags override the shape, in any order
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
		return nil, fmt.Errorf("--prerender %q: %w", f.prerender, err)
	}
	return simweb.Prerender(w, keep)
}

// seeds returns the URLs at which a crawl starts.
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

// serverFlags are the flags of simweb alone: how to serve, and which files to write.
type serverFlags struct {
	o                        simweb.ServerOptions
	hosts, seeds, ca, replay string
	json, hostile, attacks   bool
}

func (s *serverFlags) add(fs *pflag.FlagSet) {
	fs.StringVar(&s.hosts, "hosts-file", "simweb.hosts", "hosts file to write (\"\": none)")
	fs.StringVar(&s.seeds, "seeds-file", "simweb.seeds", "seed file to write (\"\": none)")
	fs.BoolVar(&s.o.FrontOnly, "front-only", false,
		"listen on 127.0.0.1 only, for clients that send the Host header or use it as a proxy")
	fs.BoolVar(&s.o.AllInterfaces, "all-interfaces", false,
		"use one listener on 0.0.0.0, for webs of more than 4,096 addresses; it refuses other than loopback addresses")
	fs.Float64Var(&s.o.StaleHosts, "stale-hosts", 0,
		"share of hosts that close a kept connection in place of a second answer")
	fs.BoolVar(&s.o.Gzip, "gzip", false, "compress responses for clients that accept it, as most servers do")
	fs.DurationVar(&s.o.Delay, "delay", 0,
		"shortest time between two requests to a host that the report counts as polite")
	fs.BoolVar(&s.o.TLS, "tls", false, "also speak TLS, on the same port")
	fs.StringVar(&s.ca, "ca-file", "simweb-ca.pem",
		"file to write the certificate of the authority of --tls to (seine trusts it with SSL_CERT_FILE)")
	fs.BoolVar(&s.json, "json", false, "print the report as JSON")
	fs.BoolVar(&s.hostile, "hostile", false,
		"serve the hostile web instead: a host for each way in which servers trouble crawlers")
	fs.BoolVar(&s.attacks, "attacks", false,
		"serve pages instead that try to act on whoever shows them, in search results or as stored copies")
	fs.StringVar(&s.replay, "hostile-replay", "",
		"also serve the recorded responses of this folder (manifest.tsv and responses.tar.gz)")
}

// files are the files that are to be written.
func (s *serverFlags) files() (list []output) {
	for _, o := range []output{{"hosts-file", s.hosts}, {"seeds-file", s.seeds}, {"ca-file", s.ca}} {
		if o.name != "" && (o.flag != "ca-file" || s.o.TLS) {
			list = append(list, o)
		}
	}
	return list
}

func simwebCommand(c *console) *cobra.Command {
	var f simwebFlags
	var s serverFlags
	cmd := &cobra.Command{
		Use:   "simweb",
		Short: "serve a synthetic web, or folders of HTML, on loopback until interrupted",
		Long: "Serves a deterministic web of many hosts on addresses in 127.0.0.0/8, or folders of HTML as\n" +
			"hosts. It writes a hosts file and a seed file for a crawler, and when interrupted prints how\n" +
			"polite the crawler was. A crawler that takes no hosts file reaches every host at 127.0.0.1 by\n" +
			"the Host header, or by using that address as HTTP proxy.",
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := checkOutputs(s.files(), c.out); err != nil {
				return err
			}
			if s.hostile || s.replay != "" {
				if err := f.check(cmd); err != nil {
					return err
				}
				return serveHostile(cmd, c, f.port, &s)
			}
			if s.attacks {
				if err := f.check(cmd); err != nil {
					return err
				}
				return serveSite(cmd.Context(), c, simweb.NewAttacks(), &f, &s)
			}
			site, err := f.site(cmd)
			if err != nil {
				return err
			}
			if f.params.HTTPS > 0 && !s.o.TLS {
				return &usageError{errors.New("--https needs --tls: without it the server speaks no TLS")}
			}
			return serveSite(cmd.Context(), c, site, &f, &s)
		},
	}
	fs := cmd.Flags()
	f.add(fs)
	fs.StringVar(&f.prerender, "prerender", "",
		"make pages before they are requested, and keep up to this many bytes of them, such as 1GB")
	s.add(fs)
	cmd.AddCommand(simwebTruthCommand(c))
	return cmd
}

// serveSite serves a web until ctx ends, and prints the report.
func serveSite(ctx context.Context, c *console, site simweb.Site, f *simwebFlags, s *serverFlags) error {
	s.o.Port = f.port
	server, err := simweb.Serve(context.WithoutCancel(ctx), site, s.o)
	if err != nil {
		return err
	}
	defer server.Close()
	if s.o.TLS {
		if err := writeFile(s.ca, func(w *os.File) error { _, err := w.Write(server.CA()); return err }); err != nil {
			return err
		}
	}
	if err := announce(c, f, server, s.hosts, s.seeds); err != nil {
		return err
	}
	<-ctx.Done()
	r := server.Report()
	if s.json {
		return c.object(r)
	}
	_, err = fmt.Fprintln(c.out, r)
	return err
}

// announce writes the files that a crawler needs and prints a command that uses them.
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
	// The hosts file is written last and atomically: a script that waits for it finds everything ready.
	if err := writeFile(hosts, func(w *os.File) error { return s.HostsFile(w) }); err != nil {
		return err
	}
	scope := "any"
	if len(f.docs) > 0 {
		scope = "host" // documents link to the real web
	}
	_, err := fmt.Fprintf(c.err, "simweb: %d hosts, first page %s; also all at %s, by Host header or as a proxy\n"+
		"simweb: in another terminal: seine crawl --seeds %s --hosts %s --allow-private --scope %s --delay 0s\n",
		s.Site().Hosts(), urls[0], s.Front(), seeds, hosts, scope)
	return err
}

// writeFile writes a file atomically, by renaming. With name "" it does nothing.
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
