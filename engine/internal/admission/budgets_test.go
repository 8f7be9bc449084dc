// SPDX-License-Identifier: Apache-2.0

package admission_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/seine-crawler/seine/engine/internal/admission"
	"github.com/seine-crawler/seine/engine/policy"
	"github.com/seine-crawler/seine/storage"
)

func isCorrupt(err error) bool { return errors.Is(err, storage.ErrCorrupt) }

// spent writes what a host has cost.
func (w *world) spent(host string, fetched uint32, bytes, ms uint64) {
	w.Helper()
	c := storage.HostCounts{Bytes: bytes, TookMS: ms}
	c.ByStatus[storage.StatusFetched], c.ByStatus[storage.StatusUnfetched], c.New = fetched-1, 78, 77
	w.must(w.store.Apply(func(b *storage.Batch) error {
		return b.Set(storage.HostCountsRange(), []byte(w.host("http://"+host+"/")), storage.AppendHostCounts(nil, &c))
	}))
}

func (w *world) domain(host string) string { return w.host("http://" + host + "/").DomainKey() }

// TestHostBudget: the crawl's limits, a host's own, and what was spent of them.
func TestHostBudget(t *testing.T) {
	w := newWorld(t)
	w.spent("a.example", 5, 1000, 2000)
	w.spent("own.example", 6, 1, 1)
	own := scopes{
		"own": {MaxPages: 7, MaxTime: time.Minute}, "bytes": {MaxBytes: 9}, "other": {Delay: time.Second},
	}
	used := admission.Cost{URLs: 5, Bytes: 1000, Time: 2 * time.Second}
	for _, v := range []struct {
		crawl admission.Cost
		host  string
		want  admission.Budget
	}{
		{admission.Cost{}, "a.example", admission.Budget{}}, // no limit: what was used is not looked up
		{admission.Cost{URLs: 10}, "a.example", admission.Budget{Limit: admission.Cost{URLs: 10}, Used: used}},
		{admission.Cost{URLs: 10}, "new.example", admission.Budget{Limit: admission.Cost{URLs: 10}}},
		{admission.Cost{URLs: 10, Bytes: 20, Time: time.Hour}, "own.example", admission.Budget{
			Limit: admission.Cost{URLs: 7, Bytes: 20, Time: time.Minute},
			Used:  admission.Cost{URLs: 6, Bytes: 1, Time: time.Millisecond},
		}},
		{admission.Cost{}, "bytes.example", admission.Budget{Limit: admission.Cost{Bytes: 9}}},
		{admission.Cost{}, "other.example", admission.Budget{}},
	} {
		a := w.process(admission.Options{Host: v.crawl, Hosts: own})
		got, err := a.HostBudget(w.host("http://" + v.host + "/"))
		if err != nil || got != v.want {
			t.Errorf("%s: %+v, %v, want %+v", v.host, got, err, v.want)
		}
	}
}

// TestDomainBudget: a domain may have pages by the number of other domains that link to it. A seed's domain has no such
// bound, the operator's limits hold for all.
func TestDomainBudget(t *testing.T) {
	w := newWorld(t)
	w.spent("a.example", 5, 1000, 2000)
	w.spent("www.a.example", 1, 1, 1)
	w.spent("www.a.example:8080", 1, 1, 1)
	w.spent("aa.example", 100, 100, 100) // another domain
	a := w.process(admission.Options{})
	limit := func(domain string) int64 {
		t.Helper()
		b, err := a.DomainBudget(w.domain(domain))
		w.must(err)
		return b.Limit.URLs
	}
	b, err := a.DomainBudget(w.domain("a.example"))
	want := admission.Budget{
		Limit: admission.Cost{URLs: 10_000},
		Used:  admission.Cost{URLs: 7, Bytes: 1002, Time: 2002 * time.Millisecond},
	}
	if err != nil || b != want {
		t.Errorf("%+v, %v, want %+v", b, err, want)
	}

	c := a.NewChanges()
	for i := range 20 {
		source := w.host(fmt.Sprintf("http://www.source%d.example/", i))
		c.Referral.From([]byte(source))
		if c.Referral.Domain != source.DomainKey() || c.Referral.DomainOf(source) != source.DomainKey() {
			t.Errorf("%s is of domain %q", source, c.Referral.Domain)
		}
		c.Referral.Add(w.domain("b.example"), c.Referral.Bit)
		c.Referral.Add(w.domain("b.example"), c.Referral.Bit)
	}
	if got := limit("b.example"); got != 10_000 {
		t.Errorf("%d before the ingestion", got)
	}
	w.apply(c, false)
	w.now = w.now.Add(9*time.Minute + 59*time.Second)
	if got := limit("b.example"); got != 10_000 {
		t.Errorf("%d: the sum was not remembered", got)
	}
	w.now = w.now.Add(time.Second)
	if got := limit("b.example"); got < 180_000 || got > 240_000 {
		t.Errorf("%d, want about 210,000", got)
	}
	w.spent("b.example", 3, 0, 0)
	b, err = w.process(admission.Options{}).DomainBudget(w.domain("b.example"))
	if err != nil || b.Used.URLs != 3 || b.Limit.URLs < 180_000 {
		t.Errorf("in the next process: %+v, %v", b, err)
	}

	a = w.process(admission.Options{})
	w.seed(a, false, "http://www.a.example/")
	for range 2 {
		if b, err := a.DomainBudget(w.domain("a.example")); err != nil || b != (admission.Budget{}) {
			t.Errorf("a seed's domain: %+v, %v", b, err)
		}
		a = w.process(admission.Options{})
	}
	a = w.process(admission.Options{Domain: admission.Cost{URLs: 3, Bytes: 4}})
	b, err = a.DomainBudget(w.domain("a.example"))
	if err != nil || b.Limit != (admission.Cost{URLs: 3, Bytes: 4}) || b.Used.URLs != 7 {
		t.Errorf("the operator's limit: %+v, %v", b, err)
	}
}

// TestDomainBudgetAround: what the domains of a public suffix cost is no cost of the domain around it.
func TestDomainBudgetAround(t *testing.T) {
	w := newWorld(t)
	w.spent("aws.amazonaws.com", 1, 10, 100)
	w.spent("a.s3.amazonaws.com", 5, 1000, 2000)
	w.spent("www.amazonaws.com", 2, 20, 200)
	a := w.process(admission.Options{})
	want := admission.Cost{URLs: 3, Bytes: 30, Time: 300 * time.Millisecond}
	if b, err := a.DomainBudget("com,amazonaws,"); err != nil || b.Used != want {
		t.Errorf("%+v, %v, want %+v", b.Used, err, want)
	}
	all := a.DomainBudgets(w.store)
	defer all.Close()
	for domain, urls := range map[string]int64{"com,amazonaws,": 3, "com,amazonaws,s3,a,": 5} {
		if b, err := all.Of(domain); err != nil || b.Used.URLs != urls {
			t.Errorf("%s: %+v, %v, want %d", domain, b.Used, err, urls)
		}
	}
}

// TestDomainBudgetBehind: hosts that stand behind those of a public suffix below their domain count, however many these
// are.
func TestDomainBudgetBehind(t *testing.T) {
	w := newWorld(t)
	w.must(w.store.Apply(func(b *storage.Batch) error {
		var errs []error
		value := storage.AppendHostCounts(nil, &storage.HostCounts{Bytes: 7})
		for n := range 12_000 {
			key := fmt.Appendf(nil, "com,amazonaws,s3,bucket-%d,)", n)
			errs = append(errs, b.Set(storage.HostCountsRange(), key, value))
		}
		return errors.Join(errs...)
	}))
	w.spent("www.amazonaws.com", 2, 20, 200)
	a := w.process(admission.Options{})
	if b, err := a.DomainBudget("com,amazonaws,"); err != nil || b.Used.Bytes != 20 {
		t.Errorf("%+v, %v, want 20 bytes", b.Used, err)
	}
	all := a.DomainBudgets(w.store)
	defer all.Close()
	for _, domain := range []string{"com,amazonaws,", "com,amazonaws,s3,bucket-7,", "com,amazonaws,"} {
		if b, err := all.Of(domain); err != nil || b.Used.Bytes == 0 {
			t.Errorf("%s: %+v, %v", domain, b.Used, err)
		}
	}
}

// TestReferralGrows: bits of later segments are added to those that are known.
func TestReferralGrows(t *testing.T) {
	w := newWorld(t)
	a := w.process(admission.Options{Scope: policy.ScopeAny})
	var last int64
	for _, bits := range []uint64{1, 1, 2, 1 << 63} {
		c := a.NewChanges()
		c.Referral.Add("example,b,", bits)
		w.apply(c, false)
		a = w.process(admission.Options{Scope: policy.ScopeAny})
		b, err := a.DomainBudget("example,b,")
		w.must(err)
		if bits == 1 && last > 0 && b.Limit.URLs != last || bits > 1 && b.Limit.URLs <= last {
			t.Errorf("bits %x: from %d to %d pages", bits, last, b.Limit.URLs)
		}
		last = b.Limit.URLs
	}
}

// TestDamagedBudgets: what cannot be read is an error that names the host or domain.
func TestDamagedBudgets(t *testing.T) {
	w := newWorld(t)
	a := w.process(admission.Options{Host: admission.Cost{URLs: 1}})
	h := w.host("http://a.example/")
	w.must(w.store.Apply(func(b *storage.Batch) error {
		return errors.Join(b.Set(storage.HostCountsRange(), []byte(h), []byte("?")),
			b.Set(storage.Meta(), []byte("referrers/"+w.domain("b.example")), []byte("?")))
	}))
	if _, err := a.HostBudget(h); !isCorrupt(err) {
		t.Errorf("host: %v", err)
	}
	for _, host := range []string{"a.example", "b.example"} {
		if _, err := a.DomainBudget(w.domain(host)); !isCorrupt(err) {
			t.Errorf("domain of %s: %v", host, err)
		}
	}
}

// TestDomainBudgetNow: people see what is spent by now, not what was remembered.
func TestDomainBudgetNow(t *testing.T) {
	w := newWorld(t)
	a := w.process(admission.Options{})
	if _, err := a.DomainBudget(w.domain("a.example")); err != nil {
		t.Fatal(err)
	}
	w.spent("a.example", 4, 0, 0)
	if b, err := a.DomainBudget(w.domain("a.example")); err != nil || b.Used.URLs != 0 {
		t.Errorf("remembered: %+v, %v", b, err)
	}
	if b, err := a.DomainBudgetNow(w.domain("a.example")); err != nil || b.Used.URLs != 4 {
		t.Errorf("now: %+v, %v", b, err)
	}
}

// TestDomainBudgets: budgets of many domains are those of each, in whatever order.
func TestDomainBudgets(t *testing.T) {
	w := newWorld(t)
	hosts := []string{"a.example", "b.example", "x.b.example", "github.io", "a.github.io", "b.github.io", "z.example"}
	for i := range 20 {
		hosts = append(hosts, fmt.Sprintf("m%02d.example", i))
	}
	for i, h := range hosts {
		w.spent(h, uint32(i+1), 0, 0)
	}
	a := w.process(admission.Options{})
	slices.SortFunc(hosts, func(x, y string) int { return strings.Compare(w.domain(x), w.domain(y)) })
	orders := [][]string{hosts, {"z.example", "a.example", "b.github.io", "github.io", "m05.example", "m05.example"}}
	for _, order := range orders {
		d := a.DomainBudgets(w.store)
		for _, h := range order {
			got, err := d.Of(w.domain(h))
			want, wantErr := a.DomainBudgetNow(w.domain(h))
			if err != nil || wantErr != nil || got != want {
				t.Errorf("domain of %s: %+v %v, want %+v %v", h, got, err, want, wantErr)
			}
		}
		d.Close()
	}
}
