// SPDX-License-Identifier: Apache-2.0

package policy_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/seine-crawler/seine/engine/policy"
	"github.com/seine-crawler/seine/engine/policy/policytest"
	"github.com/seine-crawler/seine/storage/urlkey"
)

// rewrite writes a file with a given modification time.
func rewrite(t *testing.T, path, text string, at time.Time) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Chtimes(path, at, at); err != nil {
		t.Fatal(err)
	}
}

// refresh checks what Refresh returns: whether the rules changed, and a part of the error.
func refresh(t *testing.T, f policy.LiveFilter, want bool, says ...string) {
	t.Helper()
	changed, err := f.Refresh()
	if changed != want || (err != nil) != (len(says) > 0) {
		t.Errorf("changed: %t, want %t, %v", changed, want, err)
	}
	for _, part := range says {
		if err != nil && !strings.Contains(err.Error(), part) {
			t.Errorf("%v, want %q in it", err, part)
		}
	}
}

var (
	_ policy.LiveFilter = (*policy.WatchedFilter)(nil)
	_ policy.HostFilter = (*policy.WatchedFilter)(nil)
)

// TestWatchFile: a changed file is read again. A broken one is reported once, and the old rules stay in force.
func TestWatchFile(t *testing.T) {
	path := textFile(t, "rules.txt", "-/old\n+.\n")
	f := must(policy.WatchFile(path, "URL rules", policy.ParseRules))(t)
	u, v := parse(t, "http://a.example/old"), parse(t, "http://a.example/new")
	refresh(t, f, false)
	if f.Accept(u) == "" || f.Explain(u) != path+": line 1: -/old" {
		t.Errorf("%q by %q", f.Accept(u), f.Explain(u))
	}
	at := time.Now()
	first := f.Fingerprint()
	rewrite(t, path, "-/new\n+.\n", at.Add(time.Second))
	refresh(t, f, true)
	if f.Accept(u) != "" || f.Accept(v) == "" || f.Fingerprint() == first {
		t.Errorf("%q, %q, fingerprint %x", f.Accept(u), f.Accept(v), f.Fingerprint())
	}
	second := f.Fingerprint()
	rewrite(t, path, "+(\n*x\n", at.Add(2*time.Second))
	refresh(t, f, false, "URL rules "+path+": line 1: ", "line 2: ")
	refresh(t, f, false)
	rewrite(t, path, "+(\n*x\n", at.Add(3*time.Second))
	refresh(t, f, false) // written again, but the same text
	if f.Accept(v) == "" || f.Fingerprint() != second {
		t.Error("the old rules are not in force")
	}
	rewrite(t, path, "-/new\n+.\n", at.Add(4*time.Second))
	refresh(t, f, false) // the broken version is taken back
	rewrite(t, path, "+(\n*x\n", at.Add(5*time.Second))
	refresh(t, f, false, "line 1: ")
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	refresh(t, f, false)
	rewrite(t, path, "-/old\n+.\n", at)
	refresh(t, f, true)
	if f.Accept(u) == "" || f.Fingerprint() != first {
		t.Errorf("the first rules again: %q, fingerprint %x, want %x", f.Accept(u), f.Fingerprint(), first)
	}
}

// TestWatchNothing: a file that is missing, broken or a folder is an error that names it.
func TestWatchNothing(t *testing.T) {
	dir := t.TempDir()
	for path, says := range map[string]string{
		filepath.Join(dir, "none"):          "none",
		dir:                                 dir,
		textFile(t, "broken.txt", "a b\n"):  "broken.txt: line 1: ",
		textFile(t, "broken2.txt", "\n%\n"): "broken2.txt: line 2: ",
	} {
		_, err := policy.WatchFile(path, "denied hosts", policy.ParseDeniedHosts)
		fails(t, func(string) error { return err }, path, "reading denied hosts", says)
	}
}

// TestWatchLaws: each kind of filter obeys the laws of a live one, and keeps its powers.
func TestWatchLaws(t *testing.T) {
	urls := []string{"http://a.example/x.a", "http://b.example/y.b", "https://a.example:8443/"}
	path := textFile(t, "list.txt", "a.example\n")
	write := func(text string) func() {
		return func() { rewrite(t, path, text, time.Now().Add(time.Hour)) }
	}
	hosts := must(policy.WatchFile(path, "denied hosts", policy.ParseDeniedHosts))(t)
	policytest.LiveFilter(t, hosts, urls, write("b.example\n"))
	policytest.HostFilter(t, hosts, urls)
	allowed := must(policy.WatchFile(path, "allowed hosts", policy.ParseAllowedHosts))(t)
	if allowed.Fingerprint() == hosts.Fingerprint() {
		t.Error("the same list, denied and allowed, has one fingerprint")
	}
	write("http://a.example/\n")()
	prefixes := must(policy.WatchFile(path, "URL prefixes", policy.ParsePrefixes))(t)
	policytest.LiveFilter(t, prefixes, urls, write("http://b.example/\n"))
	write("+\n.a\n")()
	suffixes := must(policy.WatchFile(path, "URL suffixes", policy.ParseSuffixes))(t)
	policytest.LiveFilter(t, suffixes, urls, write("+\n.b\n"))
	u := parse(t, urls[1])
	if suffixes.Accept(u) != "suffix" || suffixes.AcceptHost(u.HostKey()) != "" {
		t.Errorf("%q, %q", suffixes.Accept(u), suffixes.AcceptHost(u.HostKey()))
	}
	if got := suffixes.Explain(u); got != path+": .b" {
		t.Errorf("explained by %q", got)
	}

	// An embedder's own filter that explains nothing.
	own := must(policy.WatchFile(path, "own rules", func(text []byte) (policy.URLFilter, error) {
		return policy.LengthFilter(len(text)), nil
	}))(t)
	if own.Accept(u) != "length" || own.Explain(u) != "" || own.AcceptHost(u.HostKey()) != "" {
		t.Errorf("%q, %q, %q", own.Accept(u), own.Explain(u), own.AcceptHost(u.HostKey()))
	}
}

// TestRewriteWithinGrain: a file that is written twice within the step of modification times may keep its time and
// its size, and is read again all the same.
func TestRewriteWithinGrain(t *testing.T) {
	now := time.Now()
	path := textFile(t, "hosts.txt", "")
	rewrite(t, path, "a.example\n", now)
	f := must(policy.WatchFile(path, "denied hosts", policy.ParseDeniedHosts))(t)
	a, b := parse(t, "http://a.example/"), parse(t, "http://b.example/")
	rewrite(t, path, "b.example\n", now)
	refresh(t, f, true)
	if f.Accept(a) != "" || f.Accept(b) == "" {
		t.Errorf("%q, %q", f.Accept(a), f.Accept(b))
	}
	refresh(t, f, false)
	rewrite(t, path, "a.example\n", now)
	refresh(t, f, true)

	// A clock that runs ahead, for example of a file server.
	ahead := now.Add(time.Hour)
	rewrite(t, path, "b.example\n", ahead)
	refresh(t, f, true)
	rewrite(t, path, "a.example\n", ahead)
	refresh(t, f, true)

	// Another file with the time and size of an old one, as a rename puts it there.
	old := now.Add(-time.Hour)
	rewrite(t, path, "c.example\n", old)
	refresh(t, f, true)
	refresh(t, f, false)
	rewrite(t, path+".new", "b.example\n", old)
	if err := os.Rename(path+".new", path); err != nil {
		t.Fatal(err)
	}
	refresh(t, f, true)
	if f.Accept(a) != "" || f.Accept(b) == "" {
		t.Errorf("%q, %q", f.Accept(a), f.Accept(b))
	}
}

// TestUnreadableFile: a file that cannot be read is reported once, and read when it can be.
func TestUnreadableFile(t *testing.T) {
	path := textFile(t, "hosts.txt", "a.example\n")
	f := must(policy.WatchFile(path, "denied hosts", policy.ParseDeniedHosts))(t)
	big := int64(1<<30 + 1)
	if err := os.Truncate(path, big); err != nil { // a hole: it takes no room
		t.Skip(err)
	}
	info := must(os.Stat(path))(t)
	refresh(t, f, false, "longer than")
	refresh(t, f, false)
	rewrite(t, path, "b.example\n", info.ModTime())
	refresh(t, f, true)
}

// TestWatchPipe: what is not a regular file is read once. A second read of a pipe would find no rules.
func TestWatchPipe(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	path := fmt.Sprintf("/dev/fd/%d", r.Fd())
	if _, err := os.Stat(path); err != nil {
		t.Skip(err)
	}
	_, err = w.WriteString("a.example\n")
	if err = errors.Join(err, w.Close()); err != nil {
		t.Fatal(err)
	}
	f := must(policy.WatchFile(path, "denied hosts", policy.ParseDeniedHosts))(t)
	refresh(t, f, false)
	if f.Accept(parse(t, "http://a.example/")) == "" {
		t.Error("the rules are gone")
	}
}

// TestWatchedAccept: a call of a watched filter allocates nothing.
func TestWatchedAccept(t *testing.T) {
	f := must(policy.WatchFile(textFile(t, "hosts.txt", "a.example\n"), "denied hosts", policy.ParseDeniedHosts))(t)
	u, err := urlkey.Parse("https://www.a.example/x")
	if err != nil {
		t.Fatal(err)
	}
	h := u.HostKey()
	if n := testing.AllocsPerRun(100, func() { f.Accept(u); f.AcceptHost(h); f.Fingerprint() }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
