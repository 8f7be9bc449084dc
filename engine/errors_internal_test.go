// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"syscall"
	"testing"
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
