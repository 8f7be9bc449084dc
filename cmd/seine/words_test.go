// SPDX-License-Identifier: Apache-2.0

package main

import (
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// The width of a line of code or comment.
const (
	maxColumns = 120
	tabWidth   = 4
)

// bannedWords are expressions that no comment and no Markdown file may contain, each with its cure. They are in lower
// case; a blank matches a line break, too.
var bannedWords = map[string]string{
	"asked for":        "requested; or say who asks",
	"at hand":          "current, or given",
	"in a hundred":     "percent",
	"has the say":      "decides",
	"have the say":     "decide",
	"come to nothing":  "fail, or have no effect",
	"comes to nothing": "fails, or has no effect",
	"came to nothing":  "failed, or had no effect",
	"errand":           "name the deferred request",
	"by hand":          "say who does it, and how",
	"the like":         "name the things",
	"for nothing":      "without effect; or say what is wasted",
}

// The texts that other rules leave alone. Keep this list short.
var (
	// longLines are files of data that wrapping would make unreadable, by the beginning of their path.
	longLines = []string{"bench/simweb/words_"}
	// longLinesLeft and bannedWordsLeft are the beginnings of paths that still have to be brought in order.
	longLinesLeft   = []string{}
	bannedWordsLeft = []string{}
)

// exempt reports whether a path of the repository begins like one of a list. Sub-packages of "engine/" do not count,
// except its rooms.
func exempt(path string, list []string) bool {
	for _, prefix := range list {
		rest, ok := strings.CutPrefix(path, prefix)
		if ok && (prefix != "engine/" || !strings.Contains(rest, "/") || strings.HasPrefix(rest, "internal/")) {
			return true
		}
	}
	return false
}

// columns is the width of a line on a screen.
func columns(line string) (n int) {
	for _, r := range line {
		if n++; r == '\t' {
			n = (n-1)/tabWidth*tabWidth + tabWidth
		}
	}
	return n
}

// TestColumns: no line of code or comment needs more than maxColumns.
func TestColumns(t *testing.T) {
	left := map[string]int{}
	eachFile(t, func(path string) {
		name := inRepository(path)
		if exempt(name, longLines) {
			return
		}
		src, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		number := 0
		for line := range strings.Lines(string(src)) {
			number++
			n := columns(strings.TrimSuffix(line, "\n"))
			switch {
			case n <= maxColumns:
			case exempt(name, longLinesLeft):
				left[name]++
			default:
				t.Errorf("%s:%d has %d columns, more than %d: give its parts names or lines",
					name, number, n, maxColumns)
			}
		}
	})
	if len(left) > 0 {
		t.Logf("long lines that are left: %v", left)
	}
}

// TestWords: comments and Markdown say things plainly.
func TestWords(t *testing.T) {
	left := map[string]int{}
	pattern := regexp.MustCompile(`\b(` + strings.Join(slices.Sorted(maps.Keys(bannedWords)), "|") + `)\b`)
	check := func(name, where, text string) {
		text = strings.ToLower(strings.Join(strings.Fields(text), " "))
		for _, word := range pattern.FindAllString(text, -1) {
			if exempt(name, bannedWordsLeft) {
				left[name]++
				continue
			}
			t.Errorf("%s has %q: write %s", where, word, bannedWords[word])
		}
	}
	eachFile(t, func(path string) {
		fset := token.NewFileSet()
		f, err := parser.ParseFile(fset, path, nil, parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range f.Comments {
			check(inRepository(path), fset.Position(c.Pos()).String(), c.Text())
		}
	})
	eachMarkdown(t, func(path string) {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		check(inRepository(path), path, string(text))
	})
	if len(left) > 0 {
		t.Logf("banned words that are left: %v", left)
	}
}

// eachMarkdown calls fn for every Markdown file of the repository.
func eachMarkdown(t *testing.T, fn func(path string)) {
	t.Helper()
	root, n := filepath.Join("..", ".."), 0
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && slices.Contains(notOurs, d.Name()) && d.Name() != "peers":
			return fs.SkipDir
		case strings.HasSuffix(path, ".md"):
			n++
			fn(path)
		}
		return nil
	})
	if err != nil || n < 2 {
		t.Fatalf("%d Markdown files: %v", n, err)
	}
}

// inRepository is a path as the repository has it.
func inRepository(path string) string {
	rel, _ := filepath.Rel(filepath.Join("..", ".."), path)
	return filepath.ToSlash(rel)
}
