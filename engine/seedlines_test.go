// SPDX-License-Identifier: Apache-2.0

package engine_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/seine-crawler/seine/engine"
)

// TestSlowLines: who waits for seed lines from a pipe, or freegen for URLs, holds up no other phase.
func TestSlowLines(t *testing.T) {
	ctx := context.Background()
	for name, read := range map[string]func(e *engine.Engine, from io.Reader) error{
		"inject": func(e *engine.Engine, from io.Reader) error {
			r, err := e.Inject(ctx, engine.InjectOptions{Files: []string{"-"}, Stdin: from})
			if err == nil && (r.New != 2 || r.Lines != 2) {
				err = errors.New(r.String())
			}
			return err
		},
		"freegen": func(e *engine.Engine, from io.Reader) error {
			r, err := e.FreeGenerate(ctx, engine.FreeGenerateOptions{Readers: []io.Reader{from}})
			if err == nil && r.Selected != 2 {
				err = errors.New(r.String())
			}
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			e := open(t, engine.Options{Dir: dataDir(t), AllowPrivate: true})
			defer mustClose(t, e)
			from, to := io.Pipe()
			done := make(chan error, 1)
			go func() { done <- read(e, from) }()
			// The pipe has no room: when this returns, the line was read.
			if _, err := io.WriteString(to, "http://slow.example/1\n"); err != nil {
				t.Fatal(err)
			}
			r, err := e.Inject(ctx, engine.InjectOptions{URLs: []string{"http://quick.example/"}})
			if err != nil || r.New != 1 {
				t.Errorf("beside it: %s, %v", r, err)
			}
			if _, err := io.WriteString(to, "http://slow.example/2\n"); err != nil {
				t.Fatal(err)
			}
			to.Close()
			if err := <-done; err != nil {
				t.Error(err)
			}
		})
	}
}

// TestManyLines: lines from a pipe are those that were written, however many there are, and an error of the pipe is an
// error of the injection, which then injects nothing.
func TestManyLines(t *testing.T) {
	dir := dataDir(t)
	e := open(t, engine.Options{Dir: dir, AllowPrivate: true})
	defer mustClose(t, e)
	const lines = 40_000 // 2.4 MB
	torn := errors.New("the sender is gone")
	for _, c := range []struct {
		ends error
		want uint64
	}{{torn, 0}, {io.ErrUnexpectedEOF, 0}, {io.EOF, lines}} {
		from, to := io.Pipe()
		go func() {
			for i := range lines {
				fmt.Fprintf(to, "http://h%d.example/a/page/with/a/longer/name/%08d.html\n", i%50, i)
			}
			fmt.Fprint(to, "ftp://h.example/last\n")
			to.CloseWithError(c.ends)
		}()
		r, err := e.Inject(context.Background(), engine.InjectOptions{
			Readers: []io.Reader{engine.SeedReader{Reader: from, Name: "list"}},
		})
		if r.New != c.want || (err == nil) != (c.ends == io.EOF) || err != nil && !errors.Is(err, c.ends) {
			t.Errorf("%v: %s, %v", c.ends, r, err)
		}
		quoted := fmt.Sprintf("list:%d: ", lines+1)
		if err == nil && (len(r.Examples) != 1 || !strings.HasPrefix(r.Examples[0], quoted)) {
			t.Errorf("quoted as %q, want %q", r.Examples, quoted)
		}
	}
	left, err := os.ReadDir(filepath.Join(dir, "store", "tmp-sort"))
	if err != nil && !errors.Is(err, os.ErrNotExist) || len(left) > 0 {
		t.Errorf("temporary files: %v, %v", left, err)
	}
}

// stuckReader has a line, and then waits until it is closed.
type stuckReader struct {
	lines   io.Reader
	waiting chan struct{} // closed when it does
	end     chan struct{}
}

func (r *stuckReader) Read(p []byte) (int, error) {
	if n, err := r.lines.Read(p); err == nil {
		return n, nil
	}
	close(r.waiting)
	<-r.end
	return 0, io.EOF
}

// TestBlockedLines: who waits for lines that do not come waits no longer than its context says.
func TestBlockedLines(t *testing.T) {
	for name, read := range map[string]func(context.Context, *engine.Engine, io.Reader) error{
		"inject": func(ctx context.Context, e *engine.Engine, from io.Reader) error {
			_, err := e.Inject(ctx, engine.InjectOptions{Readers: []io.Reader{from}})
			return err
		},
		"freegen": func(ctx context.Context, e *engine.Engine, from io.Reader) error {
			_, err := e.FreeGenerate(ctx, engine.FreeGenerateOptions{Files: []string{"-"}, Stdin: from})
			return err
		},
		"dedup-urls": func(ctx context.Context, e *engine.Engine, from io.Reader) error {
			_, err := e.DedupURLs(ctx, engine.DedupURLsOptions{Readers: []io.Reader{from}})
			return err
		},
		"crawl": func(ctx context.Context, e *engine.Engine, from io.Reader) error {
			in := engine.InjectOptions{Readers: []io.Reader{engine.SeedReader{Reader: from, Name: "list"}}}
			r, err := e.Crawl(ctx, engine.CrawlOptions{Inject: in})
			if err == nil && r.Stopped == engine.StopInterrupted {
				err = ctx.Err()
			}
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			e := open(t, engine.Options{Dir: dataDir(t), AllowPrivate: true})
			defer mustClose(t, e)
			from := &stuckReader{strings.NewReader("http://slow.example/\n"), make(chan struct{}), make(chan struct{})}
			end := sync.OnceFunc(func() { close(from.end) })
			defer end()
			ctx, cancel := context.WithCancel(context.Background())
			defer cancel()
			done := make(chan error, 1)
			go func() { done <- read(ctx, e, from) }()
			<-from.waiting
			cancel()
			select {
			case err := <-done:
				if !errors.Is(err, context.Canceled) {
					t.Error(err)
				}
			case <-time.After(time.Minute):
				t.Error("it waits on")
				end()
				<-done
			}
		})
	}
}
