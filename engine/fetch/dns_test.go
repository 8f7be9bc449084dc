// SPDX-License-Identifier: Apache-2.0

package fetch_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/miekg/dns"

	"github.com/seine-crawler/seine/engine/fetch"
)

// liar is a name server that answers as a test says.
type liar struct {
	addr    netip.AddrPort
	queries atomic.Int32
}

// lie starts one on UDP and TCP. answer may complete m, a valid but empty answer to q, or return the packets to
// send instead of it.
func lie(t *testing.T, answer func(l *liar, q, m *dns.Msg, network string) [][]byte) *liar {
	t.Helper()
	var udp net.PacketConn
	var tcp net.Listener
	for try := 0; tcp == nil; try++ { // until a port is free for both
		var err error
		if udp, err = net.ListenPacket("udp", "127.0.0.1:0"); err != nil {
			t.Fatal(err)
		}
		if tcp, err = net.Listen("tcp", udp.LocalAddr().String()); err != nil {
			udp.Close()
			if try > 50 {
				t.Fatal(err)
			}
		}
	}
	l := &liar{addr: netip.MustParseAddrPort(udp.LocalAddr().String())}
	handle := func(network string) dns.HandlerFunc {
		return func(w dns.ResponseWriter, q *dns.Msg) {
			l.queries.Add(1)
			m := new(dns.Msg)
			m.SetReply(q)
			packets := answer(l, q, m, network)
			if packets == nil {
				w.WriteMsg(m)
			}
			for _, p := range packets {
				w.Write(p)
			}
		}
	}
	var wg sync.WaitGroup
	us, ts := &dns.Server{PacketConn: udp, Handler: handle("udp")}, &dns.Server{Listener: tcp, Handler: handle("tcp")}
	var started sync.WaitGroup
	started.Add(2)
	us.NotifyStartedFunc, ts.NotifyStartedFunc = started.Done, started.Done
	wg.Go(func() { us.ActivateAndServe() })
	wg.Go(func() { ts.ActivateAndServe() })
	started.Wait()
	t.Cleanup(func() { us.Shutdown(); ts.Shutdown(); wg.Wait() })
	return l
}

// rr parses a resource record.
func rr(s string) dns.RR {
	r, err := dns.NewRR(s)
	if err != nil {
		panic(err)
	}
	return r
}

func isType(q *dns.Msg, t uint16) bool { return q.Question[0].Qtype == t }

// TestLyingNameServers: false answers are not believed, and no answer breaks a lookup. Results and failures are
// cached.
func TestLyingNameServers(t *testing.T) {
	good := func(q, m *dns.Msg) {
		if isType(q, dns.TypeA) {
			m.Answer = append(m.Answer, rr(q.Question[0].Name+" 300 IN A 192.0.2.1"))
		}
	}
	code := func(rcode int) func(*liar, *dns.Msg, *dns.Msg, string) [][]byte {
		return func(_ *liar, _, m *dns.Msg, _ string) [][]byte { m.Rcode = rcode; return nil }
	}
	pack := func(m *dns.Msg) []byte {
		b, err := m.Pack()
		if err != nil {
			panic(err)
		}
		return b
	}
	for _, c := range []struct {
		name   string
		answer func(l *liar, q, m *dns.Msg, network string) [][]byte
		want   string // addresses, or the failure
	}{
		{"honest", func(_ *liar, q, m *dns.Msg, _ string) [][]byte { good(q, m); return nil }, "192.0.2.1"},
		{"forged before the answer", func(_ *liar, q, m *dns.Msg, _ string) [][]byte {
			forged := m.Copy()
			forged.Id++
			forged.Answer = []dns.RR{rr(q.Question[0].Name + " 300 IN A 203.0.113.66")}
			other := m.Copy()
			other.Question[0].Name = "other.example."
			other.Answer = []dns.RR{rr("other.example. 300 IN A 203.0.113.66")}
			query := forged.Copy()
			query.Id, query.Response = m.Id, false
			good(q, m)
			return [][]byte{pack(forged), []byte("garbage"), {}, pack(other), pack(query), pack(m)}
		}, "192.0.2.1"},
		{"addresses of other names", func(_ *liar, q, m *dns.Msg, _ string) [][]byte {
			good(q, m)
			m.Answer = append(m.Answer, rr("bank.example. 300 IN A 203.0.113.66"))
			m.Extra = append(m.Extra, rr(q.Question[0].Name+" 300 IN A 203.0.113.67"))
			return nil
		}, "192.0.2.1"},
		{"alias in the answer", func(_ *liar, q, m *dns.Msg, _ string) [][]byte {
			m.Answer = []dns.RR{
				rr("a.example. 300 IN A 192.0.2.7"),
				rr(q.Question[0].Name + " 300 IN CNAME A.example."),
			}
			return nil
		}, "192.0.2.7"},
		{"alias to be followed", func(_ *liar, q, m *dns.Msg, _ string) [][]byte {
			if q.Question[0].Name == "real.example." {
				good(q, m)
			} else {
				m.Answer = []dns.RR{rr(q.Question[0].Name + " 300 IN CNAME real.example.")}
			}
			return nil
		}, "192.0.2.1"},
		{"aliases in a circle", func(_ *liar, q, m *dns.Msg, _ string) [][]byte {
			m.Answer = []dns.RR{
				rr(q.Question[0].Name + " 300 IN CNAME b.example."),
				rr("b.example. 300 IN CNAME " + q.Question[0].Name),
			}
			return nil
		}, "dns_fail"},
		{"aliases without end", func(l *liar, q, m *dns.Msg, _ string) [][]byte {
			m.Answer = []dns.RR{rr(fmt.Sprintf("%s 300 IN CNAME n%d.example.", q.Question[0].Name, l.queries.Load()))}
			return nil
		}, "dns_fail"},
		{"truncated, complete over TCP", func(_ *liar, q, m *dns.Msg, network string) [][]byte {
			if m.Truncated = network == "udp"; !m.Truncated {
				good(q, m)
			}
			return nil
		}, "192.0.2.1"},
		{"a thousand addresses", func(_ *liar, q, m *dns.Msg, network string) [][]byte {
			if m.Truncated = network == "udp"; !m.Truncated && isType(q, dns.TypeA) {
				for i := range 1000 {
					record := fmt.Sprintf("%s 300 IN A 192.0.%d.%d", q.Question[0].Name, i/250, i%250)
					m.Answer = append(m.Answer, rr(record))
				}
			}
			return nil
		}, "192.0.0.0 192.0.0.1 192.0.0.2 192.0.0.3 192.0.0.4 192.0.0.5 192.0.0.6 192.0.0.7"},
		{"only IPv6", func(_ *liar, q, m *dns.Msg, _ string) [][]byte {
			if isType(q, dns.TypeAAAA) {
				m.Answer = []dns.RR{rr(q.Question[0].Name + " 300 IN AAAA 2001:db8::1")}
			}
			return nil
		}, "2001:db8::1"},
		{"IPv4 refused, IPv6 answered", func(_ *liar, q, m *dns.Msg, _ string) [][]byte {
			if isType(q, dns.TypeAAAA) {
				m.Answer = []dns.RR{rr(q.Question[0].Name + " 300 IN AAAA 2001:db8::1")}
			} else {
				m.Rcode = dns.RcodeRefused
			}
			return nil
		}, "2001:db8::1"},
		{"no such name", code(dns.RcodeNameError), "dns_nx"},
		{"no address", code(dns.RcodeSuccess), "dns_nx"},
		{"server failure", code(dns.RcodeServerFailure), "dns_fail"},
		{"no EDNS", func(_ *liar, q, m *dns.Msg, _ string) [][]byte {
			if q.IsEdns0() != nil {
				m.Rcode = dns.RcodeFormatError
			} else {
				good(q, m)
			}
			return nil
		}, "192.0.2.1"},
		{"endless garbage", func(_ *liar, _, m *dns.Msg, _ string) [][]byte {
			return slices.Repeat([][]byte{[]byte("\x00\x01\x80\x00\x00\x01\xc0\x0c\xc0\x0c\xc0\x0c")}, 100)
		}, "dns_fail"},
		{"silence", func(_ *liar, _, m *dns.Msg, _ string) [][]byte { return [][]byte{} }, "dns_timeout"},
	} {
		t.Run(c.name, func(t *testing.T) {
			l := lie(t, c.answer)
			r := fetch.NewResolver(fetch.ResolverOptions{Servers: []netip.AddrPort{l.addr}, Timeout: time.Second})
			if got := looked(r.Lookup(context.Background(), "www.example")); got != c.want {
				t.Errorf("got %s, want %s", got, c.want)
			}
			before := l.queries.Load()
			got := looked(r.Lookup(context.Background(), "www.example"))
			if n := l.queries.Load() - before; got != c.want || n != 0 {
				t.Errorf("the second lookup got %s, after %d more queries", got, n)
			}
		})
	}
}

// TestSlowNameServers: an answer is taken as long as the lookup has time, though other queries were sent meanwhile; and
// a server that fails or is silent does not hide what another one says.
func TestSlowNameServers(t *testing.T) {
	after := func(wait time.Duration, then func(q, m *dns.Msg)) func(*liar, *dns.Msg, *dns.Msg, string) [][]byte {
		return func(_ *liar, q, m *dns.Msg, _ string) [][]byte {
			time.Sleep(wait)
			then(q, m)
			return nil
		}
	}
	address := func(q, m *dns.Msg) {
		if isType(q, dns.TypeA) {
			m.Answer = []dns.RR{rr(q.Question[0].Name + " 300 IN A 192.0.2.1")}
		}
	}
	fails := func(_, m *dns.Msg) { m.Rcode = dns.RcodeServerFailure }
	silent := func(*liar, *dns.Msg, *dns.Msg, string) [][]byte { return [][]byte{} }
	slow := after(2*time.Second, address)
	for _, c := range []struct {
		name    string
		servers servers
		timeout time.Duration
		want    string
	}{
		{"slow", servers{slow}, 4 * time.Second, "192.0.2.1"},
		{"slow, and another that fails", servers{after(0, fails), slow}, 4 * time.Second, "192.0.2.1"},
		{"slow, and another that is silent", servers{silent, slow}, 4 * time.Second, "192.0.2.1"},
		{"two silent, one honest", servers{silent, silent, after(0, address)}, 5 * time.Second, "192.0.2.1"},
		{"one fails, one is silent", servers{after(0, fails), silent}, time.Hour, "dns_fail"},
		{"no IPv6", servers{func(l *liar, q, m *dns.Msg, network string) [][]byte {
			if isType(q, dns.TypeAAAA) {
				return [][]byte{}
			}
			address(q, m)
			return nil
		}}, time.Hour, "192.0.2.1"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			var addrs []netip.AddrPort
			for _, answer := range c.servers {
				addrs = append(addrs, lie(t, answer).addr)
			}
			for range len(addrs) { // each is queried first once
				r := fetch.NewResolver(fetch.ResolverOptions{Servers: addrs, Timeout: c.timeout})
				if got := looked(r.Lookup(context.Background(), "www.example")); got != c.want {
					t.Errorf("got %s, want %s", got, c.want)
				}
				slices.Reverse(addrs)
			}
		})
	}
}

type servers []func(*liar, *dns.Msg, *dns.Msg, string) [][]byte

// looked returns the result of a lookup as text.
func looked(addrs []netip.Addr, err error) string {
	var s []string
	for _, a := range addrs {
		s = append(s, a.String())
	}
	if err != nil {
		word, _, _ := strings.Cut(err.Error(), ":")
		s = append(s, word)
	}
	return strings.Join(s, " ")
}

// TestResolverMemory: answers are cached for their TTL, within bounds, and so are negative ones. Concurrent
// lookups share one query.
func TestResolverMemory(t *testing.T) {
	var ttl atomic.Int64
	l := lie(t, func(_ *liar, q, m *dns.Msg, _ string) [][]byte {
		switch {
		case !isType(q, dns.TypeA):
		case q.Question[0].Name == "none.example.":
			m.Rcode = dns.RcodeNameError
			m.Ns = []dns.RR{rr("example. 900 IN SOA ns.example. me.example. 1 1 1 1 120")}
		case q.Question[0].Name == "broken.example.":
			m.Rcode = dns.RcodeServerFailure
		default:
			m.Answer = []dns.RR{rr(fmt.Sprintf("%s %d IN A 192.0.2.1", q.Question[0].Name, ttl.Load()))}
		}
		return nil
	})
	var mu sync.Mutex
	now := time.Unix(1_800_000_000, 0)
	clock := func() time.Time { mu.Lock(); defer mu.Unlock(); return now }
	r := fetch.NewResolver(fetch.ResolverOptions{Servers: []netip.AddrPort{l.addr}, Now: clock})
	for _, c := range []struct {
		name  string
		ttl   int64
		holds time.Duration
	}{
		{"none.example", 0, time.Minute},
		{"broken.example", 0, 10 * time.Second},
		{"zero.example", 0, time.Minute},
		{"some.example", 300, 300 * time.Second},
		{"long.example", 1<<31 - 1, time.Hour},
	} {
		ttl.Store(c.ttl)
		queried := func() bool {
			before := r.Stats().Lookups
			var wg sync.WaitGroup
			for range 20 {
				wg.Go(func() { r.Lookup(context.Background(), c.name) })
			}
			wg.Wait()
			if n := r.Stats().Lookups - before; n > 1 {
				t.Errorf("%s: %d lookups at the same time", c.name, n)
			}
			return r.Stats().Lookups > before
		}
		if !queried() {
			t.Errorf("%s: the first lookup sent no query", c.name)
		}
		mu.Lock()
		now = now.Add(c.holds - time.Second)
		mu.Unlock()
		if queried() {
			t.Errorf("%s: queried again within %s", c.name, c.holds)
		}
		mu.Lock()
		now = now.Add(time.Hour)
		mu.Unlock()
		if !queried() {
			t.Errorf("%s: not queried again after an hour", c.name)
		}
	}
}

// TestResolverNames: invalid names and addresses cause no query. Servers are tried in turn.
func TestResolverNames(t *testing.T) {
	dead := lie(t, func(*liar, *dns.Msg, *dns.Msg, string) [][]byte { return [][]byte{} })
	l := lie(t, func(_ *liar, q, m *dns.Msg, _ string) [][]byte {
		if isType(q, dns.TypeA) {
			m.Answer = []dns.RR{rr(q.Question[0].Name + " 300 IN A 192.0.2.1")}
		}
		return nil
	})
	r := fetch.NewResolver(fetch.ResolverOptions{
		Servers: []netip.AddrPort{dead.addr, l.addr},
		Hosts: fetch.Hosts{
			"known.example": {netip.MustParseAddr("192.0.2.9")}, "localhost": {netip.MustParseAddr("192.0.2.9")},
		},
	})
	for host, want := range map[string]string{
		"www.example":                        "192.0.2.1",
		"known.example":                      "192.0.2.9",
		"192.0.2.3":                          "192.0.2.3",
		"[::1]":                              "::1",
		"localhost":                          "127.0.0.1 ::1",
		"a.localhost":                        "127.0.0.1 ::1",
		strings.Repeat("a", 64) + ".example": "dns_nx",
		strings.Repeat("abcdefgh.", 30):      "dns_nx",
		"":                                   "dns_nx",
	} {
		if got := looked(r.Lookup(context.Background(), host)); got != want {
			t.Errorf("%q: got %s, want %s", host, got, want)
		}
	}
	const servers = "[9.9.9.9:53 [2620:fe::fe]:5353 [::1]:53]"
	if s, err := fetch.ParseServers("9.9.9.9, [2620:fe::fe]:5353,::1"); err != nil || fmt.Sprint(s) != servers {
		t.Errorf("ParseServers: %v, %v, want %s", s, err, servers)
	}
	if _, err := fetch.ParseServers("dns.example"); err == nil {
		t.Error("ParseServers accepts a name")
	}
}

// TestLoadHosts: names of a hosts file are those of URLs: in lower case, without a final dot, in ASCII.
func TestLoadHosts(t *testing.T) {
	name := filepath.Join(t.TempDir(), "hosts")
	text := "# names\n127.0.0.9 Bücher.example. two.EXAMPLE # more\n::1\ttwo.example\n127.0.0.8 a_b\n"
	if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	got, err := fetch.LoadHosts(name)
	const want = "map[a_b:[127.0.0.8] two.example:[127.0.0.9 ::1] xn--bcher-kva.example:[127.0.0.9]]"
	if err != nil || fmt.Sprint(got) != want {
		t.Errorf("%v, %v, want %s", got, err, want)
	}
}

// TestRealNameServer queries Debian's nsd.
func TestRealNameServer(t *testing.T) {
	nsd, err := exec.LookPath("nsd")
	if err != nil {
		t.Skip("nsd is not installed: apt-get install nsd")
	}
	zone := `$ORIGIN box.example.
@ 300 IN SOA ns me 1 3600 600 86400 120
@ IN NS ns
ns IN A 192.0.2.53
www 600 IN A 192.0.2.80
www 600 IN AAAA 2001:db8::80
alias IN CNAME chain
chain IN CNAME www
six IN AAAA 2001:db8::6
text IN TXT "no address"
*.wild IN A 192.0.2.99
`
	for i := range 200 { // too much for one datagram
		zone += fmt.Sprintf("many IN A 198.51.100.%d\n", i)
	}
	r := serveZone(t, nsd, zone)
	for host, want := range map[string]string{
		"www.box.example":    "192.0.2.80 2001:db8::80",
		"alias.box.example":  "192.0.2.80 2001:db8::80",
		"six.box.example":    "2001:db8::6",
		"text.box.example":   "dns_nx",
		"no.box.example":     "dns_nx",
		"a.wild.box.example": "192.0.2.99",
		"other.example":      "dns_fail",
	} {
		if got := looked(r.Lookup(context.Background(), host)); got != want {
			t.Errorf("%s: got %s, want %s", host, got, want)
		}
	}
	if addrs, err := r.Lookup(context.Background(), "many.box.example"); err != nil || len(addrs) != 8 {
		t.Errorf("200 addresses: got %v, %v", addrs, err)
	}
}

// nsdConfig has places for the port, the directory, and the files of zones and log.
const nsdConfig = `server:
 ip-address: 127.0.0.1@%d
 server-count: 1
 username: ""
 chroot: ""
 zonesdir: %q
 pidfile: ""
 zonelistfile: %q
 xfrdfile: ""
 logfile: %q
remote-control:
 control-enable: no
zone:
 name: box.example
 zonefile: box.zone
`

// serveZone runs nsd until the test ends, and returns a resolver that queries it. Its ports are below those of
// the system's outgoing sockets, which the resolver uses.
func serveZone(t *testing.T, nsd, zone string) *fetch.CachingResolver {
	t.Helper()
	for try := range 10 {
		dir := t.TempDir()
		addr := netip.AddrPortFrom(netip.MustParseAddr("127.0.0.1"), uint16(20_000+rand.IntN(10_000)))
		config := fmt.Sprintf(nsdConfig, addr.Port(), dir, filepath.Join(dir, "list"), filepath.Join(dir, "log"))
		for name, text := range map[string]string{"box.zone": zone, "nsd.conf": config} {
			if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		cmd := exec.Command(nsd, "-d", "-c", filepath.Join(dir, "nsd.conf"))
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		ended := make(chan struct{})
		go func() { cmd.Wait(); close(ended) }()
		t.Cleanup(func() { cmd.Process.Signal(os.Interrupt); <-ended })
		for serving := true; serving; {
			r := fetch.NewResolver(fetch.ResolverOptions{Servers: []netip.AddrPort{addr}})
			if addrs, _ := r.Lookup(context.Background(), "www.box.example"); len(addrs) == 2 {
				return r
			}
			select {
			case <-ended: // the port is in use
				serving = false
			default:
			}
		}
		log, _ := os.ReadFile(filepath.Join(dir, "log"))
		t.Logf("try %d: %s", try+1, log)
	}
	t.Fatal("nsd served on none of ten ports")
	return nil
}

// FuzzDNSAnswer: whatever a name server sends, a lookup ends with addresses of the queried name or with an error.
func FuzzDNSAnswer(f *testing.F) {
	for _, text := range []string{
		"www.example. 300 IN A 192.0.2.1",
		"www.example. 300 IN CNAME b.example.",
		"b.example. 0 IN A 203.0.113.66",
	} {
		m := new(dns.Msg)
		m.SetQuestion("www.example.", dns.TypeA)
		m.Response = true
		m.Answer = []dns.RR{rr(text)}
		b, err := m.Pack()
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
	f.Add([]byte("\x00\x00\x81\x80\x00\x01\x00\x01\x00\x00\x00\x00" + "\xc0\x0c\x00\x01\x00\x01" +
		"\xc0\x0c\x00\x01\x00\x01\x00\x00\x00\x00\x00\x04\x01\x02\x03\x04"))
	f.Fuzz(func(t *testing.T, b []byte) {
		var m dns.Msg
		if m.Unpack(b) != nil {
			return
		}
		a := fetch.ReadDNSAnswer(&m, "www.example.", dns.TypeA)
		found, none := len(a.Addrs) > 0, a.Err != nil || a.Alias != ""
		if len(a.Addrs) > 8 || a.TTL < 0 || a.TTL > time.Hour || found == none {
			t.Fatalf("%d addresses for %s, alias %q, %v", len(a.Addrs), a.TTL, a.Alias, a.Err)
		}
		for _, addr := range a.Addrs {
			if !slices.ContainsFunc(m.Answer, func(r dns.RR) bool {
				x, ok := r.(*dns.A)
				return ok && x.A.String() == addr.String()
			}) {
				t.Fatalf("no record has the address %s", addr)
			}
		}
	})
}

func BenchmarkResolver(b *testing.B) {
	r := fetch.NewResolver(fetch.ResolverOptions{LookUp: func(context.Context, string) ([]netip.Addr, error) {
		return []netip.Addr{netip.MustParseAddr("192.0.2.1")}, nil
	}})
	b.ReportAllocs()
	for b.Loop() {
		if _, err := r.Lookup(context.Background(), "www.example"); err != nil && !errors.Is(err, context.Canceled) {
			b.Fatal(err)
		}
	}
}

// TestResolverLeft: a lookup ends with the caller that makes it, and who waits for it makes another.
func TestResolverLeft(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		addr := netip.MustParseAddr("192.0.2.1")
		var calls atomic.Int32
		r := fetch.NewResolver(fetch.ResolverOptions{
			LookUp: func(ctx context.Context, _ string) ([]netip.Addr, error) {
				if calls.Add(1) > 1 {
					return []netip.Addr{addr}, nil
				}
				<-ctx.Done()
				return nil, ctx.Err()
			},
		})
		began := time.Now()
		first, leave := context.WithCancel(context.Background())
		var callers sync.WaitGroup
		callers.Go(func() {
			if addrs, err := r.Lookup(first, "a.example"); !errors.Is(err, context.Canceled) {
				t.Errorf("the caller that left got %v, %v", addrs, err)
			}
		})
		synctest.Wait()
		callers.Go(func() {
			if got := looked(r.Lookup(context.Background(), "a.example")); got != addr.String() {
				t.Errorf("the caller that waited got %s", got)
			}
		})
		synctest.Wait()
		leave()
		callers.Wait()
		if waited := time.Since(began); waited > 0 || calls.Load() != 2 {
			t.Errorf("%d lookups in %s", calls.Load(), waited)
		}
		// Who has little time learns nothing of the name for others.
		calls.Store(0)
		hurried, cancel := context.WithTimeout(context.Background(), time.Millisecond)
		defer cancel()
		if _, err := r.Lookup(hurried, "b.example"); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("the caller in a hurry got %v", err)
		}
		if got := looked(r.Lookup(context.Background(), "b.example")); got != addr.String() {
			t.Errorf("the next caller got %s", got)
		}
	})
}
