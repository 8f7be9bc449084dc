// SPDX-License-Identifier: Apache-2.0

package main

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestNoSeedLeavesNothing: seeds of which none can be used make no data directory. What is read of standard input for
// that is not lost, and so much junk before a seed that it is not waited for makes one.
func TestNoSeedLeavesNothing(t *testing.T) {
	junk := strings.Repeat("# nothing\nmailto:x\n", 100_000)
	file := func(text string) string {
		name := filepath.Join(t.TempDir(), "seeds.txt")
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		return name
	}
	for _, c := range []struct {
		line, stdin string
		status      int
		says        string // on stdout or stderr
		made        bool
	}{
		{"inject ftp://a.example/", "", exitUsage, "inject: no usable seed (lines: 1)", false},
		{"inject " + file("# none\n"), "", exitUsage, "inject: no usable seed (lines: 0)", false},
		{"inject " + file(junk), "", exitUsage, "100000 malformed", false},
		{"inject --json - ftp://a.example/", "mailto:x\n", exitUsage, `"malformed":2`, false},
		{"crawl --seeds " + file("# none\n"), "", exitUsage, "no usable seed: no line has one", false},
		{"crawl --seeds " + file("mailto:x\n"), "", exitUsage, "no usable seed: ", false},
		{"crawl -", "mailto:x\n", exitUsage, "no usable seed: ", false},
		{"inject " + file("mailto:x\nhttp://a.example/\n"), "", exitOK, "1 new, 0 known, 0 changed of 2 lines", true},
		{"inject -", "mailto:x\nhttp://a.example/\nhttp://a.example/b\n", exitOK, "2 new, 0 known, 0 changed", true},
		{"inject -", junk + "http://a.example/\n", exitOK, "1 new, 0 known, 0 changed of 100001 lines", true},
	} {
		dir := filepath.Join(t.TempDir(), "data")
		var out strings.Builder
		line := append(strings.Fields(c.line), "--dir", dir)
		status := run(line, io.NopCloser(strings.NewReader(c.stdin)), &out, &out)
		_, err := os.Stat(dir)
		if status != c.status || !strings.Contains(out.String(), c.says) || (err == nil) != c.made {
			t.Errorf("%.40s: status %d, a directory: %t, %.300s", c.line, status, err == nil, &out)
		}
	}
}
