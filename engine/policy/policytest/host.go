// SPDX-License-Identifier: Apache-2.0

package policytest

import (
	"reflect"
	"testing"

	"github.com/seine-crawler/seine/engine/policy"
	"github.com/seine-crawler/seine/storage/urlkey"
)

// HostPolicy checks that a policy gives the same settings of a host each time and from any goroutine, and that it does
// not allocate. Hosts are "host" or "host:port". Do not call it from a parallel test, which would count the
// allocations of others.
func HostPolicy(t testing.TB, p policy.HostPolicy, hosts []string) {
	t.Helper()
	keys := make([]urlkey.HostKey, len(hosts))
	first := make([]*policy.HostSettings, len(hosts))
	for i, host := range hosts {
		h, err := urlkey.ParseHost(host)
		if err != nil {
			t.Fatalf("policytest: %v", err)
		}
		keys[i], first[i] = h, p.Settings(h)
	}
	together(func() {
		for i, h := range keys {
			if again := p.Settings(h); !reflect.DeepEqual(again, first[i]) {
				t.Errorf("%s: %v, and later %v", h, first[i], again)
			}
		}
	})
	for _, h := range keys {
		if n := testing.AllocsPerRun(100, func() { p.Settings(h) }); n != 0 {
			t.Errorf("%s: %v allocations, want 0: it is called once per request", h, n)
		}
	}
}
