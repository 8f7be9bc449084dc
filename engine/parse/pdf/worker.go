// SPDX-License-Identifier: Apache-2.0

package pdf

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"runtime"
	"time"
)

// Bounds of the process that reads a file.
const (
	// DefaultTimeout is how long reading a file may take.
	DefaultTimeout = 10 * time.Second
	// maxBody is the largest file that is read.
	maxBody = 64 << 20
	// maxMemory is what the process may write to, on Linux: six times the 87 MB that the hungriest of 130 files at
	// hand took, a manual of LinuxCNC.
	maxMemory = 512 << 20
	// maxAnswer is the longest answer that is read.
	maxAnswer = 8 * maxText
)

// Serve reads one file from in, and writes what is in it to out as JSON: it is what the command of a Reader does. On
// Linux it first gives up the right to more memory than maxMemory and more processor time than DefaultTimeout, for
// the rest of the process's life.
func Serve(in io.Reader, out io.Writer) error {
	if err := bound(maxMemory, DefaultTimeout); err != nil {
		return fmt.Errorf("bounding memory and time: %w", err)
	}
	body, err := io.ReadAll(io.LimitReader(in, maxBody+1))
	if err != nil {
		return err
	}
	if len(body) > maxBody {
		return fmt.Errorf("a file of more than %d bytes", maxBody)
	}
	return json.NewEncoder(out).Encode(Extract(body))
}

// Reader reads PDF files in processes of their own, as many at once as there are processors: a file can't do more
// than end its process. The zero value lacks a Command. It is safe for concurrent use.
type Reader struct {
	Command []string      // a program and its arguments that runs Serve on its standard input and output
	Timeout time.Duration // 0: DefaultTimeout
}

// running is how many processes run, of all Readers.
var running = make(chan struct{}, runtime.GOMAXPROCS(0))

// ErrBroken is wrapped by errors that the file is to blame for.
var ErrBroken = errors.New("PDF that cannot be read")

// Read reads a file.
func (r *Reader) Read(ctx context.Context, body []byte) (*Document, error) {
	if len(r.Command) == 0 {
		return nil, errors.New("pdf: a Reader needs a Command")
	}
	if len(body) > maxBody {
		return nil, fmt.Errorf("%w: %d bytes, at most %d are read", ErrBroken, len(body), maxBody)
	}
	select {
	case running <- struct{}{}:
		defer func() { <-running }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	timeout := r.Timeout
	if timeout <= 0 {
		timeout = DefaultTimeout
	}
	inTime, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	cmd := exec.CommandContext(inTime, r.Command[0], r.Command[1:]...)
	answer, complaint := bounded{limit: maxAnswer}, bounded{limit: 4 << 10}
	cmd.Stdin, cmd.Stdout, cmd.Stderr = bytes.NewReader(body), &answer, &complaint
	cmd.Env = append(cmd.Environ(), "GOMAXPROCS=1", "GOTRACEBACK=none")
	cmd.WaitDelay = time.Second
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("starting %q: %w", r.Command, err)
	}
	err := cmd.Wait()
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case inTime.Err() != nil:
		return nil, fmt.Errorf("%w: it took more than %v", ErrBroken, timeout)
	case err != nil:
		first, _, _ := bytes.Cut(complaint.b, []byte{'\n'})
		return nil, fmt.Errorf("%w: %w: %s", ErrBroken, err, first)
	}
	var d Document
	if err := json.Unmarshal(answer.b, &d); err != nil {
		return nil, fmt.Errorf("%w: %q answered: %w", ErrBroken, r.Command, err)
	}
	if d.Error != "" && d.Text == "" {
		return nil, fmt.Errorf("%w: %s", ErrBroken, d.Error)
	}
	return &d, nil
}

// bounded keeps the begin of what is written to it.
type bounded struct {
	b     []byte
	limit int
}

func (w *bounded) Write(b []byte) (int, error) {
	w.b = append(w.b, b[:min(len(b), w.limit-len(w.b))]...)
	return len(b), nil
}
