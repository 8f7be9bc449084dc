// SPDX-License-Identifier: Apache-2.0

package measure

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

var (
	sentenceEnd   = regexp.MustCompile(`[.!?](\s|$)`)
	benchmarkFunc = regexp.MustCompile(`(?m)^func Benchmark(\w+)\(b `)
)

// TestSections: each section says in at most three sentences what its table means, in lines of at most 120 characters.
func TestSections(t *testing.T) {
	for _, s := range sections {
		if s.means == "" || s.what == "" || s.title == "" || s.command == "" {
			t.Errorf("section %s lacks a text", s.layer)
		}
		if n := len(sentenceEnd.FindAllString(strings.TrimSpace(s.means), -1)); n > 3 {
			t.Errorf("section %s: %d sentences under the table, want at most 3", s.layer, n)
		}
		for line := range strings.Lines(s.what + "\n" + s.means) {
			if n := utf8.RuneCountInString(line); n > 121 {
				t.Errorf("section %s: a line of %d characters, want at most 120: %s", s.layer, n, line)
			}
		}
	}
}

// TestBenchmarksHaveSections: make bench can report what the benchmarks of this package print.
func TestBenchmarksHaveSections(t *testing.T) {
	files, err := filepath.Glob("*_test.go")
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range benchmarkFunc.FindAllSubmatch(text, -1) {
			found++
			layer := string(m[1])
			has := func(s section) bool { return s.layer == layer }
			if layer != "Builders" && !slices.ContainsFunc(sections, has) { // that is for two idle cores
				t.Errorf("%s: Benchmark%s has no section in sections.go", file, layer)
			}
		}
	}
	if found < 20 {
		t.Errorf("%d benchmarks found", found)
	}
}

// TestPrinted: BENCHMARKS.md has the prose of its sections. Change both when a text changes, or run make bench.
func TestPrinted(t *testing.T) {
	text, err := os.ReadFile("../../BENCHMARKS.md")
	if err != nil {
		t.Fatal(err)
	}
	printed := map[string]string{}
	for _, part := range strings.Split(string(text), "\n## ")[1:] {
		title, body, _ := strings.Cut(part, "\n")
		printed[title] = body
	}
	for _, s := range sections {
		body, found := printed[s.title]
		delete(printed, s.title)
		for _, want := range []string{strings.TrimSpace(s.what), "`" + s.command + "`", strings.TrimSpace(s.means)} {
			if found && !strings.Contains(body, want) {
				t.Errorf("BENCHMARKS.md: section %q lacks this text of sections.go:\n%s", s.title, want)
			}
		}
	}
	for title := range printed {
		t.Errorf("BENCHMARKS.md has a section %q that sections.go does not have", title)
	}
}
