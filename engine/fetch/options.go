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

// Options of a Client. A zero field means its default. NewClient copies them; changing them later has no
// effect. The functions and interfaces are called on the goroutines that call Fetch, several at a time.
type Options struct {
	// UserAgent is sent with every request. It is required.
	UserAgent string
	// Resolver finds addresses. The default queries the system's name servers.
	Resolver Resolver
	// Dialer replaces the client's own, which checks each address once more when it connects. The addresses
	// it gets have passed the check.
	Dialer func(ctx context.Context, addr netip.AddrPort) (net.Conn, error)
	// AllowPrivate permits loopback and private addresses, and all ports.
	AllowPrivate bool
	// Networks lists the networks of this machine, which are refused unless AllowPrivate permits them. It is called
	// every minute. The default asks the system.
	Networks func() ([]netip.Prefix, error)
	// LoopbackOnly refuses every address but loopback, which AllowPrivate must permit, and behind a proxy every name
	// but localhost and those that Hosts has on loopback.
	LoopbackOnly bool
	// AllowPorts are permitted besides 80 and 443.
	AllowPorts []uint16

	// TotalTimeout bounds the whole fetch; default 60 s.
	TotalTimeout time.Duration
	// DialTimeout bounds connecting, over all addresses of the host; default 5 s.
	DialTimeout time.Duration
	// TLSTimeout bounds the TLS handshake; default 5 s.
	TLSTimeout time.Duration
	// WriteTimeout bounds writing the request; default 5 s.
	WriteTimeout time.Duration
	// HeadTimeout bounds the time from the start of the request to the end of the response's head; default
	// 10 s.
	HeadTimeout time.Duration
	// Grace is the time after the head before MinRate applies; default 10 s, or half of TotalTimeout if that is less.
	Grace time.Duration
	// MinRate is the minimum average rate of a body in bytes per second; default 1024. A slower one ends the fetch
	// with FailTooSlow.
	MinRate int
	// MaxBody bounds a body as received, in bytes; default 4 MiB.
	MaxBody int64
	// MaxDecoded bounds a body after content decoding, in bytes; default 8 MiB.
	MaxDecoded int64
	// Longer, if not nil, is called with the first bytes of a body that is longer than MaxBody, content coding undone,
	// and returns how long it may be instead, as received. It may be called concurrently, and must not keep the bytes.
	// Such a body takes only memory that no other needs, and is cut (truncated "length") where there is none. It is not
	// called for a Request with a MaxBody of its own.
	Longer func(start []byte) int64
	// MemoryBytes bounds all bodies together, as received, from their first byte to Release; default 256 MiB, and never
	// less than one body of MaxBody needs. A fetch waits for memory within its deadline. While one waits, a body that
	// has been received for more than five seconds may be cut off (truncated "time").
	MemoryBytes int64
	// IdleTimeout is how long an unused connection is kept; default 15 s.
	IdleTimeout time.Duration
	// MaxIdle is the number of unused connections that are kept; default 1024, at most half of MaxConns.
	MaxIdle int
	// TLSInsecure accepts any certificate. Response.TLSUnverified is then true for https.
	TLSInsecure bool
	// TLSConfig is the base configuration; for tests.
	TLSConfig *tls.Config
	// Proxy carries all requests: "http://[user:password@]host:port" or "socks5://…". The proxy then resolves
	// the names, so only it can see that a public name leads to a private address. Names that are not public, such
	// as those without a dot, "localhost", and what ends in ".local" or ".internal", are refused unless AllowPrivate
	// permits them or Hosts has them.
	Proxy string
	// Hosts are names that a proxy may be given although they are not public. Resolver decides where there is none.
	Hosts Hosts
	// Accept decides whether the body of a 2xx response is read; if not, the fetch ends with FailType.
	// mediaType is in lower case and without parameters, "" if the server sends none. nil accepts all. A Request with
	// AnyType is not asked about.
	Accept func(mediaType string) bool
	// MaxConns is the number of open connections, idle ones included. The default leaves 1024 of the
	// process's file descriptors to others, but is at least 64.
	MaxConns int
	// Now is the clock of Response.Start and End, and of refused ports; default time.Now. Timeouts and rates
	// always follow the real clock.
	Now func() time.Time
}

func (o Options) withDefaults() (Options, error) {
	if o.UserAgent == "" {
		return o, errors.New("fetch: Options.UserAgent is empty: set it to the crawler's name and contact")
	}
	if o.Resolver == nil {
		o.Resolver = NewResolver(ResolverOptions{})
	}
	graceSet := o.Grace != 0
	for _, d := range []struct {
		field *time.Duration
		value time.Duration
	}{
		{&o.TotalTimeout, defaultTotal},
		{&o.DialTimeout, defaultDial},
		{&o.TLSTimeout, defaultTLS},
		{&o.WriteTimeout, defaultWrite},
		{&o.HeadTimeout, defaultHead},
		{&o.Grace, defaultGrace},
		{&o.IdleTimeout, defaultIdle},
	} {
		if *d.field == 0 {
			*d.field = d.value
		}
	}
	for _, d := range []struct {
		field *int64
		value int64
	}{
		{&o.MaxBody, defaultMaxBody},
		{&o.MaxDecoded, defaultMaxDecoded},
		{&o.MemoryBytes, defaultBudget},
	} {
		if *d.field == 0 {
			*d.field = d.value
		}
	}
	if !graceSet {
		o.Grace = min(o.Grace, o.TotalTimeout/2)
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
	if o.Networks == nil {
		o.Networks = interfaceNetworks
	}
	if o.MaxConns == 0 {
		o.MaxConns = defaultMaxConns()
	}
	o.MaxIdle = min(o.MaxIdle, max(o.MaxConns/2, 1))
	o.MemoryBytes = max(o.MemoryBytes, o.MaxBody+8*budgetStep)
	return o, nil
}

// defaultMaxConns is the default of Options.MaxConns, which follows from this process's limit on open files.
func defaultMaxConns() int {
	var files unix.Rlimit
	if unix.Getrlimit(unix.RLIMIT_NOFILE, &files) != nil {
		return connsMin
	}
	return int(min(max(files.Cur, reservedFiles+connsMin)-reservedFiles, 1<<20))
}
