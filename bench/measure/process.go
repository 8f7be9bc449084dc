// SPDX-License-Identifier: Apache-2.0

package measure

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"
)

// Limits of a child process.
const (
	childTime  = 4 * time.Hour   // an hour's polite crawl, and what it does at its end
	startTime  = 2 * time.Minute // a simweb first makes its pages or resolves its folders
	stopTime   = 30 * time.Second
	shownError = 2 << 10 // bytes of a failed child's stderr that an error shows
)

// usage is the resources that a child used, and its output.
type usage struct {
	cpu    time.Duration // user and system
	wall   time.Duration
	peakKB int64 // largest resident set, KiB
	// written is the bytes that it wrote to a disk, 0 to a filesystem in memory.
	written int64
	stdout  []byte
}

// run starts a child and waits for its end.
func run(ctx context.Context, dir, binary string, args ...string) (usage, error) {
	c, err := start(ctx, dir, binary, args...)
	if err != nil {
		return usage{}, err
	}
	return c.wait()
}

// child is a running process.
type child struct {
	cmd      *exec.Cmd
	cancel   context.CancelFunc
	began    time.Time
	out, err bytes.Buffer
	done     chan struct{} // closed when it has ended and failed is set
	failed   error
}

func start(ctx context.Context, dir, binary string, args ...string) (*child, error) {
	ctx, cancel := context.WithTimeout(ctx, childTime)
	c := &child{cmd: exec.CommandContext(ctx, binary, args...), cancel: cancel, began: time.Now()}
	c.cmd.Dir, c.cmd.Stdout, c.cmd.Stderr = dir, &c.out, &c.err
	c.cmd.Cancel = func() error { return c.cmd.Process.Signal(syscall.SIGINT) }
	c.cmd.WaitDelay = stopTime
	if err := c.cmd.Start(); err != nil {
		cancel()
		return nil, fmt.Errorf("starting %s: %w", binary, err)
	}
	c.done = make(chan struct{})
	go func() {
		c.failed = c.cmd.Wait()
		close(c.done)
	}()
	return c, nil
}

// wait waits for the child and returns its usage. The error of a child that failed shows the command and the end of its
// stderr.
func (c *child) wait() (usage, error) {
	defer c.cancel()
	<-c.done
	u := usage{wall: time.Since(c.began), stdout: c.out.Bytes()}
	if s := c.cmd.ProcessState; s != nil {
		u.cpu = s.UserTime() + s.SystemTime()
		if r, ok := s.SysUsage().(*syscall.Rusage); ok {
			u.peakKB, u.written = int64(r.Maxrss), int64(r.Oublock)*512
		}
	}
	if c.failed != nil {
		said := c.err.Bytes()
		return u, fmt.Errorf("%s: %w: %s", c.cmd, c.failed, said[max(0, len(said)-shownError):])
	}
	return u, nil
}

// interrupt sends the child SIGINT and waits for its end.
func (c *child) interrupt() (usage, error) {
	if err := c.cmd.Process.Signal(syscall.SIGINT); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return usage{}, fmt.Errorf("interrupting %s: %w", c.cmd, err)
	}
	return c.wait()
}

// waitForFile waits until the child has written a file. It fails if the child ends before.
func (c *child) waitForFile(ctx context.Context, name string) error {
	late := time.NewTimer(startTime)
	defer late.Stop()
	for {
		if info, err := os.Stat(name); err == nil && info.Size() > 0 {
			return nil
		}
		var why error
		select {
		case <-time.After(20 * time.Millisecond):
			continue
		case <-c.done:
			why = fmt.Errorf("%s ended before it wrote %s", c.cmd, name)
		case <-late.C:
			why = fmt.Errorf("%s did not write %s within %s", c.cmd, name, startTime)
		case <-ctx.Done():
			why = ctx.Err()
		}
		_, err := c.interrupt()
		return errors.Join(why, err)
	}
}

// weigh adds up the sizes in bytes of the files below a folder.
func weigh(dir string) (bytes int64, err error) {
	err = filepath.WalkDir(dir, func(_ string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		info, err := d.Info()
		if err == nil {
			bytes += info.Size()
		}
		return err
	})
	return bytes, err
}
