// SPDX-License-Identifier: Apache-2.0

package fetch

import (
	"bufio"
	"cmp"
	"container/list"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sync/semaphore"

	"github.com/seine-crawler/seine/storage/urlkey"
)

// Client is the HTTP client of a crawl. It implements Protocol and is safe for concurrent use. NewClient
// creates it.
type Client struct {
	o      Options
	dialer net.Dialer
	tls    *tls.Config
	budget *budget
	conns  *semaphore.Weighted // open connections
	wanted atomic.Int32        // fetches that wait for one
	proxy  *proxy              // nil: none

	refused recent[netip.AddrPort] // ports that refused a connection
	lapsed  recent[connKey]        // servers that broke the rules of kept connections, without addresses

	own ownNetworks

	mu     sync.Mutex // guards the fields below
	idle   map[connKey]*list.List
	all    *list.List  // of *conn, most recently parked first
	sweep  *time.Timer // that closes what has been idle for too long; nil: nothing is idle
	closed bool
}

// connKey identifies the requests that a connection may serve.
type connKey struct {
	secure bool
	host   string
	port   uint16
	addr   netip.Addr
}

// server returns the key without the address.
func (k connKey) server() connKey {
	k.addr = netip.Addr{}
	return k
}

// conn is a connection. One exchange or the pool owns it.
type conn struct {
	net.Conn   // &wire, or TLS over it
	wire       wire
	socket     socket
	counted    int64 // of wire.received, in the Received of responses
	key        connKey
	r          *bufio.Reader // nil outside an exchange
	parked     time.Time
	unverified bool
	conns      *semaphore.Weighted
	inHost     *list.Element
	inAll      *list.Element
}

// Close closes the connection and releases its place among Client.conns.
func (cn *conn) Close() error {
	defer cn.conns.Release(1)
	return cn.Conn.Close()
}

// NewClient returns a client, which must be closed. The error names the option that is missing or wrong.
func NewClient(o Options) (*Client, error) {
	o, err := o.withDefaults()
	if err != nil {
		return nil, err
	}
	c := &Client{
		o:       o,
		budget:  newBudget(o.MemoryBytes, o.MaxBody),
		conns:   semaphore.NewWeighted(int64(o.MaxConns)),
		refused: recent[netip.AddrPort]{hold: refusedHold, most: maxRefusals},
		lapsed:  recent[connKey]{hold: lapsedHold, most: maxLapsed},
		idle:    map[connKey]*list.List{},
		all:     list.New(),
	}
	if o.Proxy != "" {
		if c.proxy, err = parseProxy(o.Proxy); err != nil {
			return nil, fmt.Errorf("proxy %q: %w", RedactProxy(o.Proxy), err)
		}
	}
	c.own = ownNetworks{list: o.Networks, now: o.Now, since: o.Now()}
	if err := c.own.refresh(); err != nil && !o.AllowPrivate {
		return nil, fmt.Errorf("%w: they must not be fetched from: --allow-private goes on without", err)
	}
	c.dialer.ControlContext = c.guard
	c.dialer.KeepAlive = -1 // connections last for seconds, and probes cost two system calls each
	c.tls = &tls.Config{}
	if o.TLSConfig != nil {
		c.tls = o.TLSConfig.Clone()
	}
	if c.tls.CurvePreferences == nil {
		// The post-quantum exchange that Go prefers costs 0.3 ms and 29 KB per handshake, and crawled pages
		// are public. The last two are for servers that take nothing else; offering them costs four bytes.
		c.tls.CurvePreferences = []tls.CurveID{tls.X25519, tls.CurveP256, tls.CurveP384, tls.CurveP521}
	}
	if c.tls.CipherSuites == nil {
		c.tls.CipherSuites = cipherSuites()
	}
	if c.tls.ClientSessionCache == nil {
		c.tls.ClientSessionCache = tls.NewLRUClientSessionCache(defaultMaxIdle)
	}
	c.tls.InsecureSkipVerify = c.tls.InsecureSkipVerify || o.TLSInsecure
	return c, nil
}

// cipherSuites are those of TLS 1.2 that Go offers, and the four with RSA key exchange that browsers offer, too: old
// servers take nothing else. What they lack is forward secrecy, which public pages do not need.
func cipherSuites() (ids []uint16) {
	for _, s := range tls.CipherSuites() {
		ids = append(ids, s.ID)
	}
	return append(ids, tls.TLS_RSA_WITH_AES_128_GCM_SHA256, tls.TLS_RSA_WITH_AES_256_GCM_SHA384,
		tls.TLS_RSA_WITH_AES_128_CBC_SHA, tls.TLS_RSA_WITH_AES_256_CBC_SHA)
}

// guard checks every address that is dialled, in numeric form and before anything is sent to it, so no name,
// redirect or resolver can bypass it.
func (c *Client) guard(_ context.Context, _, address string, _ syscall.RawConn) error {
	ap, err := netip.ParseAddrPort(address)
	if err != nil {
		return &fault{FailAddress, err}
	}
	return c.check(ap.Addr())
}

// Close closes the idle connections. A running fetch goes on, and closes its connection when it ends. Close may
// be called more than once.
func (c *Client) Close() { closeAll(c.empty(true)) }

// Bodies returns the bytes that bodies have in memory, as received, and how many they may have: Options.MemoryBytes
// less a reserve for one body, which is in neither number.
func (c *Client) Bodies() (used, limit int64) { return c.budget.used(), c.budget.size }

// Fetch makes one exchange. It never returns nil, and the caller must call Release on the result. If ctx ends first, by
// a cancel or its deadline, the fetch ends with FailCanceled, or with a truncated body once the head has come, and
// ctx.Err() is set by then.
func (c *Client) Fetch(ctx context.Context, req *Request) *Response {
	r := newResponse()
	r.Start = c.o.Now()
	r.maxDecoded = c.o.MaxDecoded
	if req.MaxBody > 0 {
		r.maxDecoded = min(r.maxDecoded, max(req.MaxBody, 1))
	}
	own, cancel := context.WithTimeout(ctx, cmp.Or(req.Timeout, c.o.TotalTimeout))
	defer cancel()
	err := c.fetch(own, req, r)
	if end, ok := ctx.Deadline(); ok && !time.Now().Before(end) {
		// A connection may notice the deadline before ctx does, and a caller that finds ctx.Err() nil would blame the
		// host.
		<-ctx.Done()
	}
	if err != nil {
		if ctx.Err() != nil {
			err = context.Canceled
		}
		f := classify(err, FailHeadTimeout)
		r.Failure, r.Err = f.failure, f
	}
	r.End = c.o.Now()
	return r
}

func (c *Client) fetch(ctx context.Context, req *Request, r *Response) error {
	u := req.URL
	if err := req.checkHeader(); err != nil {
		return err
	}
	if err := c.o.checkPort(u.Port()); err != nil {
		return err
	}
	addrs, err := c.addresses(ctx, req)
	if err != nil {
		return err
	}
	cn := c.take(u, addrs)
	if r.Reused = cn != nil; !r.Reused {
		if cn, err = c.dial(ctx, req, r, addrs); err != nil {
			return err
		}
	}
	return c.exchange(ctx, req, r, cn)
}

// addresses returns the addresses to try, in order. It leaves out those that must not be dialled, so that a
// host that mixes them with public ones is still reached. With a proxy the address is the zero value.
func (c *Client) addresses(ctx context.Context, req *Request) ([]netip.Addr, error) {
	if c.proxy != nil {
		if a, err := netip.ParseAddr(trimBrackets(req.URL.Host())); err == nil {
			return []netip.Addr{{}}, c.check(a)
		}
		return []netip.Addr{{}}, c.o.checkName(req.URL.Host()) // the proxy resolves it
	}
	addrs := []netip.Addr{req.Addr}
	if !req.Addr.IsValid() {
		ctx, cancel := context.WithTimeout(ctx, defaultDNS)
		defer cancel()
		var err error
		req.at(StepDNS)
		if addrs, err = c.o.Resolver.Lookup(ctx, req.URL.Host()); err != nil {
			return nil, lookupFault(err)
		}
	}
	var allowed []netip.Addr
	denied := error(&fault{failure: FailDNSNotFound})
	for _, a := range addrs[:min(len(addrs), maxAddresses)] {
		if err := c.check(a); err != nil {
			denied = err
		} else {
			allowed = append(allowed, a)
		}
	}
	if len(allowed) == 0 {
		return nil, denied
	}
	return allowed, nil
}

// dial connects to the first address that accepts.
func (c *Client) dial(ctx context.Context, req *Request, r *Response, addrs []netip.Addr) (*conn, error) {
	// Waiting for our own shortage counts against the whole fetch only.
	if err := c.room(ctx, req); err != nil {
		if f := classify(err, FailFiles); f.failure != FailFiles {
			return nil, f
		}
		return nil, &fault{FailFiles, fmt.Errorf("all %d connections are in use: %w: "+
			"raise the limit on open files: ulimit -n", c.o.MaxConns, err)}
	}
	dialCtx, cancel := context.WithTimeout(ctx, c.o.DialTimeout)
	defer cancel()
	cn, err := c.dialRoom(ctx, dialCtx, r, req, addrs)
	if err != nil {
		c.conns.Release(1)
	}
	return cn, err
}

// room acquires a place for one more connection, and closes the oldest idle connection if there is no other
// way. While a fetch waits here no connection is parked, so each exchange that ends makes room.
func (c *Client) room(ctx context.Context, req *Request) error {
	if c.conns.TryAcquire(1) {
		return nil
	}
	c.wanted.Add(1)
	defer c.wanted.Add(-1)
	for !c.conns.TryAcquire(1) {
		c.mu.Lock()
		var oldest *conn
		if c.all.Len() > 0 {
			oldest = c.unpark(c.all.Back().Value.(*conn))
		}
		c.mu.Unlock()
		if oldest == nil {
			req.waiting(StepRoom)
			defer req.goesOn(StepConnect)
			return c.conns.Acquire(ctx, 1)
		}
		oldest.Close()
	}
	return nil
}

// dialRoom is dial once there is room for the connection. dialCtx bounds connecting, ctx the TLS handshake.
func (c *Client) dialRoom(
	ctx, dialCtx context.Context, r *Response, req *Request, addrs []netip.Addr,
) (*conn, error) {
	u := req.URL
	req.at(StepConnect)
	var raw net.Conn
	var err error
	if c.proxy != nil {
		if raw, err = c.proxy.dial(dialCtx); err != nil {
			return nil, classify(err, FailDialTimeout)
		}
		cn := c.newConn(raw, u, netip.Addr{})
		if err = c.proxy.open(dialCtx, &cn.wire, u); err != nil {
			r.Received += cn.wire.received
			return nil, classify(err, FailDialTimeout)
		}
		return c.secure(ctx, r, req, cn)
	}
	for i, a := range addrs {
		ap := netip.AddrPortFrom(a.Unmap(), u.Port())
		if c.refused.has(ap, c.o.Now()) {
			err = &fault{FailRefused, errRefusedBefore}
			continue
		}
		if raw, err = c.connect(dialCtx, ap, len(addrs)-i); err == nil {
			return c.secure(ctx, r, req, c.newConn(raw, u, a))
		}
		switch {
		case errors.Is(err, syscall.ECONNREFUSED):
			c.refused.note(ap, c.o.Now())
		case isOutOfFiles(err):
			c.shed()
		}
	}
	return nil, classify(err, FailDialTimeout)
}

var errNoConn = errors.New("Options.Dialer returned neither a connection nor an error")

// connect connects to one of the last left addresses of a host. One that does not answer leaves the others their share
// of the time.
func (c *Client) connect(ctx context.Context, ap netip.AddrPort, left int) (net.Conn, error) {
	if end, ok := ctx.Deadline(); ok && left > 1 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, time.Until(end)/time.Duration(left))
		defer cancel()
	}
	if c.o.Dialer != nil {
		raw, err := c.o.Dialer(ctx, ap)
		if raw == nil && err == nil {
			err = errNoConn
		}
		return raw, err
	}
	return c.dialer.DialContext(ctx, "tcp", ap.String())
}

func (c *Client) newConn(raw net.Conn, u urlkey.URL, a netip.Addr) *conn {
	cn := &conn{
		key:   connKey{u.Scheme() == "https", u.Host(), u.Port(), a},
		wire:  wire{Conn: raw, limit: maxOverhead},
		conns: c.conns,
	}
	cn.Conn = &cn.wire
	cn.socket.init(raw)
	return cn
}

// secure puts TLS over a new connection if the scheme is https.
func (c *Client) secure(ctx context.Context, r *Response, req *Request, cn *conn) (*conn, error) {
	if !cn.key.secure {
		return cn, nil
	}
	req.at(StepTLS)
	config := c.tls.Clone()
	if config.ServerName == "" {
		config.ServerName = cn.key.host
	}
	t := tls.Client(&cn.wire, config)
	ctx, cancel := context.WithTimeout(ctx, c.o.TLSTimeout)
	defer cancel()
	if err := t.HandshakeContext(ctx); err != nil {
		cn.wire.Close()
		r.Received += cn.wire.received
		return nil, classify(err, FailTLSTimeout)
	}
	cn.Conn, cn.unverified = t, config.InsecureSkipVerify
	return cn, nil
}

// shed closes all idle connections, because file descriptors ran out.
func (c *Client) shed() { closeAll(c.empty(false)) }

// empty takes all idle connections out of the pool, for the caller to close; closed says that none is parked again.
func (c *Client) empty(closed bool) (all []*conn) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.closed = c.closed || closed
	if c.sweep != nil {
		c.sweep.Stop()
		c.sweep = nil
	}
	for c.all.Len() > 0 {
		all = append(all, c.unpark(c.all.Back().Value.(*conn)))
	}
	return all
}

// closeAll closes connections. c.mu is not held: closing is a call of the system, a TLS connection even writes first,
// and other fetches would wait. In a crawl of 10,000 hosts they did, for 0.7 ms of each page in sum.
func closeAll(conns []*conn) {
	for _, cn := range conns {
		cn.Close()
	}
}

// take returns a quiet pooled connection to one of the addresses, or nil. There is none to a server that lapsed.
func (c *Client) take(u urlkey.URL, addrs []netip.Addr) *conn {
	for cn := c.newest(u, addrs); cn != nil; cn = c.newest(u, addrs) {
		state := cn.look()
		if state == talking {
			c.lapsed.note(cn.key.server(), c.o.Now())
		}
		if state == quiet && time.Since(cn.parked) < c.o.IdleTimeout && !c.lapsed.has(cn.key.server(), c.o.Now()) {
			return cn
		}
		cn.Close()
	}
	return nil
}

// newest takes the connection to the first of the addresses that has one out of the pool, that which was parked last.
func (c *Client) newest(u urlkey.URL, addrs []netip.Addr) *conn {
	c.mu.Lock()
	defer c.mu.Unlock()
	key := connKey{u.Scheme() == "https", u.Host(), u.Port(), netip.Addr{}}
	for _, key.addr = range addrs {
		if l := c.idle[key]; l != nil {
			return c.unpark(l.Front().Value.(*conn))
		}
	}
	return nil
}

// park puts a reusable connection into the pool, or closes it. take checks whether it stayed quiet.
func (c *Client) park(cn *conn) {
	lapsed := c.lapsed.has(cn.key.server(), c.o.Now())
	closeAll(c.parkOr(cn, lapsed))
}

// parkOr puts a connection into the pool, and returns those that have to be closed for it, or itself.
func (c *Client) parkOr(cn *conn, lapsed bool) (out []*conn) {
	c.mu.Lock()
	defer c.mu.Unlock()
	l := c.idle[cn.key]
	if c.closed || lapsed || c.wanted.Load() > 0 || l != nil && l.Len() >= maxIdlePerHost {
		return []*conn{cn}
	}
	if l == nil {
		l = list.New()
		c.idle[cn.key] = l
	}
	cn.parked = time.Now()
	cn.inHost, cn.inAll = l.PushFront(cn), c.all.PushFront(cn)
	for c.all.Len() > 0 {
		oldest := c.all.Back().Value.(*conn)
		if c.all.Len() <= c.o.MaxIdle && time.Since(oldest.parked) < c.o.IdleTimeout {
			break
		}
		out = append(out, c.unpark(oldest))
	}
	if c.sweep == nil {
		c.sweep = time.AfterFunc(c.o.IdleTimeout, c.sweepIdle)
	}
	return out
}

// sweepIdle closes what has been idle for IdleTimeout, also where no other exchange ends any more.
func (c *Client) sweepIdle() {
	var out []*conn
	c.mu.Lock()
	for c.sweep != nil {
		if c.all.Len() == 0 {
			c.sweep = nil
			break
		}
		oldest := c.all.Back().Value.(*conn)
		if left := c.o.IdleTimeout - time.Since(oldest.parked); left > 0 {
			c.sweep.Reset(left)
			break
		}
		out = append(out, c.unpark(oldest))
	}
	c.mu.Unlock()
	closeAll(out)
}

// unpark removes a connection from the pool. c.mu is held.
func (c *Client) unpark(cn *conn) *conn {
	l := c.idle[cn.key]
	l.Remove(cn.inHost)
	if l.Len() == 0 {
		delete(c.idle, cn.key)
	}
	c.all.Remove(cn.inAll)
	cn.inHost, cn.inAll = nil, nil
	return cn
}
