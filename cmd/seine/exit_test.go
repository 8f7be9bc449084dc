// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/seine-crawler/seine/engine"
	"github.com/seine-crawler/seine/storage"
	"github.com/seine-crawler/seine/storage/urlkey"
)

// TestExitStatus: what each error means for a script.
func TestExitStatus(t *testing.T) {
	full := &fs.PathError{Op: "write", Path: "x.warc.gz", Err: syscall.ENOSPC}
	for _, c := range []struct {
		err  error
		want int
	}{
		{nil, 0},
		{errors.New("whatever"), 1},
		{engine.ErrNoStore, 1},
		{engine.ErrFormat, 1},
		{&usageError{errors.New("--x")}, 2},
		{engine.ErrNoContact, 2},
		{engine.ErrNoSeed, 2},
		{engine.ErrNoPart, 2},
		{&urlkey.Error{URL: "x", Reason: "no scheme"}, 2},
		{fmt.Errorf("%w: crawldb: %w", engine.ErrDamaged, &urlkey.Error{}), 74},
		{engine.ErrNothingDue, 3},
		{errNoneDue, 3},
		{nothingFetched(engine.Cause{Text: "why"}), 4},
		{full, 74},
		{syscall.EIO, 74},
		{syscall.EDQUOT, 74},
		{syscall.EFBIG, 74},
		{syscall.EROFS, 74},
		{&fs.PathError{Op: "mkdir", Path: "above", Err: syscall.EACCES}, 74},
		{&fs.PathError{Op: "open", Path: "above/data", Err: syscall.EACCES}, 74},
		{&fs.PathError{Op: "open", Path: "above/data/warc/x.warc.gz", Err: syscall.EPERM}, 74},
		{&os.LinkError{Op: "rename", Old: "x", New: "above/data/y", Err: syscall.EACCES}, 74},
		{&fs.PathError{Op: "open", Path: "above/data2", Err: syscall.EACCES}, 1},
		{&fs.PathError{Op: "create", Path: "cpu.profile", Err: syscall.EACCES}, 1},
		{&net.OpError{Op: "listen", Net: "tcp4", Err: os.NewSyscallError("bind", syscall.EACCES)}, 1},
		{engine.ErrDiskLow, 74},
		{engine.ErrDamaged, 74},
		{storage.ErrFatal, 74},
		{engine.ErrLocked, 75},
	} {
		err := c.err
		if err != nil {
			err = errors.Join(fmt.Errorf("crawling: %w", err), errors.New("closing"))
		}
		if got := exitStatus(err, filepath.Join("above", "data")); got != c.want {
			t.Errorf("%v: exit status %d, want %d", c.err, got, c.want)
		}
	}
}

// TestExitTable: the README has the table of exit statuses.
func TestExitTable(t *testing.T) {
	rows := map[int]string{}
	for _, m := range regexp.MustCompile(`(?m)^\| ([0-9]+) \| (.*) \|$`).FindAllStringSubmatch(readme(t), -1) {
		status, _ := strconv.Atoi(m[1])
		rows[status] = m[2]
	}
	for _, e := range exitMeanings {
		if rows[e.status] != e.meaning {
			t.Errorf("README says of exit status %d %q, want %q", e.status, rows[e.status], e.meaning)
		}
		delete(rows, e.status)
	}
	if len(rows) > 0 {
		t.Errorf("README has more exit statuses: %v", rows)
	}
}

// TestMessage: an error is one line without control bytes; wrong usage says where help is.
func TestMessage(t *testing.T) {
	root := newRoot(&console{})
	if got := message(root, errors.New("a\nb\x1b[0m")); got != "seine: a; b?[0m" {
		t.Errorf("%q", got)
	}
	err := fmt.Errorf("injecting: %w", context.Canceled)
	if got := message(root, err); got != "seine: injecting: it was interrupted" {
		t.Errorf("%q", got)
	}
	if got := message(root, &usageError{errors.New("x")}); !strings.HasSuffix(got, "\nRun \"seine help\" for usage.") {
		t.Errorf("%q", got)
	}
}

// TestHelpNamesFlags: what a cause tells people to type exists.
func TestHelpNamesFlags(t *testing.T) {
	crawl, _, err := newRoot(&console{}).Find([]string{"crawl"})
	if err != nil {
		t.Fatal(err)
	}
	names, found := regexp.MustCompile(`--set ([a-z-]+)=|--([a-z][a-z-]+)`), 0
	for _, file := range []string{"cause.go", "situation.go"} {
		text, err := os.ReadFile(filepath.Join("..", "..", "engine", file))
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range names.FindAllStringSubmatch(string(text), -1) {
			found++
			if m[1] != "" && allSettings[m[1]] == nil {
				t.Errorf("engine/%s names the setting %s, which does not exist", file, m[1])
			}
			if m[2] != "" && crawl.Flags().Lookup(m[2]) == nil && m[2] != "dump" && m[2] != "dir" {
				t.Errorf("engine/%s names the flag --%s, which crawl does not have", file, m[2])
			}
		}
	}
	if found < 10 {
		t.Errorf("only %d were found", found)
	}
}
