// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/seine-crawler/seine/storage/urlkey"
)

// TestAdvised: an error of the system ends with what a person can do about it; what is unknown stays as it is.
func TestAdvised(t *testing.T) {
	for _, c := range []struct {
		err  error
		says string
	}{
		{syscall.ENOSPC, "free space on the disk"},
		{syscall.EFBIG, "ulimit -f"},
		{syscall.EMFILE, "ulimit -n"},
		{syscall.EACCES, "run it as the user that owns the directory"},
		{syscall.EIO, "copy the directory to another disk"},
	} {
		err := fmt.Errorf("crawling: %w", &fs.PathError{Op: "write", Path: "x.warc.gz", Err: c.err})
		got := advised(err)
		if !errors.Is(got, c.err) || !strings.HasPrefix(got.Error(), err.Error()+": ") ||
			!strings.Contains(got.Error(), c.says) {
			t.Errorf("%v: want it to say %q", got, c.says)
		}
	}
	if other := errors.New("other"); advised(other) != other {
		t.Errorf("%v", advised(other))
	}
}

// TestRefillFailed: the warning of what could not be chosen names the host if there is one.
func TestRefillFailed(t *testing.T) {
	var got []string
	w := &work{o: Options{Events: EventListener{Warning: func(err error) { got = append(got, err.Error()) }}}}
	for _, host := range []urlkey.HostKey{"example,a,)", ""} {
		w.refillFailed(host, syscall.EIO)
		w.refillFailed(host, context.Canceled)
	}
	want := []string{"choosing URLs of a.example: input/output error", "choosing hosts: input/output error"}
	if !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}
