// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/seine-crawler/seine/engine"
)

// TestLeftBeside: a temporary file that a killed command left is no one's, and keeps no later command from writing,
// although in a container that has the same process number. It may be an input, so it stays.
func TestLeftBeside(t *testing.T) {
	name := filepath.Join(t.TempDir(), "edges")
	left := fmt.Sprintf("%s.%d.tmp", name, os.Getpid())
	if err := os.WriteFile(left, []byte("a part"), 0o644); err != nil {
		t.Fatal(err)
	}
	err := intoFiles([]output{{"edges", name}}, func(w []io.Writer) error {
		_, err := io.WriteString(w[0], "whole")
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	for file, want := range map[string]string{name: "whole", left: "a part"} {
		if got, err := os.ReadFile(file); err != nil || string(got) != want {
			t.Errorf("%s: %q, %v, want %q", file, got, err, want)
		}
	}
	if list, err := filepath.Glob(name + "*"); err != nil || len(list) != 2 {
		t.Errorf("files %q, %v", list, err)
	}
}

// longRow is a row of a report.
type longRow int

func (r longRow) String() string  { return fmt.Sprintf("host-%d.example\t%d", int(r), int(r)) }
func (r longRow) Cells() []string { return strings.Split(r.String(), "\t") }

// TestTableIsPrintedMeanwhile: a table of any number of rows is printed while it is read, so it takes no more memory.
func TestTableIsPrintedMeanwhile(t *testing.T) {
	var out bytes.Buffer
	c := &console{out: &out}
	err := c.table([]string{"host", "urls"}, func(yield func(engine.ReportRow, error) bool) {
		for n := range 3 * alignedRows {
			if printed := bytes.Count(out.Bytes(), []byte("\n")); n-printed > alignedRows {
				t.Fatalf("%d of %d rows are printed", printed, n)
			}
			if !yield(longRow(n), nil) {
				return
			}
		}
	})
	if err != nil || bytes.Count(out.Bytes(), []byte("\n")) != 3*alignedRows+1 {
		t.Errorf("%d lines, %v", bytes.Count(out.Bytes(), []byte("\n")), err)
	}
}
