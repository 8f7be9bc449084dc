// SPDX-License-Identifier: Apache-2.0

package storage

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"

	"go.uber.org/goleak"
)

// holdEnv makes the test binary another process, of startHolder: it opens the store in the named directory and keeps it
// open until its standard input ends. With sortEnv it opens it for reading only, and sorts.
const (
	holdEnv = "SEINE_TEST_HOLD_STORE"
	sortEnv = "SEINE_TEST_HOLD_SORT"
)

func TestMain(m *testing.M) {
	if dir := os.Getenv(holdEnv); dir != "" {
		sorts := os.Getenv(sortEnv) != ""
		s, err := Open(dir, Options{ReadOnly: sorts})
		if err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
		if sorts {
			fmt.Println(s.SortDir())
		} else {
			fmt.Println("open")
		}
		_, _ = io.Copy(io.Discard, os.Stdin)
		if err := s.Close(); err != nil {
			os.Exit(1)
		}
		os.Exit(0)
	}
	goleak.VerifyTestMain(m)
}

// startHolder starts another process that opens the store in a directory, and returns the line that it prints then.
func startHolder(t *testing.T, dir string, env ...string) (line string, cmd *exec.Cmd) {
	t.Helper()
	cmd = exec.Command(os.Args[0])
	cmd.Env = append(append(os.Environ(), holdEnv+"="+dir), env...)
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { in.Close() })
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	if line, err = bufio.NewReader(out).ReadString('\n'); err != nil {
		t.Fatalf("the other process: %q %v", line, err)
	}
	return strings.TrimSuffix(line, "\n"), cmd
}
