// SPDX-License-Identifier: Apache-2.0

package policytest_test

import (
	"fmt"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/seine-crawler/seine/engine/policy"
	"github.com/seine-crawler/seine/engine/policy/policytest"
	"github.com/seine-crawler/seine/storage"
	"github.com/seine-crawler/seine/storage/urlkey"
)

// recorder counts what a law reports.
type recorder struct {
	testing.TB
	errors atomic.Int32
}

func (r *recorder) Helper()               {}
func (r *recorder) Errorf(string, ...any) { r.errors.Add(1) }

var urls = []string{"http://host.example/a", "https://host.example/b"}

// early is due a second before the fetch time, or far before it.
type early struct {
	policy.FixedSchedule
	far bool
}

func (s early) Due(r *storage.Record, now int64) bool {
	if s.far && r.FetchTime-now > 1<<40 {
		return true
	}
	return r.FetchTime <= now || !s.far && r.FetchTime <= now+1000
}

type negative struct{ policy.VoteScorer }

func (negative) Inject(float64) float64 { return -1 }

type deeper struct{ policy.VoteScorer }

func (deeper) AtDepth(depth uint16) float64 { return float64(depth) }

// hostsOf answers for a host what it does not answer for its URLs.
type hostsOf struct{ policy.URLFilterFunc }

func (hostsOf) AcceptHost(urlkey.HostKey) string { return "host" }

// live reports what it is made to report.
type live struct {
	policy.URLFilterFunc
	changed     bool
	fingerprint uint64
}

func (l *live) Explain(urlkey.URL) string { return "" }
func (l *live) Refresh() (bool, error)    { return l.changed, nil }
func (l *live) Fingerprint() uint64       { return l.fingerprint }

// TestLawsCatch: each law reports an implementation that breaks it.
func TestLawsCatch(t *testing.T) {
	var calls atomic.Int64
	accept := func(urlkey.URL) string { return "" }
	for name, check := range map[string]func(t testing.TB){
		"a reason with the URL": func(t testing.TB) {
			policytest.URLFilter(t, policy.URLFilterFunc(urlkey.URL.String), urls)
		},
		"a reason with the host": func(t testing.TB) {
			policytest.URLFilter(t, policy.URLFilterFunc(urlkey.URL.Host), urls)
		},
		"another reason each time": func(t testing.TB) {
			policytest.URLFilter(t, policy.URLFilterFunc(func(urlkey.URL) string {
				return fmt.Sprint(calls.Add(1))
			}), urls)
		},
		"a host that is not its URLs": func(t testing.TB) { policytest.HostFilter(t, hostsOf{accept}, urls) },
		"a change that is none": func(t testing.TB) {
			policytest.LiveFilter(t, &live{URLFilterFunc: accept, changed: true}, urls, func() {})
		},
		"a change that is not reported": func(t testing.TB) {
			policytest.LiveFilter(t, &live{URLFilterFunc: accept}, urls, func() {})
		},
		"a normalizer that never ends": func(t testing.TB) {
			policytest.URLNormalizer(t, policy.URLNormalizerFunc(func(u urlkey.URL) (urlkey.URL, error) {
				return urlkey.Parse(u.String() + "x")
			}), urls)
		},
		"a negative score":               func(t testing.TB) { policytest.Scorer(t, negative{}) },
		"a score that grows with depth":  func(t testing.TB) { policytest.Scorer(t, deeper{}) },
		"due before the fetch time":      func(t testing.TB) { policytest.FetchSchedule(t, early{}) },
		"due long before the fetch time": func(t testing.TB) { policytest.FetchSchedule(t, early{far: true}) },
		"other settings each time": func(t testing.TB) {
			policytest.HostPolicy(t, policy.HostPolicyFunc(func(urlkey.HostKey) *policy.HostSettings {
				return &policy.HostSettings{MaxPages: calls.Add(1)}
			}), []string{"host.example"})
		},
		"settings that allocate": func(t testing.TB) {
			policytest.HostPolicy(t, policy.HostPolicyFunc(func(h urlkey.HostKey) *policy.HostSettings {
				return &policy.HostSettings{Username: strings.Repeat(string(h), 2)}
			}), []string{"host.example"})
		},
	} {
		r := &recorder{TB: t}
		if check(r); r.errors.Load() == 0 {
			t.Errorf("%s: no law reports it", name)
		}
	}
}
