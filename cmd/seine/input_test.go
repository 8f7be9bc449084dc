// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"errors"
	"io"
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
