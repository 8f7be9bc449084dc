// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// readme is the text of README.md.
func readme(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// blocks returns the code blocks of README.md in a language ("": none is named).
func blocks(t *testing.T, language string) (list []string) {
	t.Helper()
	for i, part := range strings.Split(readme(t), "\n```") {
		if body, ok := strings.CutPrefix(part, language+"\n"); ok && i%2 == 1 {
			list = append(list, body+"\n")
		}
	}
	if len(list) == 0 {
		t.Fatalf("README has no block of code in %q", language)
	}
	return list
}

// TestReadmePaths: every file and package that the README names exists.
func TestReadmePaths(t *testing.T) {
	paths := regexp.MustCompile("`((?:engine|frontier|storage|index|bench|cmd)/?[a-z0-9_/.]*)`")
	for _, m := range paths.FindAllStringSubmatch(readme(t), -1) {
		if _, err := os.Stat(filepath.Join("..", "..", m[1])); err != nil {
			t.Errorf("README names %s: %v", m[1], err)
		}
	}
}

// TestReadmeCommands: every command line of the README has a command and flags that exist.
func TestReadmeCommands(t *testing.T) {
	lines := regexp.MustCompile("bin/seine ([^`\n#|\\\\]+)").FindAllStringSubmatch(readme(t), -1)
	for _, m := range lines {
		words := strings.Fields(strings.NewReplacer("[", "", "]", "").Replace(m[1]))
		if words[0] == "help" {
			continue
		}
		cmd, rest, err := newRoot(&console{}).Find(words)
		if err != nil || cmd.Name() == "seine" {
			t.Errorf("README runs seine %s: there is no such command", m[1])
			continue
		}
		if err := cmd.ParseFlags(rest); err != nil && !strings.Contains(err.Error(), "needs an argument") {
			t.Errorf("README runs seine %s: %v", m[1], err)
		}
	}
	if len(lines) < 10 {
		t.Errorf("only %d command lines were found", len(lines))
	}
}

// TestReadmeSettings: the tables of the README are those of settings.go.
func TestReadmeSettings(t *testing.T) {
	text := readme(t)
	for _, g := range settingGroups {
		var table strings.Builder
		table.WriteString("| setting | default | meaning |\n|---|---|---|\n")
		for _, s := range g.settings {
			name := s.name
			if s.flag {
				name = "--" + name
			}
			fmt.Fprintf(&table, "| `%s` | %s | %s |\n", name, s.def, s.help)
		}
		_, section, ok := strings.Cut(text, "\n### "+g.title+"\n")
		if section, _, _ = strings.Cut(section, "\n#"); !ok || !strings.Contains(section, "\n"+table.String()) {
			t.Errorf("README needs this table below the heading %q:\n%s", g.title, table.String())
		}
	}
	var table strings.Builder
	table.WriteString("| in a section | meaning |\n|---|---|\n")
	for _, s := range sectionSettings {
		note := ""
		if s.ofHost {
			note = "; not for a prefix"
		}
		fmt.Fprintf(&table, "| `%s` | %s%s |\n", s.name, s.help, note)
	}
	if !strings.Contains(text, "\n"+table.String()) {
		t.Errorf("README needs this table of the settings of a section:\n%s", table.String())
	}
	for _, text := range blocks(t, "toml") {
		f, err := readSettings(t, text)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := f.run.sections.policy(); err != nil {
			t.Error(err)
		}
	}
}

// TestReadmeGo: the Go code of the README compiles in a function with a context, an engine and its options.
func TestReadmeGo(t *testing.T) {
	exports := exportData(t)
	for _, body := range blocks(t, "go") {
		src := `package readme
import ("context"; "fmt"; "log"; "github.com/seine-crawler/seine/engine")
func _(ctx context.Context, options engine.Options) {
	_, _ = fmt.Println, log.Fatal
` + body + "}\n"
		fset := token.NewFileSet()
		f, err := parser.ParseFile(fset, "README.md", src, 0)
		if err != nil {
			t.Fatal(err)
		}
		config := types.Config{Importer: importer.ForCompiler(fset, "gc", func(path string) (io.ReadCloser, error) {
			return os.Open(exports[path])
		})}
		if _, err := config.Check("readme", fset, []*ast.File{f}, nil); err != nil {
			t.Errorf("%v in\n%s", err, body)
		}
	}
}
