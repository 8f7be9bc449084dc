// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"os"
	"runtime/debug"
	"time"

	"github.com/seine-crawler/seine/engine"
	"github.com/seine-crawler/seine/engine/fetch"
	"github.com/seine-crawler/seine/engine/policy"
	"github.com/seine-crawler/seine/storage/urlkey"
	"github.com/spf13/cobra"
)

// options turns the settings into the engine's options.
func (f *flags) options(cmd *cobra.Command) (engine.Options, error) {
	if err := f.readConfig(cmd); err != nil {
		return engine.Options{}, err
	}
	s := &f.s
	o := engine.Options{
		Dir: s.Dir, MustExist: f.exists, UserAgent: s.UserAgent, Contact: s.Contact, AllowPrivate: s.AllowPrivate,
		Proxy: s.Proxy, InsecureTLS: s.InsecureTLS, Concurrency: s.Concurrency, PerHost: s.PerHost,
		MaxDepth: s.MaxDepth, MaxRedirects: s.MaxRedirects,
		HostPages: int64(s.HostPages), DomainPages: int64(s.DomainPages),
		Sitemaps: s.Sitemaps, RefuseTypes: splitList(s.RefuseTypes), URLLength: s.URLLength, Signature: s.Signature,
		DedupOrder: s.DedupOrder, NoIndex: s.NoIndex, OnFatal: fatal(cmd), Events: warnings(cmd),
	}
	var err error
	if o.Memory, err = parseMemory(s.Memory); err != nil {
		return o, &usageError{fmt.Errorf("--memory %q: %w", s.Memory, err)}
	}
	// Near the budget the garbage collector runs more often; otherwise the heap could grow to twice the budget.
	debug.SetMemoryLimit(o.Memory)
	if s.Hosts != "" {
		if o.Hosts, err = fetch.LoadHosts(s.Hosts); err != nil {
			return o, err
		}
	}
	if o.HostPolicy, err = hostPolicy(f.hosts); err != nil {
		return o, &usageError{fmt.Errorf("%s: %w", f.config, err)}
	}
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
		o.TrapDuplicates = -1 // never; the engine's 0 is a default
	}
	if o.Delay == 0 {
		o.Delay = -1 // none; the engine's 0 is a default
	}
	if o.FetchTimeout, err = parseDuration(s.Timeout); err != nil {
		return o, &usageError{fmt.Errorf("--timeout %q: %w", s.Timeout, err)}
	}
	if o.Scope, err = policy.ParseScope(s.Scope); err != nil {
		return o, &usageError{err}
	}
	return o, s.policies(&o)
}

// warnings prints warnings to stderr, one line each.
func warnings(cmd *cobra.Command) engine.EventListener {
	w := cmd.ErrOrStderr()
	return engine.EventListener{
		Warning: func(err error) { fmt.Fprintln(w, "seine: warning: "+oneLine(err)) },
		HostAsleep: func(_ urlkey.HostKey, until time.Time, why engine.Cause) {
			fmt.Fprintf(w, "seine: %s (not requested again before %s)\n", lineOf(why.String()),
				until.Format(time.DateTime))
		},
	}
}

// fatal ends the process when the store fails. What was acknowledged is on disk, and the next start continues from
// there.
func fatal(cmd *cobra.Command) func(error) {
	return func(err error) {
		w := cmd.ErrOrStderr()
		leave(w)
		fmt.Fprintf(w, "seine: the store failed: %s; fix the cause and start seine again\n", oneLine(err))
		os.Exit(exitDisk)
	}
}
