// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/seine-crawler/seine/engine/fetch"
	"github.com/seine-crawler/seine/engine/internal/visit"
	"github.com/seine-crawler/seine/engine/parse"
	"github.com/seine-crawler/seine/engine/policy"
	"github.com/seine-crawler/seine/storage/urlkey"
)

// network is the resolver, the HTTP client and what is known of hosts. They are opened at first use, because a store
// can be read without a network.
type network struct {
	once   sync.Once
	err    error
	opened atomic.Bool // for those who did not open it: the fields below are set

	first    uint32 // segment that only this process can have fetched, as all after it
	resolver fetch.Resolver
	client   fetch.Protocol
	hosts    *visit.Hosts
	end      func() // ends the client
}

// open opens the network. env lacks what open adds: client, resolver, agent and normalizers.
func (n *network) open(o *Options, env visit.Env) error {
	n.resolver, n.end = o.Resolver, func() {}
	if o.Protocol != nil {
		n.client = fetch.Checked(o.Protocol, o.FetchTimeout, o.Now)
	}
	files, err := shareFiles(openFiles())
	if err != nil {
		return err
	}
	if n.resolver == nil {
		n.resolver = fetch.NewResolver(fetch.ResolverOptions{
			Hosts: o.Hosts, Servers: o.NameServers, InFlight: files.lookups, CacheMax: o.shares().names,
		})
	}
	if n.client == nil {
		c, err := fetch.NewClient(fetch.Options{
			UserAgent: o.UserAgent, Resolver: n.resolver, Dialer: o.Dial, AllowPrivate: o.AllowPrivate,
			LoopbackOnly: !o.hasContact(), TotalTimeout: o.FetchTimeout, MemoryBytes: o.shares().bodies,
			Proxy: o.Proxy, Hosts: o.Hosts, TLSInsecure: o.InsecureTLS, Accept: o.acceptsType, Now: o.Now,
			MaxConns: files.conns, Longer: longerBody,
		})
		if err != nil {
			return err
		}
		n.client, n.end = c, c.Close
	}
	env.Client, env.Agent, env.AgentOf = n.client, o.agentToken(), o.agentOf
	// Behind a proxy the proxy resolves names, and a Protocol without a Resolver may not use addresses at all.
	if o.Proxy == "" && (o.Protocol == nil || o.Resolver != nil) {
		env.Resolver = n.resolver
	}
	if o.Sitemaps {
		env.Links = o.normalizers(policy.NormalizeOutlink)
	}
	n.hosts = visit.NewHosts(env)
	n.opened.Store(true)
	return nil
}

// newParsers returns the parsers, with the clock of the engine unless they have their own.
func (o *Options) newParsers() *parse.Parsers {
	p := o.Parsers
	if p.Now == nil {
		p.Now = o.Now
	}
	return parse.New(p)
}

// longerBody lets a sitemap be as long as the protocol permits.
func longerBody(start []byte) int64 {
	if parse.IsSitemap(start) {
		return parse.MaxSitemapBytes
	}
	return 0
}

// close writes what is known of hosts to hostdb and ends the client.
func (n *network) close() error {
	if !n.opened.Load() {
		return nil
	}
	n.end()
	return n.hosts.Flush()
}

// requireContact refuses, before anything is sent, to fetch from hosts that are all outside of loopback, without a
// contact. Where some are on it, the others fail one by one: the client checks every dial. Of very many hosts, the
// first contactLooks decide. hosts calls its argument with each host, until that returns an error, and returns the
// error.
func (n *network) requireContact(
	ctx context.Context, o *Options, hosts func(each func(urlkey.HostKey) error) error,
) error {
	if !o.needsContact() {
		return nil
	}
	var refused error
	looks := 0
	err := hosts(func(h urlkey.HostKey) error {
		if looks++; looks > contactLooks {
			return errLooked
		}
		addrs, err := n.resolver.Lookup(ctx, h.Host())
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case (err != nil || len(addrs) == 0) && o.Proxy == "":
			return nil // a host without an address is not fetched from; a proxy may have one
		case len(addrs) > 0 && !slices.ContainsFunc(addrs, func(a netip.Addr) bool { return !a.Unmap().IsLoopback() }):
			return errOnLoopback
		case refused == nil:
			refused = fmt.Errorf("refusing to crawl %s: %w: webmasters must be able to reach you; "+
				"give --contact https://your.site/crawler (or a mail address)", h, ErrNoContact)
		}
		return nil
	})
	switch {
	case errors.Is(err, errOnLoopback):
		return nil
	case err != nil && !errors.Is(err, errLooked):
		return err
	}
	return refused
}

// errOnLoopback and errLooked end the look for a host that needs no contact: it is found, or was looked for enough.
var errOnLoopback, errLooked = errors.New("on loopback"), errors.New("looked at enough hosts")
