// SPDX-License-Identifier: Apache-2.0

package admission_test

import (
	"strings"
	"testing"
	"time"

	"github.com/seine-crawler/seine/engine/internal/admission"
	"github.com/seine-crawler/seine/engine/policy"
	"github.com/seine-crawler/seine/storage"
	"github.com/seine-crawler/seine/storage/urlkey"
)

// world is a store in memory, which processes open one after another.
type world struct {
	testing.TB
	fs    storage.FS
	store *storage.Store
	now   time.Time
	warns []string
}

func newWorld(t testing.TB) *world {
	w := &world{TB: t, fs: storage.NewMemFS(), now: time.Unix(1_700_000_000, 0)}
	w.open()
	t.Cleanup(func() { w.store.Close() })
	return w
}

func (w *world) open() {
	w.Helper()
	s, err := storage.Open("store", storage.Options{FS: w.fs})
	w.must(err)
	w.store = s
}

func (w *world) must(err error) {
	w.Helper()
	if err != nil {
		w.Fatal(err)
	}
}

// process returns what a process that starts now would ask.
func (w *world) process(o admission.Options) *admission.Admission {
	w.Helper()
	w.must(w.store.Close())
	w.open()
	o.Store = w.store
	o.Now = func() time.Time { return w.now }
	o.Warn = func(err error) { w.warns = append(w.warns, err.Error()) }
	a := admission.New(o)
	w.must(a.Load())
	return a
}

// ingest writes changes durably, as a phase does before it commits them.
func (w *world) ingest(c *admission.Changes, withheld bool) {
	w.Helper()
	ing := w.store.NewIngestion()
	defer ing.Abort()
	w.must(c.WriteTo(ing, withheld))
	w.must(ing.Commit())
}

// apply ingests changes and makes them effective.
func (w *world) apply(c *admission.Changes, withheld bool) {
	w.Helper()
	w.ingest(c, withheld)
	w.must(c.Commit())
}

// seed injects seeds.
func (w *world) seed(a *admission.Admission, withheld bool, seeds ...string) {
	w.Helper()
	c := a.NewChanges()
	for _, s := range seeds {
		c.Seed(w.url(s).Key())
	}
	w.apply(c, withheld)
}

// readmit says that everything that is pending was looked at.
func (w *world) readmit(a *admission.Admission) {
	w.Helper()
	c := a.NewChanges()
	c.Readmitted(a.Pending())
	w.apply(c, true)
}

// pends compares what is pending; hosts and domains are given as in URLs.
func (w *world) pends(a *admission.Admission, want ...string) {
	w.Helper()
	if got := strings.Join(a.Pending(), " "); got != strings.Join(want, " ") || len(a.Pending()) != len(want) {
		w.Errorf("pending %q, want %q", a.Pending(), want)
	}
}

func (w *world) url(raw string) urlkey.URL {
	w.Helper()
	u, err := urlkey.Parse(raw)
	w.must(err)
	return u
}

func (w *world) host(raw string) urlkey.HostKey {
	w.Helper()
	return w.url(raw).HostKey()
}

// liveList is a live filter: it refuses URLs that contain a word. The next list takes effect with Refresh.
type liveList struct {
	words, next []string
	err         error
	host        bool // a word is a host
	silent      bool // explains nothing that it permits
}

func live(words ...string) *liveList { return &liveList{words: words, next: words} }

func (l *liveList) match(s string) string {
	for _, w := range l.words {
		if strings.Contains(s, w) {
			return w
		}
	}
	return ""
}

func (l *liveList) Accept(u urlkey.URL) string {
	if l.match(u.String()) != "" {
		return "listed"
	}
	return ""
}

func (l *liveList) Explain(u urlkey.URL) string {
	if w := l.match(u.String()); w != "" {
		return "-" + w
	}
	if l.silent {
		return ""
	}
	return "+all"
}

func (l *liveList) AcceptHost(h urlkey.HostKey) string {
	if l.host && l.match(h.String()) != "" {
		return "listed"
	}
	return ""
}

func (l *liveList) Refresh() (bool, error) {
	changed := strings.Join(l.words, " ") != strings.Join(l.next, " ")
	l.words = l.next
	return changed, l.err
}

func (l *liveList) Fingerprint() (sum uint64) {
	for _, b := range []byte(strings.Join(l.words, " ")) {
		sum = 31*sum + uint64(b)
	}
	return sum
}

// scopes is a policy of hosts by a word in the host's name. Its fingerprint is known.
type scopes map[string]policy.HostSettings

func (p scopes) Settings(h urlkey.HostKey) *policy.HostSettings {
	for word, s := range p {
		if strings.Contains(h.String(), word) {
			return &s
		}
	}
	return nil
}

func (p scopes) Fingerprint() (sum uint64) {
	for word, s := range p {
		sum += uint64(len(word)) + 100
		if s.Scope != nil {
			sum += 1000 * uint64(1+*s.Scope)
		}
	}
	return sum
}

func scope(s policy.Scope) *policy.Scope { return &s }
