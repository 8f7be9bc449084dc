// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/seine-crawler/seine/engine/fetch"
	"github.com/seine-crawler/seine/engine/internal/visit"
	"github.com/seine-crawler/seine/engine/policy"
	"github.com/seine-crawler/seine/storage/urlkey"
)

// network is the resolver, the client and what is known of hosts. They are made at first use: a store can be read
// without a network.
type network struct {
	once     sync.Once
	err      error
	resolver fetch.Resolver
	client   fetch.Protocol
	hosts    *visit.Hosts
	end      func() // of the client

	// Settings that may change while a crawl runs.
	delay    atomic.Int64 // time.Duration
	fetchers atomic.Int64
}

// network makes the network, once.
func (w *work) network() (*network, error) {
	w.net.once.Do(func() { w.net.err = w.openNetwork() })
	return &w.net, w.net.err
}

func (w *work) openNetwork() error {
	n, o := &w.net, &w.o
	n.resolver, n.client, n.end = o.Resolver, o.Protocol, func() {}
	if n.resolver == nil {
		n.resolver = fetch.NewResolver(fetch.ResolverOptions{Hosts: o.Hosts, Servers: o.NameServers})
	}
	if n.client == nil {
		c, err := fetch.NewClient(fetch.Options{
			UserAgent: o.UserAgent, Resolver: n.resolver, Dialer: o.Dial, AllowPrivate: o.AllowPrivate,
			LoopbackOnly: !o.hasContact(), TotalTimeout: o.FetchTimeout, MemoryBytes: o.shares().bodies,
			Proxy: o.Proxy, TLSInsecure: o.InsecureTLS, Accept: o.acceptsType, Now: o.Now,
		})
		if err != nil {
			return err
		}
		n.client, n.end = c, c.Close
	}
	env := visit.Env{
		Store: w.store, Dir: o.Dir, Admission: w.admission, Client: n.client, Agent: o.agentToken(), Now: o.Now,
		Delay: func() time.Duration { return time.Duration(n.delay.Load()) },
		Busy:  func() func() { return w.stages.time(stageRefill) },
		Warn:  w.warn, Stored: o.Events.PageStored, Page: w.pages.callback(o.OnPage, o.PageWorkers),
	}
	if o.Proxy == "" && (o.Protocol == nil || o.Resolver != nil) {
		env.Resolver = n.resolver
	}
	if o.Sitemaps {
		env.Links = o.normalizers(policy.NormalizeOutlink)
	}
	n.hosts = visit.NewHosts(env)
	return nil
}

// sitemaps returns the sitemaps that were found since the last call.
func (w *work) sitemaps() []urlkey.Key {
	if w.net.hosts == nil {
		return nil
	}
	return w.net.hosts.Sitemaps()
}

// close saves what is known of hosts and ends the client.
func (n *network) close() error {
	if n.hosts == nil {
		return nil
	}
	n.end()
	return n.hosts.Flush()
}

// requireContact refuses, before anything is sent, a crawl that would leave loopback without telling webmasters
// whom to ask. The client holds to the same rule at every dial.
func (w *work) requireContact(ctx context.Context, hosts []urlkey.HostKey) error {
	if w.o.hasContact() || w.o.Protocol != nil {
		return nil
	}
	for _, h := range hosts {
		addrs, err := w.net.resolver.Lookup(ctx, h.Host())
		if err != nil {
			continue // a host without an address is not fetched from
		}
		for _, a := range addrs {
			if !a.Unmap().IsLoopback() {
				return fmt.Errorf("refusing to crawl %s: %w: webmasters must be able to reach you; "+
					"give --contact https://your.site/crawler (or a mail address)", h, ErrNoContact)
			}
		}
	}
	return nil
}

// requireContactDue is requireContact for every host that has something due.
func (w *work) requireContactDue(ctx context.Context) error {
	if w.o.hasContact() {
		return nil
	}
	return w.phases.DueHosts(ctx, w.store, "", w.now().UnixMilli(), 0, func(h urlkey.HostKey) error {
		return w.requireContact(ctx, []urlkey.HostKey{h})
	})
}
