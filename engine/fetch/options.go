// SPDX-License-Identifier: Apache-2.0

package fetch

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"net/netip"
	"time"

	"golang.org/x/sys/unix"
)

// Options of a Client. Zero values are the defaults in limits.go.
type Options struct {
	UserAgent string // required
	Resolver  Resolver
	// Dialer replaces the guarded dialer.
	Dialer func(ctx context.Context, addr netip.AddrPort) (net.Conn, error)
	// AllowPrivate admits loopback and private addresses and all ports; LoopbackOnly admits nothing
	// but loopback.
	AllowPrivate, LoopbackOnly bool
	AllowPorts                 []uint16 // beside 80 and 443

	TotalTimeout, DialTimeout, TLSTimeout, WriteTimeout, HeadTimeout time.Duration
	Grace                                                            time.Duration
	MinRate                                                          int // bytes per second
	MaxBody, MaxDecoded                                              int64
	MemoryBytes                                                      int64 // of all bodies together
	IdleTimeout                                                      time.Duration
	MaxIdle                                                          int
	// TLSInsecure takes any certificate; Response.TLSUnverified tells.
	TLSInsecure bool
	TLSConfig   *tls.Config // base configuration, for tests
	// Proxy, "http://[user:password@]host:port" or "socks5://…", carries all requests. Names are then
	// the proxy's to resolve.
	Proxy string
	// Accept is asked, when the head of a page (2xx) has come, whether its body is wanted: by media type,
	// in lower case and without parameters, "" when the server names none. nil accepts all.
	Accept func(mediaType string) bool
	// MaxConns is the number of connections at once, idle ones included: 0 means as many as the limit on
	// open files leaves room for.
	MaxConns int
	Now      func() time.Time
}

func (o Options) withDefaults() (Options, error) {
	if o.UserAgent == "" {
		return o, errors.New("fetch: Options.UserAgent is empty")
	}
	if o.Resolver == nil {
		o.Resolver = NewResolver(ResolverOptions{})
	}
	for _, d := range []struct {
		field *time.Duration
		value time.Duration
	}{{&o.TotalTimeout, defaultTotal}, {&o.DialTimeout, defaultDial}, {&o.TLSTimeout, defaultTLS}, {&o.WriteTimeout, defaultWrite},
		{&o.HeadTimeout, defaultHead}, {&o.Grace, defaultGrace}, {&o.IdleTimeout, defaultIdle}} {
		if *d.field == 0 {
			*d.field = d.value
		}
	}
	for _, d := range []struct {
		field *int64
		value int64
	}{{&o.MaxBody, defaultMaxBody}, {&o.MaxDecoded, defaultMaxDecoded}, {&o.MemoryBytes, defaultBudget}} {
		if *d.field == 0 {
			*d.field = d.value
		}
	}
	if o.MinRate == 0 {
		o.MinRate = defaultMinRate
	}
	if o.MaxIdle == 0 {
		o.MaxIdle = defaultMaxIdle
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.MaxConns == 0 {
		o.MaxConns = connsMin
		var files unix.Rlimit
		if unix.Getrlimit(unix.RLIMIT_NOFILE, &files) == nil {
			o.MaxConns = int(min(max(files.Cur, reservedFiles+connsMin)-reservedFiles, 1<<20))
		}
	}
	o.MaxIdle = min(o.MaxIdle, max(o.MaxConns/2, 1))
	o.MemoryBytes = max(o.MemoryBytes, o.MaxBody+budgetStep)
	return o, nil
}

// Protocol makes exchanges; Client is the one for HTTP. A user may replace it.
type Protocol interface {
	// Fetch never returns nil; the caller must call Release on what it returns.
	Fetch(ctx context.Context, req *Request) *Response
}
