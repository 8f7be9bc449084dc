// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// silentInput is standard input on which nothing comes.
type silentInput struct {
	once  sync.Once
	read  chan struct{} // closed when somebody reads
	ended chan struct{}
}

func (s *silentInput) Read([]byte) (int, error) {
	s.once.Do(func() { close(s.read) })
	<-s.ended
	return 0, io.EOF
}

// TestInputEnds: a command that waits for standard input ends with its context, as after Ctrl-C.
func TestInputEnds(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "d")
	if status, _, stderr := runLine("inject --dir "+dir+" https://a.example/", ""); status != exitOK {
		t.Fatal(stderr)
	}
	for _, line := range []string{
		"inject - --dir " + dir, "inject - --dir " + dir + "-new", "crawl - --allow-private --dir " + dir,
		"freegen - --dir " + dir, "dedup-urls - --dir " + dir, "check url -", "check url - --dir " + dir,
	} {
		in := &silentInput{read: make(chan struct{}), ended: make(chan struct{})}
		var out bytes.Buffer
		root := newRoot(&console{in: in, out: &out, err: newScreen(io.Discard)})
		root.SetArgs(strings.Fields(line))
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- root.ExecuteContext(ctx) }()
		select {
		case <-in.read:
		case err := <-ended:
			t.Fatalf("%s: %v before it read", line, err)
		}
		cancel()
		select {
		case err := <-ended:
			// A crawl whose context ends stops cleanly.
			if !errors.Is(err, context.Canceled) && !strings.HasPrefix(line, "crawl") {
				t.Errorf("%s: %v", line, err)
			}
		case <-time.After(20 * time.Second):
			t.Errorf("%s: it still waits", line)
			close(in.ended)
			<-ended
			continue
		}
		close(in.ended)
	}
}

// TestInputWhole: what comes on standard input is read as it is, whatever the size of reads.
func TestInputWhole(t *testing.T) {
	text := strings.Repeat("0123456789abcdef\n", 20_000)
	c := &console{in: io.MultiReader(strings.NewReader(text[:70_000]), strings.NewReader(text[70_000:]))}
	got, err := io.ReadAll(smallReads{c.input(t.Context())})
	if err != nil || string(got) != text {
		t.Errorf("%d of %d bytes, %v", len(got), len(text), err)
	}
}

// smallReads reads a few bytes at once.
type smallReads struct{ io.Reader }

func (r smallReads) Read(p []byte) (int, error) { return r.Reader.Read(p[:min(len(p), 1000)]) }

// TestInputMark: the mark with which editors of Windows begin a file is no part of what is in it.
func TestInputMark(t *testing.T) {
	t.Chdir(t.TempDir())
	const mark = "\ufeff"
	if _, out, stderr := runLine("check url -", mark+"http://a.example/\r\n"); strings.Contains(out, "refused") {
		t.Errorf("check url -: %s%s", out, stderr)
	}
	urls, err := readURLs("-", strings.NewReader(mark+"http://a.example/\r\nhttp://b.example/\r\n"))
	if err != nil || urls["http://a.example/"] != 1 || len(urls) != 2 {
		t.Errorf("truth --against: %v, %v", urls, err)
	}
	if err := os.WriteFile("hosts", []byte(mark+"# hosts\r\n127.0.0.1 a.example\r\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if status, _, stderr := runLine("init --dir d --hosts hosts", ""); status != exitOK {
		t.Errorf("--hosts: %s", stderr)
	}
}

// TestInputLong: a line that is too long is wrong use, and the message has its number.
func TestInputLong(t *testing.T) {
	long := strings.Repeat("a", checkedLineMax)
	status, _, stderr := runLine("check url -", "http://a.example/\n"+long+"\n")
	if status != exitUsage || !strings.Contains(stderr, "line 2 of standard input is longer than 16 MiB") {
		t.Errorf("status %d, %s", status, stderr)
	}
}
