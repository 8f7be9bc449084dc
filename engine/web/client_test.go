// SPDX-License-Identifier: Apache-2.0

package web

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"net/http"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/seine-crawler/seine/engine"
	"github.com/seine-crawler/seine/storage"
)

// listed is a stream as text: its values and its error.
func listed[T any](values iter.Seq2[T, error]) (text string) {
	for v, err := range values {
		text += fmt.Sprintln(v, err)
	}
	return text
}

// TestClientTexts: a Client asks for the texts that it is given, also where they are "0" or have bytes that are not
// UTF-8, and gets what an Engine returns for them.
func TestClientTexts(t *testing.T) {
	dir := t.TempDir()
	e := opened(t, dir)
	seeds := []string{"http://a.example/", "http://a.example/caf\xe9"}
	_, err := e.Inject(t.Context(), engine.InjectOptions{URLs: seeds})
	must(t, err)
	started(t, e, dir)
	c, in := dialed(t, dir), e.Inspect()
	for _, prefix := range []string{"0", "a.example"} {
		f := engine.RecordFilter{Prefix: prefix}
		if got, want := listed(c.Records(t.Context(), f)), listed(in.Records(t.Context(), f)); got != want {
			t.Errorf("prefix %s: %s\nwant %s", prefix, got, want)
		}
	}
	got, want := listed(c.ParseRecords(t.Context(), 0, "0")), listed(in.ParseRecords(t.Context(), 0, "0"))
	if got != want {
		t.Errorf("parse records of 0: %s\nwant %s", got, want)
	}
	for _, u := range []string{"http://a.example/caf\xe9", "http://a.example/\xff\xfe"} {
		got, errC := c.Record(u)
		want, errE := in.Record(u)
		if fmt.Sprint(got, errC) != fmt.Sprint(want, errE) || errors.Is(errC, engine.ErrNotFound) != (errE != nil) {
			t.Errorf("%q: %v, %v\nwant %v, %v", u, got, errC, want, errE)
		}
		checked, errC := c.Check(u, "inject")
		if known, err := in.Check(u, "inject"); checked.Canonical != known.Canonical || errC != nil || err != nil {
			t.Errorf("%q is %s (%v), not %s (%v)", u, checked.Canonical, errC, known.Canonical, err)
		}
	}
	for _, q := range []string{"mesh \xff", "\xffmesh"} {
		if _, err := c.Search(t.Context(), q, engine.SearchOptions{Limit: 10}); err != nil {
			t.Errorf("%q: %v", q, err)
		}
		if _, err := c.Complete(t.Context(), q, 10); err != nil {
			t.Errorf("%q: %v", q, err)
		}
	}
}

// TestDialStopped: who asks a process that is stopped is told so, and does not wait for ever.
func TestDialStopped(t *testing.T) {
	dir := t.TempDir()
	l, err := ListenSocket(dir) // the system takes connections, and nobody answers
	if err != nil {
		t.Fatal(err)
	}
	defer func() { must(t, l.Close()) }()
	defer func(was time.Duration) { answerTime = was }(answerTime)
	answerTime = 10 * time.Millisecond
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if _, err := Dial(ctx, dir); err == nil || !strings.Contains(err.Error(), "does not answer: if it was stopped") {
		t.Errorf("dialing: %v", err)
	}
}

// TestStatusStopped: who looks at a process again and again is told when it is stopped, too.
func TestStatusStopped(t *testing.T) {
	dir := t.TempDir()
	l, err := ListenSocket(dir)
	if err != nil {
		t.Fatal(err)
	}
	stopped := make(chan bool)
	server := Start(l, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if w.Header().Set(versionHeader, engine.Version); r.URL.Path != "/healthz" {
			<-stopped
		}
	}))
	defer func() {
		close(stopped)
		must(t, server.Close())
	}()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	c, err := Dial(ctx, dir)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { must(t, c.Close()) }()
	defer func(was time.Duration) { answerTime = was }(answerTime)
	answerTime = 10 * time.Millisecond
	if _, err := c.Status(); err == nil || !strings.Contains(err.Error(), "does not answer: if it was stopped") {
		t.Errorf("its status: %v", err)
	}
}

// TestLongText: what a command asks about may be as long as it may be alone.
func TestLongText(t *testing.T) {
	dir := t.TempDir()
	started(t, opened(t, dir), dir)
	text := strings.Repeat("<", 2<<20)
	if v, err := dialed(t, dir).Check(text, "inject"); err != nil || v.URL != text || v.Reason == "" {
		t.Errorf("%d bytes: %.100s, %v", len(v.URL), v.Reason, err)
	}
}

// TestClientDisk: an error of the disk, or of the store on it, is one for who asks the process that met it, too: a
// command that finds the disk full ends with the same status whoever has the directory open.
func TestClientDisk(t *testing.T) {
	full := []error{syscall.ENOSPC, syscall.EDQUOT, syscall.EFBIG}
	failed, fatal := []error{syscall.EIO, syscall.EROFS}, []error{storage.ErrFatal}
	for status, kinds := range map[int][][]error{507: {full}, 500: {failed, fatal}} {
		for _, same := range kinds {
			for _, of := range same {
				err := fmt.Errorf("writing a table: %w", of)
				p := problemOf(err)
				back := p.asError()
				is := func(kind error) bool { return errors.Is(back, kind) }
				if p.Status != status || back.Error() != err.Error() || !slices.ContainsFunc(same, is) {
					t.Errorf("%v: status %d, %s, read back as %v", of, p.Status, p.Code, back)
				}
			}
		}
	}
}
