// SPDX-License-Identifier: Apache-2.0

package frontier

import (
	"fmt"
	"math/bits"
	"net/netip"
	"slices"
	"testing"
	"time"

	"github.com/seine-crawler/seine/storage/urlkey"
)

// TestForgivenWhileForgotten: the end of a forgotten host's sleep is reported before the host may be refilled, and each
// host whose failure is taken back is named.
func TestForgivenWhileForgotten(t *testing.T) {
	const host = urlkey.HostKey("example,h99,)")
	var f *Frontier
	var got []HostState
	named := map[urlkey.HostKey]int{}
	f = start(t, Options{Source: sites{each: 1}, OnHost: func(h urlkey.HostKey, s HostState) {
		if h == host {
			if got = append(got, s); !f.names.sleeps(h) {
				t.Error("the host may be refilled before its sleep is taken back")
			}
		}
	}, OnForgive: func(h urlkey.HostKey) { named[h]++ }}, 1)
	s := &f.names.stripe[hostHash(host)%stripes]
	s.mu.Lock()
	s.rest(hostHash(host), newResting(f.now().add(time.Hour), restAsleep), 1)
	s.mu.Unlock()
	f.names.resting[restAsleep].Add(1)
	for i := range outageStreak - 1 {
		h := host
		if i > 0 {
			h = urlkey.HostKey(fmt.Sprintf("example,h%d,)", 100+i))
		}
		f.outage.failed(failure{host: h, addr: fmt.Sprint(i)}, f.now())
	}
	v, err := f.Next(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	f.Done(v, Outcome{Kind: HostFailure, Local: true})
	if len(got) != 1 || !got[0].Forgiven || f.names.sleeps(host) {
		t.Errorf("OnHost received %+v, the host sleeps: %t", got, f.names.sleeps(host))
	}
	if len(named) != outageStreak || named[host] != 1 || named[v.Host] != 1 {
		t.Errorf("OnForgive received %v", named)
	}
}

// TestForgivenOnce: hosts whose lookups are taken back with the outage of the name servers are not named again when the
// network is blamed as well, nor the other way round.
func TestForgivenOnce(t *testing.T) {
	lookup := Outcome{Kind: HostFailure, Local: true, NoDNS: true}
	for _, lookups := range []int{outageStreak, outageStreak - outageHosts} {
		named := map[urlkey.HostKey]int{}
		f := start(t, Options{Source: sites{each: 1}, OnForgive: func(h urlkey.HostKey) { named[h]++ }}, 1)
		for i := range lookups {
			out := lookup
			f.failed(&Visit{Host: urlkey.HostKey(fmt.Sprintf("example,new%d,)", i))}, &out)
		}
		if f.noDNS.on.Load() != (lookups == outageStreak) {
			t.Errorf("after %d lookups the name servers are blamed: %t", lookups, f.noDNS.on.Load())
		}
		for i := range outageHosts {
			f.failed(&Visit{Host: urlkey.HostKey(fmt.Sprintf("example,known%d,)", i)),
				Addr: netip.AddrFrom4([4]byte{127, 9, 9, byte(i)})}, &Outcome{Kind: HostFailure, Local: true})
		}
		if !f.Outage() || !f.noDNS.on.Load() {
			t.Errorf("%d lookups, outage: %t, of the name servers: %t", lookups, f.Outage(), f.noDNS.on.Load())
		}
		for h, n := range named {
			if n != 1 {
				t.Errorf("%d lookups: %s is named %d times", lookups, h, n)
			}
		}
		f.outage.answered()
		f.noDNS.answered()
		if f.Excuses(true) {
			t.Errorf("%d lookups: hosts answer, and lookups are excused", lookups)
		}
	}
}

// TestForgivenAfterALongStreak: an outage takes back the failure with which it is seen, also where few addresses had
// failed more often before than it forgives.
func TestForgivenAfterALongStreak(t *testing.T) {
	var o outage
	for n, addr := 0, 0; ; n++ {
		host := urlkey.HostKey(fmt.Sprintf("example,h%d,)", addr))
		if forgiven := o.failed(failure{host: host, addr: fmt.Sprint(addr)}, 1); forgiven != nil {
			if !slices.Contains(forgiven, host) || len(forgiven) > outageStreak {
				t.Errorf("failure %d of %s begins the outage, forgiven are %q", n+1, host, forgiven)
			}
			return
		}
		if bits.OnesCount64(o.seen) < outageHosts-1 || n >= outageStreak {
			addr++
		}
	}
}

// TestForgivenInARest: that the failure of one of several visits is taken back does not end the rest that the host
// demanded of another.
func TestForgivenInARest(t *testing.T) {
	f := start(t, Options{Source: sites{each: 9}, Delay: -1, PerHost: 2, VisitURLs: 1}, 1)
	var visits [2]*Visit
	for i := range visits {
		v, err := f.Next(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		visits[i] = v
	}
	host := visits[0].Host
	f.Done(visits[0], Outcome{Kind: Throttled, RetryAfter: time.Hour})
	f.Done(visits[1], Outcome{Kind: HostFailure, Local: true})
	f.await(t, "both outcomes", func(s Stats) bool { return s.Pending == 0 })
	for i := range outageStreak - 1 {
		f.failed(&Visit{Host: urlkey.HostKey(fmt.Sprintf("example,other%d,)", i)),
			Addr: netip.AddrFrom4([4]byte{127, 9, 9, byte(i)})}, &Outcome{Kind: HostFailure, Local: true})
	}
	f.await(t, "the failure that is taken back", func(s Stats) bool {
		return s.Pending == 0 && s.Outage && f.Host(host).Failures == 0
	})
	if rest := time.Until(f.Host(host).Next); rest < 50*time.Minute {
		t.Errorf("the host demanded an hour, and may be visited in %s", rest)
	}
}

// TestForgivenInAnOutage: a failure that is reported when an outage has been seen is taken back like those before it.
func TestForgivenInAnOutage(t *testing.T) {
	named := map[urlkey.HostKey]int{}
	f := start(t, Options{Source: sites{each: 1}, OnForgive: func(h urlkey.HostKey) { named[h]++ }}, 1)
	v, err := f.Next(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for i := range outageStreak {
		f.failed(&Visit{Host: urlkey.HostKey(fmt.Sprintf("example,other%d,)", i)),
			Addr: netip.AddrFrom4([4]byte{127, 9, 9, byte(i)})}, &Outcome{Kind: HostFailure, Local: true})
	}
	if !f.Outage() || named[v.Host] > 0 {
		t.Fatalf("outage %t, %v", f.Outage(), named)
	}
	f.Done(v, Outcome{Kind: HostFailure, Local: true})
	if named[v.Host] != 1 {
		t.Errorf("OnForgive received %v", named)
	}
}
