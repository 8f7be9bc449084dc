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
	// DefaultTimeout bounds the time to read one file, for a Reader without Timeout and for Serve.
	DefaultTimeout = 10 * time.Second
	// maxBody is the largest file that is read, in bytes.
	maxBody = 64 << 20
	// maxMemory is the writable memory of the process on Linux, in bytes: six times the 87 MB that the largest of 130
	// test files took, a manual of LinuxCNC.
	maxMemory = 512 << 20
	// maxAnswer is the longest answer of the process, in bytes: JSON has up to six for one of text and links.
	maxAnswer = 16 * maxText
)

// Serve reads one file from in and writes its Document to out as JSON. A Reader's Command must call it, once, with
// its standard input and output, and exit with status 1 if it returns an error.
//
// On Linux, Serve first limits the whole process, for the rest of its life, to 512 MiB of memory and DefaultTimeout of
// processor time. It returns an error if that fails, if in or out fail, or if the file is larger than 64 MiB. A file
// that cannot be read is not an error: Document.Error says why.
func Serve(in io.Reader, out io.Writer) error {
	if err := bound(maxMemory, DefaultTimeout); err != nil {
		return fmt.Errorf("limiting memory and processor time: %w", err)
	}
	body, err := io.ReadAll(io.LimitReader(in, maxBody+1))
	if err != nil {
		return fmt.Errorf("reading a PDF file: %w", err)
	}
	if len(body) > maxBody {
		return fmt.Errorf("reading a PDF file: it has more than %d bytes", maxBody)
	}
	return json.NewEncoder(out).Encode(Extract(body))
}

// Reader reads each PDF file in a process of its own. The worst that a file can do is to end its process. At most
// GOMAXPROCS processes run at once, for all Readers together. A Reader without Command returns errors only. It is safe
// for concurrent use; its fields must not change after the first Read.
type Reader struct {
	Command []string      // program and arguments; it must call Serve on its standard input and output
	Timeout time.Duration // for each file, from the start of its process; DefaultTimeout if not positive
}

// running has an element for each running process, of all Readers. It has room for GOMAXPROCS as the program starts,
// not as it may be while searches are preferred (engine.Options.PreferSearches).
var running = make(chan struct{}, runtime.GOMAXPROCS(0))

// ErrBroken is wrapped by errors that the file causes: it is too large, takes too long or too much memory, or is
// not a PDF file.
var ErrBroken = errors.New("PDF that cannot be read")

// Read reads a file. It waits until a process may run, and returns at most one second after the timeout. It does not
// change body. If the file causes the error, it wraps ErrBroken; if ctx ends before the file is read, it is
// ctx.Err(). Other errors mean that the Command is missing or does not start.
//
// A Document with Error and Text was read in part. Read reports one with Error and no Text as ErrBroken.
func (r *Reader) Read(ctx context.Context, body []byte) (*Document, error) {
	if len(r.Command) == 0 {
		return nil, errors.New("pdf: Reader has no Command: set it to a program that calls pdf.Serve")
	}
	if len(body) > maxBody {
		return nil, fmt.Errorf("%w: it has %d bytes, more than the limit of %d", ErrBroken, len(body), maxBody)
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
		return nil, fmt.Errorf("%w: decoding the answer of %q: %w", ErrBroken, r.Command, err)
	}
	if d.Error != "" && d.Text == "" {
		return nil, fmt.Errorf("%w: %s", ErrBroken, d.Error)
	}
	return &d, nil
}

// bounded keeps the first limit bytes written to it.
type bounded struct {
	b     []byte
	limit int
}

func (w *bounded) Write(b []byte) (int, error) {
	w.b = append(w.b, b[:min(len(b), w.limit-len(w.b))]...)
	return len(b), nil
}
