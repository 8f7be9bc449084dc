// SPDX-License-Identifier: Apache-2.0

package visit

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/seine-crawler/seine/engine/internal/admission"
	"github.com/seine-crawler/seine/frontier"
	"github.com/seine-crawler/seine/storage"
	"github.com/seine-crawler/seine/storage/urlkey"
)

// small is a memory of few hosts.
func (w *world) small(size int) *Hosts {
	h := NewHosts(w.env)
	h.size = size
	return h
}

// recalled is what a refill says of a host from before.
func (w *world) recalled(h *Hosts, host urlkey.HostKey) (r frontier.Refill) {
	w.Helper()
	_, err := h.recall(host, &r)
	w.must(err)
	return r
}

// TestShrink: what leaves a full memory is written if it changed, and found when it is needed again, in this process
// and in the next.
func TestShrink(t *testing.T) {
	w := newWorld(t, admission.Options{})
	h := w.small(32)
	name := func(i int) urlkey.HostKey { return w.host(fmt.Sprintf("h%d.example", i)) }
	for i := range 100 {
		h.Remember(name(i), frontier.HostState{Failures: i + 1, NotBefore: w.now()})
		if h.lru.Len() > 32 || len(h.by) != h.lru.Len() || len(h.leaving) != 0 {
			t.Fatalf("%d, %d and %d in memory", h.lru.Len(), len(h.by), len(h.leaving))
		}
	}
	check := func(h *Hosts) {
		t.Helper()
		for i := range 100 {
			if r := w.recalled(h, name(i)); r.Failures != i+1 {
				t.Errorf("host %d: %+v", i, r)
			}
		}
	}
	check(h)
	for i := range 100 { // and by way of get
		h.rememberDelay(w.url("http://"+name(i).Host()+"/"), time.Duration(i+1)*time.Second)
	}
	check(h)
	w.must(h.Flush())
	w.reopen()
	again := w.small(32)
	check(again)
	for i := range 100 {
		if r := w.recalled(again, name(i)); r.CrawlDelay != time.Duration(i+1)*time.Second {
			t.Errorf("host %d: %+v", i, r)
		}
	}
	if len(w.warnings()) > 0 {
		t.Errorf("%q", w.warnings())
	}
}

// TestComeBack: an authority that is needed again while it is written is the same one, and what is changed meanwhile is
// not lost.
func TestComeBack(t *testing.T) {
	w := newWorld(t, admission.Options{})
	h := w.small(2)
	host := w.host("a.example")
	h.Remember(host, frontier.HostState{Failures: 1})
	before := h.peek(storage.HostStateKey(host))
	h.size = 0
	h.mu.Lock()
	out := h.shrink(nil)
	h.mu.Unlock()
	if len(out) != 1 || out[0] != before || h.lru.Len() != 0 || h.peek(before.key) != before {
		t.Fatalf("%d leave", len(out))
	}
	h.size = 2
	h.Remember(host, frontier.HostState{Failures: 2})
	if h.peek(before.key) != before {
		t.Error("it came back as another")
	}
	w.must(h.write(out, true))
	if r := w.recalled(h, host); r.Failures != 2 || len(h.leaving) != 0 {
		t.Errorf("%+v, %d leave", r, len(h.leaving))
	}
	h.Remember(host, frontier.HostState{Failures: 3})
	w.must(h.Flush())
	if r := w.recalled(NewHosts(w.env), host); r.Failures != 3 {
		t.Errorf("the store has %+v", r)
	}
}

// TestWritesInOrder: of two writes of one authority the later one is what the store has in the end, also when the
// first one takes its time.
func TestWritesInOrder(t *testing.T) {
	w := newWorld(t, admission.Options{})
	h := NewHosts(w.env)
	a, b := w.host("a.example"), w.host("b.example")
	h.Remember(a, frontier.HostState{Failures: 1})
	h.Remember(b, frontier.HostState{Failures: 1})
	first, second := h.peek(storage.HostStateKey(a)), h.peek(storage.HostStateKey(b))
	second.mu.Lock() // the first write waits here, behind the first authority
	var wg sync.WaitGroup
	wg.Go(func() { w.must(h.write([]*authority{first, second}, false)) })
	w.until("the first write", func() bool {
		first.mu.Lock()
		defer first.mu.Unlock()
		return !first.dirty
	})
	h.Remember(a, frontier.HostState{Failures: 2})
	begun := make(chan struct{})
	wg.Go(func() {
		close(begun)
		w.must(h.write([]*authority{first}, false))
	})
	<-begun
	time.Sleep(5 * time.Millisecond) // time for the second write to overtake, if it can
	second.mu.Unlock()
	wg.Wait()
	if r := w.recalled(NewHosts(w.env), a); r.Failures != 2 {
		t.Errorf("the store has %+v", r)
	}
}

// TestFailedWrite: what could not be written is written by the next attempt.
func TestFailedWrite(t *testing.T) {
	w := newWorld(t, admission.Options{})
	h := NewHosts(w.env)
	host := w.host("a.example")
	h.Remember(host, frontier.HostState{Failures: 1})
	h.env.Store = w.readOnly()
	if err := h.Flush(); err == nil || !strings.Contains(err.Error(), "hostdb facts") {
		t.Errorf("%v", err)
	}
	h.size = 0 // it leaves the memory, or would
	h.mu.Lock()
	out := h.shrink(nil)
	h.mu.Unlock()
	if err := h.write(out, true); err == nil || len(out) != 1 || len(h.leaving) != 0 {
		t.Errorf("%v, %d left", err, len(out))
	}
	h.env.Store = w.store
	w.must(h.Flush())
	if r := w.recalled(NewHosts(w.env), host); r.Failures != 1 {
		t.Errorf("the store has %+v", r)
	}
}

// readOnly is a store that refuses writes.
func (w *world) readOnly() *storage.Store {
	w.Helper()
	s, err := storage.Open("other", storage.Options{FS: w.fs})
	w.must(err)
	w.must(s.Close())
	return s
}

// TestReadingHoldsNoLock: while the disk is slow for one host, others are served from memory.
func TestReadingHoldsNoLock(t *testing.T) {
	mem := storage.NewMemFS()
	fs, hook := hooked(mem, mem.Create, mem.Open)
	w := newWorldOn(t, admission.Options{}, fs)
	cold, warm := w.host("cold.example"), w.host("warm.example")
	h := w.small(4)
	h.Remember(warm, frontier.HostState{Failures: 1})
	let, waits := make(chan struct{}), make(chan struct{})
	var once sync.Once
	block := func(op, name string) {
		if op == "open" && strings.HasPrefix(name, "store/0") && strings.HasSuffix(name, ".sst") {
			once.Do(func() { close(waits) })
			<-let
		}
	}
	hook.Store(&block)
	ing := w.store.NewIngestion() // a table, which the store has to open to read it
	w.must(ing.Table(storage.HostFactsRange()).Set([]byte(storage.HostStateKey(cold)),
		storage.AppendHostFacts(nil, &storage.HostFacts{Failures: 7})))
	large := bytes.Repeat([]byte{0}, storage.DefaultMemTableBytes) // a small ingestion makes no table
	w.must(ing.Table(storage.HostFactsRange()).Set([]byte(storage.HostStateKey(w.host("large.example"))), large))
	w.must(ing.Commit())
	done := make(chan *authority)
	go func() {
		a, err := h.get(storage.HostStateKey(cold))
		if err != nil {
			t.Error(err)
		}
		done <- a
	}()
	<-waits
	time.Sleep(time.Millisecond) // it may be the store itself that waits first
	h.Remember(warm, frontier.HostState{Failures: 2})
	if r := w.recalled(h, warm); r.Failures != 2 {
		t.Errorf("%+v", r)
	}
	select {
	case <-done:
		t.Error("the read did not wait: this test shows nothing")
	default:
	}
	close(let)
	if a := <-done; a.facts.Failures != 7 {
		t.Errorf("%+v", a.facts)
	}
	hook.Store(nil)
}

// TestWritingHoldsNoLock: while the disk is slow to take what leaves the memory, other hosts are served, and so is what
// leaves.
func TestWritingHoldsNoLock(t *testing.T) {
	mem := storage.NewMemFS()
	fs, hook := hooked(mem, mem.Create, mem.Open)
	w := newWorldOn(t, admission.Options{}, fs)
	h := w.small(16)
	random := rand.NewChaCha8([32]byte{})
	big := make([]byte, 200<<10) // more than half of the store's memory for small writes: it begins a new log
	random.Read(big)
	leaves := storage.HostStateKey(w.host("leaves.example"))
	h.change(w.host("leaves.example"), func(f *storage.HostFacts) {
		f.Robots, f.RobotsStatus, f.Failures = big, 200, 9
	})
	warm := w.host("warm.example")
	for i := range 14 {
		h.Remember(w.host(fmt.Sprintf("h%d.example", i)), frontier.HostState{Failures: 1})
	}
	h.Remember(warm, frontier.HostState{Failures: 1})
	let, waits := make(chan struct{}), make(chan struct{})
	var once sync.Once
	block := func(op, name string) {
		if op == "create" && strings.HasSuffix(name, ".log") {
			once.Do(func() { close(waits) })
			<-let
		}
	}
	hook.Store(&block)
	done := make(chan struct{})
	go func() {
		defer close(done)
		h.Remember(w.host("new.example"), frontier.HostState{Failures: 1})
	}()
	select {
	case <-waits:
	case <-done:
		t.Fatal("the write did not wait: this test shows nothing")
	}
	h.Remember(warm, frontier.HostState{Failures: 2})
	if r := w.recalled(h, warm); r.Failures != 2 {
		t.Errorf("%+v", r)
	}
	if a := h.peek(leaves); a == nil || a.facts.Failures != 9 {
		t.Errorf("what leaves: %+v", a)
	}
	if a, err := h.get(leaves); err != nil || a.facts.Failures != 9 {
		t.Errorf("what leaves: %+v, %v", a, err)
	}
	close(let)
	<-done
	hook.Store(nil)
	w.must(h.Flush())
	w.reopen()
	if r := w.recalled(NewHosts(w.env), warm); r.Failures != 2 {
		t.Errorf("%+v", r)
	}
}

// TestReadBehindAWrite: facts that were read before newer ones left the memory do not take their place.
func TestReadBehindAWrite(t *testing.T) {
	mem := storage.NewMemFS()
	fs, hook := hooked(mem, mem.Create, mem.Open)
	w := newWorldOn(t, admission.Options{}, fs)
	h := w.small(4)
	key := storage.HostStateKey(w.host("cold.example"))
	let, waits := make(chan struct{}), make(chan struct{})
	var once sync.Once
	block := func(op, name string) {
		if op == "open" && strings.HasPrefix(name, "store/0") && strings.HasSuffix(name, ".sst") {
			once.Do(func() { close(waits) })
			<-let
		}
	}
	hook.Store(&block)
	ing := w.store.NewIngestion() // a table, which the store has to open to read it
	table := ing.Table(storage.HostFactsRange())
	w.must(table.Set([]byte(key), storage.AppendHostFacts(nil, &storage.HostFacts{Failures: 7})))
	w.must(table.Set(append([]byte(key), 0), bytes.Repeat([]byte{0}, storage.DefaultMemTableBytes)))
	w.must(ing.Commit())
	done := make(chan *authority)
	go func() {
		a, err := h.get(key)
		if err != nil {
			t.Error(err)
		}
		done <- a
	}()
	<-waits
	time.Sleep(time.Millisecond) // it may be the store itself that waits first
	newer := &authority{key: key, facts: storage.HostFacts{Failures: 9}, dirty: true}
	h.mu.Lock()
	h.by[key] = h.lru.PushFront(newer)
	h.size = 0
	out := h.shrink(nil)
	h.size = 4
	h.mu.Unlock()
	if err := h.write(out, true); err != nil || len(out) != 1 {
		t.Fatalf("%d leave, %v", len(out), err)
	}
	close(let)
	if a := <-done; a.facts.Failures != 9 {
		t.Errorf("%+v", a.facts)
	}
	hook.Store(nil)
}

// TestStaysWhileWritten: what a Flush is writing does not leave the memory, for the store has older facts meanwhile.
func TestStaysWhileWritten(t *testing.T) {
	mem := storage.NewMemFS()
	fs, hook := hooked(mem, mem.Create, mem.Open)
	w := newWorldOn(t, admission.Options{}, fs)
	h := w.small(4)
	big := make([]byte, 200<<10) // more than half of the store's memory for small writes: it begins a new log
	rand.NewChaCha8([32]byte{}).Read(big)
	host := w.host("a.example")
	h.change(host, func(f *storage.HostFacts) { f.Robots, f.RobotsStatus, f.Failures = big, 200, 9 })
	let, waits := make(chan struct{}), make(chan struct{})
	var once sync.Once
	block := func(op, name string) {
		if op == "create" && strings.HasSuffix(name, ".log") {
			once.Do(func() { close(waits) })
			<-let
		}
	}
	hook.Store(&block)
	done := make(chan error, 1)
	go func() { done <- h.Flush() }()
	select {
	case <-waits:
	case err := <-done:
		t.Fatalf("the write did not wait: this test shows nothing: %v", err)
	}
	h.mu.Lock()
	h.size = 0
	out := h.shrink(nil)
	h.size = 4
	h.mu.Unlock()
	if a := h.peek(storage.HostStateKey(host)); len(out) != 0 || a == nil || a.facts.Failures != 9 {
		t.Errorf("%d leave, in memory is %+v", len(out), a)
	}
	close(let)
	w.must(<-done)
	hook.Store(nil)
}

// TestRecall: what the frontier learned of a host reaches the next refill, but for times that no clock that is right
// can have stored.
func TestRecall(t *testing.T) {
	w := newWorld(t, admission.Options{})
	h := NewHosts(w.env)
	a, b := w.host("a.example"), w.host("b.example")
	at := w.now().Add(time.Hour).Truncate(time.Millisecond)
	h.Remember(a, frontier.HostState{NotBefore: at, Failures: 3, Sleeps: 2, Throttles: 4,
		ResponseTime: 1500 * time.Millisecond})
	h.Remember(b, frontier.HostState{NotBefore: w.now().Add(9 * 24 * time.Hour), Failures: 1})
	h.rememberDelay(w.url("http://a.example/"), 7*time.Second)
	w.must(h.Flush())
	for _, h := range []*Hosts{h, NewHosts(w.env)} {
		source := NewSource(h, newList(w, "http://a.example/").supply())
		r, err := source.Refill(context.Background(), a, 10)
		if err != nil || !r.NotBefore.Equal(at) || r.Failures != 3 || r.Sleeps != 2 ||
			r.Throttles != 4 || len(r.URLs) != 0 || // it sleeps
			r.ResponseTime != 1500*time.Millisecond || r.CrawlDelay != 7*time.Second {
			t.Errorf("%+v, %v", r, err)
		}
		if r := w.recalled(h, b); !r.NotBefore.IsZero() || r.Failures != 1 {
			t.Errorf("%+v", r)
		}
		if r := w.recalled(h, w.host("new.example")); r.Failures != 0 || !r.NotBefore.IsZero() {
			t.Errorf("%+v", r)
		}
	}
	w.pass(2 * time.Hour)
	r, err := NewSource(h, newList(w, "http://a.example/").supply()).Refill(context.Background(), a, 10)
	if err != nil || len(r.URLs) != 1 || r.Sleeps != 2 {
		t.Errorf("when it has slept: %+v, %v", r, err)
	}
	h.Remember(a, frontier.HostState{NotBefore: w.now(), Forgiven: true})
	if r := w.recalled(h, a); r.NotBefore.After(w.now()) || r.Failures != 0 || r.Sleeps != 1 || r.Throttles != 4 ||
		r.ResponseTime != 1500*time.Millisecond {
		t.Errorf("when the sleep is taken back: %+v", r)
	}
}

// TestKeeps: what get returns may leave the memory before the request for its robots.txt is noted; then it comes back
// and what is learned of it is found, unless another took its place. What was just loaded stays in a full memory.
func TestKeeps(t *testing.T) {
	w := newWorld(t, admission.Options{})
	h := w.small(16)
	key := func(i int) urlkey.HostKey { return authorityKey(w.url(fmt.Sprintf("http://h%d.example/", i))) }
	a, err := h.get(key(0))
	w.must(err)
	for i := 1; h.peek(key(0)) != nil; i++ {
		_, err := h.get(key(i))
		w.must(err)
	}
	if !h.keeps(a) || h.peek(key(0)) != a {
		t.Error("it left the memory before the request and does not come back")
	}
	for i := 1; h.peek(key(0)) != nil; i++ {
		_, err := h.get(key(i))
		w.must(err)
	}
	other, err := h.get(key(0))
	w.must(err)
	if other == a || h.keeps(a) || h.peek(key(0)) != other {
		t.Error("another took its place, and it comes back")
	}
	sum := int64(0)
	for el := h.lru.Front(); el != nil; el = el.Next() {
		sum += el.Value.(*authority).weight
	}
	if sum != h.bytes.Load() || len(h.by) != h.lru.Len() {
		t.Errorf("%d bytes in memory, %d are counted; %d by name, %d in order",
			sum, h.bytes.Load(), len(h.by), h.lru.Len())
	}
	h.most = 1 // however little the memory holds
	loaded, err := h.get(key(999))
	w.must(err)
	if h.peek(key(999)) != loaded || h.lru.Len() != 1 {
		t.Errorf("what was loaded does not stay, %d do", h.lru.Len())
	}
}

// TestCrawlDelaySurvives: a Crawl-delay that a visit found reaches later refills, after the host left the memory and
// after a restart.
func TestCrawlDelaySurvives(t *testing.T) {
	w := newWorld(t, admission.Options{})
	w.web.set("http://a.example/robots.txt", robotsTxt("User-agent: *\nCrawl-delay: 2"))
	h := w.small(4)
	r := w.start(h, newList(w, "http://a.example/"), 2, Limits{})
	w.until("the visit", func() bool { return w.web.count("http://a.example/robots.txt") == 1 && r.Busy() == 0 })
	r.end()
	for i := range 20 {
		h.Remember(w.host(fmt.Sprintf("h%d.example", i)), frontier.HostState{Failures: 1})
	}
	if h.peek(storage.HostStateKey(w.host("a.example"))) != nil {
		t.Fatal("it is still in memory")
	}
	check := func(h *Hosts) {
		t.Helper()
		s := NewSource(h, newList(w, "http://a.example/").supply())
		refill, err := s.Refill(context.Background(), w.host("a.example"), 1)
		if err != nil || refill.CrawlDelay != 2*time.Second {
			t.Errorf("%+v, %v", refill, err)
		}
	}
	check(h)
	w.must(h.Flush())
	w.reopen()
	check(NewHosts(w.env))
}

// TestInUse: an authority whose robots.txt is being requested does not leave the memory: the answer would be lost.
func TestInUse(t *testing.T) {
	w := newWorld(t, admission.Options{})
	let := make(chan struct{})
	w.web.set("http://a.example/robots.txt", stuck(let, robotsTxt("User-agent: *\nDisallow: /no")))
	h := w.small(4)
	var wg sync.WaitGroup
	wg.Go(func() {
		if _, err := h.robots(context.Background(), w.url("http://a.example/"), noWays); err != nil {
			t.Error(err)
		}
	})
	w.until("the request", func() bool { return w.web.inFlight() == 1 })
	for i := range 20 {
		h.Remember(w.host(fmt.Sprintf("h%d.example", i)), frontier.HostState{Failures: 1})
	}
	if h.lru.Len() > 5 {
		t.Errorf("%d in memory", h.lru.Len())
	}
	close(let)
	wg.Wait()
	state, err := h.robots(context.Background(), w.url("http://a.example/"), noWays)
	if err != nil || state.requested || state.rules.Allowed("/no") || w.web.count("http://a.example/robots.txt") != 1 {
		t.Errorf("%+v, %v, %d requests", state, err, w.web.count("http://a.example/robots.txt"))
	}
}
