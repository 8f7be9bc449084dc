// SPDX-License-Identifier: Apache-2.0

package main

import (
	"io"
	"os"
	"path/filepath"
	"testing"
)

// TestLogFileRotates: after another program renamed or removed the log, the next line begins it anew.
func TestLogFileRotates(t *testing.T) {
	path := filepath.Join(t.TempDir(), "logs", "seine.log")
	l := &logFile{path: path}
	if err := l.open(); err != nil {
		t.Fatal(err)
	}
	defer func() { l.file.Close() }()
	check := func(path, want string) {
		t.Helper()
		if got, err := os.ReadFile(path); string(got) != want || err != nil {
			t.Errorf("%s has %q, %v", path, got, err)
		}
	}
	write := func(line string) {
		t.Helper()
		if _, err := io.WriteString(l, line); err != nil {
			t.Error(err)
		}
	}
	write("1\n")
	if err := os.Rename(path, path+".1"); err != nil {
		t.Fatal(err)
	}
	write("2\n")
	write("3\n")
	check(path+".1", "1\n")
	check(path, "2\n3\n")
	if err := os.RemoveAll(filepath.Dir(path)); err != nil {
		t.Fatal(err)
	}
	write("4\n")
	check(path, "4\n")
}
