// SPDX-License-Identifier: Apache-2.0

package frontier

import (
	"fmt"
	"math/bits"
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
