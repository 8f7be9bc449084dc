// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"os"
	"reflect"
	"runtime/debug"
	"strconv"
	"strings"
	"time"

	"github.com/BurntSushi/toml"
	"github.com/spf13/cobra"

	"github.com/seine-crawler/seine/engine"
	"github.com/seine-crawler/seine/engine/fetch"
	"github.com/seine-crawler/seine/engine/policy"
	"github.com/seine-crawler/seine/storage/urlkey"
)

// flags are the settings that commands share. Each has the same name as a flag and as a key of the
// TOML file that --config names; a flag on the command line wins over the file.
type flags struct {
	config string
	json   bool
	quiet  bool
	exists bool // the command only reads: there must be a store

	s settings
}

// reading marks a command that only reads.
func (f *flags) reading() *flags {
	f.exists = true
	return f
}

// settings is the one list behind flags, TOML keys and engine.Options.
type settings struct {
	Dir          string `toml:"dir" help:"data directory"`
	Memory       string `toml:"memory" help:"memory budget for caches, sorting and bodies, such as 512MB or 2GB; auto: a quarter of the machine's, at least 1GB"`
	UserAgent    string `toml:"user-agent" help:"User-Agent header; its name selects the robots.txt group"`
	Contact      string `toml:"contact" help:"URL or mail address by which webmasters reach you; required beyond loopback"`
	Hosts        string `toml:"hosts" help:"hosts(5) file, asked before DNS"`
	Resolver     string `toml:"resolver" help:"name servers to ask, such as 9.9.9.9 or 127.0.0.1:5353, instead of the system's"`
	Proxy        string `toml:"proxy" help:"proxy for all requests: http://[user:password@]host:port or socks5://…"`
	InsecureTLS  bool   `toml:"insecure-tls" help:"take any certificate; what was not verified is marked"`
	AllowPrivate bool   `toml:"allow-private" help:"permit loopback and private addresses, and any port"`
	Delay        string `toml:"delay" help:"least time between two requests to a host; 0s for none"`
	Concurrency  int    `toml:"concurrency" help:"number of fetchers"`
	PerHost      int    `toml:"per-host" help:"requests at once to one host; more than 1 is for your own servers"`
	Timeout      string `toml:"timeout" help:"longest time for one fetch"`
	Scope        string `toml:"scope" help:"how far links are followed: page, prefix, host, domain or any"`
	MaxDepth     int    `toml:"max-depth" help:"most links from a seed (0: no limit)"`
	MaxRedirects int    `toml:"max-redirects" help:"longest chain of redirects that is followed"`
	HostPages    int    `toml:"host-pages" help:"most pages of one host (0: no limit)"`
	StripParams  bool   `toml:"strip-tracking" help:"drop tracking parameters (utm_source, gclid…) and session ids from URLs"`
	Rewrite      string `toml:"url-rewrite" help:"file of substitutions in URLs, as Nutch's regex-normalize.xml"`
	RewriteIn    string `toml:"url-rewrite-scopes" help:"such files for seeds, links or redirects alone, in place of it: inject=FILE,outlink=FILE,fetcher=FILE"`
	RewriteHosts string `toml:"rewrite-hosts" help:"file of \"host host\" lines: URLs of the one are URLs of the other (*.example.com: and all below it)"`
	Protocols    string `toml:"protocols" help:"file of \"host https\" or \"host http\" lines: the protocol of a host's URLs"`
	Slashes      string `toml:"slashes" help:"file of \"host -\" or \"host +\" lines: whether a host's paths end with a slash"`
	MergeSlashes bool   `toml:"merge-slashes" help:"make one slash of several in paths"`
	SortQuery    bool   `toml:"sort-query" help:"put parameters of queries in order by name"`
	Requisites   bool   `toml:"requisites" help:"fetch what pages are shown with, too: pictures, scripts, style sheets (within the scope), for an archive"`
	Forms        bool   `toml:"forms" help:"follow forms that only ask (GET), too, with nothing filled in"`
	Sitemaps     bool   `toml:"sitemaps" help:"fetch the sitemaps that robots.txt files name, too"`
	TrapPercent  int    `toml:"trap-duplicates" help:"close a part of a site when so many in 100 of its last 200 pages are copies of one another (0: never)"`
	DomainPages  int    `toml:"domain-pages" help:"most pages of one registered domain (0: by reputation; seeds' domains without limit)"`
	HostBytes    string `toml:"host-bytes" help:"most that is received from one host, such as 500MB (0: no limit)"`
	DomainBytes  string `toml:"domain-bytes" help:"most that is received from one registered domain (0: no limit)"`
	HostTime     string `toml:"host-time" help:"longest time that fetchers spend on one host, such as 30m (0: no limit)"`
	DomainTime   string `toml:"domain-time" help:"longest time that fetchers spend on one registered domain (0: no limit)"`
	RefuseTypes  string `toml:"refuse-types" help:"media types whose bodies are not read"`
	PDF          bool   `toml:"pdf" help:"read PDF files, each in a process of its own that is bounded in memory and time"`
	DenyHosts    string `toml:"deny-hosts" help:"file of hosts, one a line with all below it, that are not fetched from; read again when it changes"`
	AllowHosts   string `toml:"allow-hosts" help:"file of the only hosts that are fetched from; read again when it changes"`
	PrefixFile   string `toml:"url-prefixes" help:"file of the beginnings of the only URLs that are fetched, as Nutch's prefix-urlfilter.txt; read again when it changes"`
	SuffixFile   string `toml:"url-suffixes" help:"file of endings of URLs that are not fetched, or the only ones that are, as Nutch's suffix-urlfilter.txt, in place of seine's own list; read again when it changes"`
	URLLength    int    `toml:"url-length" help:"most bytes of a URL (0: 2048)"`
	FilterFile   string `toml:"url-filter" help:"file of +regex and -regex lines, as Nutch's regex-urlfilter.txt; read again when it changes"`
	Scoring      string `toml:"scoring" help:"score policy: vote or opic"`
	Schedule     string `toml:"schedule" help:"re-fetch policy: fixed or adaptive"`
	Signature    string `toml:"signature" help:"what makes pages duplicates: content, text, bytes, or Nutch's body and profile (default: the store's own, content for a new one)"`
	NoIndex      bool   `toml:"no-index" help:"crawl without indexing; seine index does it later"`
}

// defaults are what every setting is when neither flag nor file says otherwise.
func defaults() settings {
	return settings{Dir: "./seine-data", Memory: autoMemory, Delay: "1s", Concurrency: 64, Timeout: "60s", Scope: "host", PerHost: 1, MaxRedirects: 10, StripParams: true, TrapPercent: 80, HostBytes: "0", DomainBytes: "0", HostTime: "0", DomainTime: "0", RefuseTypes: "image/*,audio/*,video/*,font/*", PDF: true, Scoring: "vote", Schedule: "fixed"}
}

// storeSettings are the settings of commands that only read or rewrite the store; the others fetch.
var storeSettings = map[string]bool{"dir": true, "memory": true}

// common adds the flags that every command on a data directory has.
func (f *flags) common(cmd *cobra.Command) {
	f.s = defaults()
	f.add(cmd, func(name string) bool { return storeSettings[name] })
	cmd.Flags().StringVar(&f.config, "config", "", "TOML file of settings, named like the flags")
}

// crawling adds the flags of commands that inject, choose or fetch URLs.
func (f *flags) crawling(cmd *cobra.Command) {
	f.common(cmd)
	f.add(cmd, func(name string) bool { return !storeSettings[name] })
}

// report adds the flag of commands that report.
func (f *flags) report(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&f.json, "json", false, "print JSON")
}

// add makes a flag of each setting that is wanted.
func (f *flags) add(cmd *cobra.Command, wanted func(name string) bool) {
	v := reflect.ValueOf(&f.s).Elem()
	for i := range v.NumField() {
		field := v.Type().Field(i)
		name, help := field.Tag.Get("toml"), field.Tag.Get("help")
		if !wanted(name) {
			continue
		}
		switch p := v.Field(i).Addr().Interface().(type) {
		case *string:
			cmd.Flags().StringVar(p, name, *p, help)
		case *int:
			cmd.Flags().IntVar(p, name, *p, help)
		case *bool:
			cmd.Flags().BoolVar(p, name, *p, help)
		}
	}
}

// readConfig fills the settings from the TOML file, but for those given as flags. A key that is no
// setting is an error: a typing mistake must not pass for a default.
func (f *flags) readConfig(cmd *cobra.Command) error {
	if f.config == "" {
		return nil
	}
	text, err := os.ReadFile(f.config)
	if err != nil {
		return fmt.Errorf("reading settings: %w", err)
	}
	file := defaults()
	meta, err := toml.Decode(string(text), &file)
	if err != nil {
		return fmt.Errorf("reading settings from %s: %w", f.config, err)
	}
	if unknown := meta.Undecoded(); len(unknown) > 0 {
		return fmt.Errorf("reading settings from %s: there is no setting %q; they are named like the flags of \"seine crawl --help\"", f.config, unknown[0])
	}
	to, from := reflect.ValueOf(&f.s).Elem(), reflect.ValueOf(file)
	for i := range to.NumField() {
		name := to.Type().Field(i).Tag.Get("toml")
		if flag := cmd.Flags().Lookup(name); meta.IsDefined(name) && (flag == nil || !flag.Changed) {
			to.Field(i).Set(from.Field(i))
		}
	}
	return nil
}

// options turns the settings into the engine's options.
func (f *flags) options(cmd *cobra.Command) (engine.Options, error) {
	if err := f.readConfig(cmd); err != nil {
		return engine.Options{}, err
	}
	s := &f.s
	o := engine.Options{Dir: s.Dir, UserAgent: s.UserAgent, Contact: s.Contact, HostsFile: s.Hosts, AllowPrivate: s.AllowPrivate,
		Proxy: s.Proxy, InsecureTLS: s.InsecureTLS, PerHost: s.PerHost, MaxRedirects: s.MaxRedirects, HostPages: int64(s.HostPages), DomainPages: int64(s.DomainPages),
		Sitemaps: s.Sitemaps, RefuseTypes: splitList(s.RefuseTypes), FilterFile: s.FilterFile, PrefixFile: s.PrefixFile, SuffixFile: s.SuffixFile, URLLength: s.URLLength, DenyHosts: s.DenyHosts, AllowHosts: s.AllowHosts, Concurrency: s.Concurrency, MaxDepth: s.MaxDepth, Signature: s.Signature, NoIndex: s.NoIndex, OnFatal: fatal(cmd), MustExist: f.exists, Events: warnings(cmd)}
	var err error
	if o.Memory, err = parseMemory(s.Memory); err != nil {
		return o, &usageError{fmt.Errorf("--memory %q: %w", s.Memory, err)}
	}
	// The collector works harder near the budget instead of letting the heap double beyond it.
	debug.SetMemoryLimit(o.Memory)
	if s.Resolver != "" {
		if o.NameServers, err = fetch.ParseServers(s.Resolver); err != nil {
			return o, &usageError{fmt.Errorf("--resolver: %w", err)}
		}
	}
	if o.Delay, err = parseDuration(s.Delay); err != nil {
		return o, &usageError{fmt.Errorf("--delay %q: %w", s.Delay, err)}
	}
	for _, b := range []struct {
		name, value string
		to          *int64
	}{{"--host-bytes", s.HostBytes, &o.HostBytes}, {"--domain-bytes", s.DomainBytes, &o.DomainBytes}} {
		if *b.to, err = parseBytes(b.value); err != nil {
			return o, &usageError{fmt.Errorf("%s %q: %w", b.name, b.value, err)}
		}
	}
	for _, b := range []struct {
		name, value string
		to          *time.Duration
	}{{"--host-time", s.HostTime, &o.HostTime}, {"--domain-time", s.DomainTime, &o.DomainTime}} {
		if *b.to, err = parseDuration(b.value); err != nil {
			return o, &usageError{fmt.Errorf("%s %q: %w", b.name, b.value, err)}
		}
	}
	if o.TrapDuplicates = s.TrapPercent; o.TrapDuplicates == 0 {
		o.TrapDuplicates = -1 // asked for: none
	}
	if o.Delay == 0 {
		o.Delay = -1 // asked for: no delay
	}
	if o.FetchTimeout, err = parseDuration(s.Timeout); err != nil {
		return o, &usageError{fmt.Errorf("--timeout %q: %w", s.Timeout, err)}
	}
	if o.Scope, err = policy.ParseScope(s.Scope); err != nil {
		return o, &usageError{err}
	}
	return o, s.policies(&o)
}

// normalizers are those that are asked for, in the order in which they are applied, with the substitutions of a
// file ("": none).
func (s *settings) normalizers(rewrite string) (policy.URLNormalizers, error) {
	ns := policy.URLNormalizers{}
	if s.StripParams {
		ns = append(ns, policy.ParameterNormalizer{})
	}
	if rewrite != "" {
		n, err := policy.NewRegexNormalizer(rewrite)
		if err != nil {
			return nil, fmt.Errorf("--url-rewrite: %w", err)
		}
		ns = append(ns, n)
	}
	if s.MergeSlashes {
		ns = append(ns, policy.SlashNormalizer{})
	}
	if s.RewriteHosts+s.Protocols+s.Slashes != "" {
		n, err := policy.NewSiteNormalizer(policy.SiteFiles{Hosts: s.RewriteHosts, Protocols: s.Protocols, Slashes: s.Slashes})
		if err != nil {
			return nil, err
		}
		ns = append(ns, n)
	}
	if s.SortQuery {
		ns = append(ns, policy.QueryNormalizer{})
	}
	return ns, nil
}

// scopedNormalizers are the chains of scopes that have a file of substitutions of their own.
func (s *settings) scopedNormalizers() (policy.NormalizerScopes, error) {
	if s.RewriteIn == "" {
		return nil, nil
	}
	files, err := policy.ParseScopedFiles(s.RewriteIn)
	if err != nil {
		return nil, fmt.Errorf("--url-rewrite-scopes: %w", err)
	}
	scopes := policy.NormalizerScopes{}
	for scope, file := range files {
		if scopes[scope], err = s.normalizers(file); err != nil {
			return nil, err
		}
	}
	return scopes, nil
}

// policies are the settings that choose between what decides and what reads.
func (s *settings) policies(o *engine.Options) (err error) {
	if s.PDF {
		if o.Parsers.Parsers, err = pdfParsers(); err != nil {
			return err
		}
	}
	if o.Parsers.Requisites, o.Parsers.Forms = s.Requisites, s.Forms; s.Requisites {
		o.Filters = policy.URLFilters{policy.TrapFilter{Year: time.Now().Year()}} // whatever a file's name ends with
		if s.RefuseTypes == defaults().RefuseTypes {
			o.RefuseTypes = []string{}
		}
	}
	if o.Normalizers, err = s.normalizers(s.Rewrite); err != nil {
		return &usageError{err}
	}
	if o.NormalizerScopes, err = s.scopedNormalizers(); err != nil {
		return &usageError{err}
	}
	switch s.Scoring {
	case "vote":
	case "opic":
		o.Scorer = policy.OPICScorer{}
	default:
		return &usageError{fmt.Errorf("--scoring %q: want vote or opic", s.Scoring)}
	}
	switch s.Schedule {
	case "fixed":
	case "adaptive":
		o.Schedule = policy.AdaptiveSchedule{}
	default:
		return &usageError{fmt.Errorf("--schedule %q: want fixed or adaptive", s.Schedule)}
	}
	return nil
}

// splitList reads "a,b"; "" is a list of nothing, not the default.
func splitList(s string) []string {
	list := []string{}
	for _, part := range strings.Split(s, ",") {
		if part = strings.TrimSpace(part); part != "" {
			list = append(list, strings.ToLower(part))
		}
	}
	return list
}

// warnings go to stderr, a line each.
func warnings(cmd *cobra.Command) engine.EventListener {
	w := cmd.ErrOrStderr()
	return engine.EventListener{
		Warning: func(err error) { fmt.Fprintln(w, "seine: warning: "+oneLine(err)) },
		HostAsleep: func(h urlkey.HostKey, until time.Time) {
			fmt.Fprintf(w, "seine: host %s does not answer: left alone until %s\n", h, until.Format(time.DateTime))
		},
	}
}

// fatal ends the process when the store cannot go on. What was acknowledged is on disk, and the
// next start takes up from there.
func fatal(cmd *cobra.Command) func(error) {
	return func(err error) {
		fmt.Fprintln(cmd.ErrOrStderr(), "seine: the store cannot go on: "+oneLine(err)+"; mend the cause and start again")
		os.Exit(exitFatal)
	}
}

// parseDuration reads 1.5s, 200ms, or a bare number of seconds.
func parseDuration(s string) (time.Duration, error) {
	if n, err := strconv.ParseFloat(s, 64); err == nil && n >= 0 && n < 1e9 {
		return time.Duration(n * float64(time.Second)), nil
	}
	d, err := time.ParseDuration(s)
	if err == nil && d < 0 {
		err = fmt.Errorf("it is negative")
	}
	if err != nil {
		return 0, fmt.Errorf("want a duration such as 500ms or 2s")
	}
	return d, nil
}

// parseBytes reads a number of bytes with an optional KB, MB or GB (powers of 1024).
func parseBytes(s string) (int64, error) {
	number := strings.ToUpper(strings.TrimSpace(s))
	unit := int64(1)
	for _, u := range []struct {
		suffix string
		size   int64
	}{{"KIB", 1 << 10}, {"MIB", 1 << 20}, {"GIB", 1 << 30}, {"KB", 1 << 10}, {"MB", 1 << 20}, {"GB", 1 << 30}, {"K", 1 << 10}, {"M", 1 << 20}, {"G", 1 << 30}} {
		if rest, ok := strings.CutSuffix(number, u.suffix); ok {
			number, unit = strings.TrimSpace(rest), u.size
			break
		}
	}
	n, err := strconv.ParseFloat(number, 64)
	if err != nil || n < 0 || n*float64(unit) > 1<<50 {
		return 0, fmt.Errorf("want a size such as 512MB or 2GB")
	}
	return int64(n * float64(unit)), nil
}

// settingsByName lists the settings with their help.
func settingsByName() map[string]string {
	names := map[string]string{}
	for f := range reflect.TypeFor[settings]().Fields() {
		names[f.Tag.Get("toml")] = f.Tag.Get("help")
	}
	return names
}
