// SPDX-License-Identifier: Apache-2.0

package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

// advised are command lines in texts: the command, and what follows it in its sentence or its quotes.
var (
	advised     = regexp.MustCompile(`\bseine ([a-z][a-z-]*(?: [a-z]+)?)([^"\x60;:,()<|\n]*)`)
	advisedFlag = regexp.MustCompile(`--([a-z][a-z-]*)`)
)

// checkAdvice checks the flags of the commands that a text names, and returns how many it found.
func checkAdvice(t *testing.T, root *cobra.Command, where, text string) (found int) {
	t.Helper()
	for _, m := range advised.FindAllStringSubmatch(text, -1) {
		cmd, _, err := root.Find(strings.Fields(m[1]))
		if err != nil || cmd == root {
			continue // "seine is", and the words of a sentence
		}
		for _, flag := range advisedFlag.FindAllStringSubmatch(m[2], -1) {
			cmd.InitDefaultHelpFlag()
			if found++; cmd.Flags().Lookup(flag[1]) == nil {
				t.Errorf("%s says %q: %s has no flag --%s", where, m[0], cmd.CommandPath(), flag[1])
			}
		}
	}
	return found
}

// TestAdviceNamesFlags: the commands that messages, pages, alert rules and the README tell people to run have the flags
// that stand there.
func TestAdviceNamesFlags(t *testing.T) {
	root, found := newRoot(&console{}), 0
	eachFile(t, func(path string) {
		if strings.HasSuffix(path, "_test.go") || strings.HasPrefix(inRepository(path), "bench/") {
			return
		}
		fset := token.NewFileSet()
		f, err := parser.ParseFile(fset, path, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(f, func(n ast.Node) bool {
			if text, ok := n.(*ast.BasicLit); ok && text.Kind == token.STRING {
				if s, err := strconv.Unquote(text.Value); err == nil {
					found += checkAdvice(t, root, fset.Position(text.Pos()).String(), s)
				}
			}
			return true
		})
	})
	texts := []string{filepath.Join("..", "..", "README.md")}
	err := filepath.WalkDir(filepath.Join("..", "..", "engine", "web", "assets"),
		func(path string, d fs.DirEntry, err error) error {
			if err == nil && d.Type().IsRegular() {
				texts = append(texts, path)
			}
			return err
		})
	if err != nil || len(texts) < 10 {
		t.Fatalf("%d texts, %v", len(texts), err)
	}
	for _, path := range texts {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		found += checkAdvice(t, root, path, string(text))
	}
	if found < 60 {
		t.Errorf("only %d flags were found", found)
	}
}

// TestAlertsNameFlags: each flag in the alert rules is one of the command that crawls.
func TestAlertsNameFlags(t *testing.T) {
	path := filepath.Join("..", "..", "engine", "web", "assets", "ops", "alerts.yml")
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	crawl, _, err := newRoot(&console{}).Find([]string{"crawl"})
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range advisedFlag.FindAllStringSubmatch(string(text), -1) {
		if crawl.Flags().Lookup(m[1]) == nil {
			t.Errorf("%s names --%s, which is no flag of seine crawl", path, m[1])
		}
	}
}
