// SPDX-License-Identifier: Apache-2.0

package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// Bounds of tidiness, with the reason in the message.
const (
	maxFileLines = 600
	maxFuncLines = 70
)

// storyHeadings are the parts of a package's page, in order.
var storyHeadings = []string{"# What it is", "# Picture", "# Life", "# Invariants", "# Who runs it", "# Bounds", "# Deliberately absent", "# Read first"}

// banned are texts that have no place in the sources, each with its cure.
var banned = map[*regexp.Regexp]string{
	regexp.MustCompile(`(?i)\b(TO` + `DO|FIX` + `ME|XX` + `X)\b`): "finish it, or say in the commit message what is left",
	regexp.MustCompile(`pebble\.No` + `Sync`):                     "what is acknowledged must be synced: use Apply or an Ingestion",
	regexp.MustCompile(`\blog\.Print`):                            "return the error; only cmd/seine talks to people",
}

func TestTidy(t *testing.T) {
	stories := map[string]string{}
	packages := map[string]bool{}
	eachFile(t, func(path string) {
		src, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		text := string(src)
		if !strings.HasPrefix(text, "// SPDX-License-Identifier: Apache-2.0\n") {
			t.Errorf("%s: line 1 must be the SPDX line", path)
		}
		test := strings.HasSuffix(path, "_test.go")
		if n := strings.Count(text, "\n"); n > maxFileLines && !test {
			t.Errorf("%s has %d lines, more than %d: it has more than one reason to exist; split it by them", path, n, maxFileLines)
		}
		for re, cure := range banned {
			if m := re.FindString(text); m != "" {
				t.Errorf("%s holds %q: %s", path, m, cure)
			}
		}
		pkg := packageOf(path)
		if base := filepath.Base(pkg); base == "util" || base == "common" || base == "helpers" || base == "types" || base == "models" {
			t.Errorf("package %s: name it after the thing it is about", pkg)
		}
		fset := token.NewFileSet()
		f, err := parser.ParseFile(fset, path, src, parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		if filepath.Base(path) == "doc.go" {
			stories[pkg] = f.Doc.Text()
		}
		if !test {
			packages[pkg] = true
			checkFuncs(t, fset, f)
			checkDocs(t, fset, f)
		}
	})
	for pkg := range packages {
		at := 0
		for _, h := range storyHeadings {
			i := strings.Index(stories[pkg][at:], h)
			if i < 0 {
				t.Errorf("package %s: doc.go must tell its story under %q, in the order of storyHeadings", pkg, h)
				break
			}
			at += i
		}
	}
}

func checkFuncs(t *testing.T, fset *token.FileSet, f *ast.File) {
	for _, d := range f.Decls {
		if fn, ok := d.(*ast.FuncDecl); ok && fn.Body != nil {
			if n := fset.Position(fn.End()).Line - fset.Position(fn.Pos()).Line + 1; n > maxFuncLines {
				t.Errorf("%s: %s has %d lines, more than %d: give its steps names", fset.Position(fn.Pos()), fn.Name.Name, n, maxFuncLines)
			}
		}
	}
}

// checkDocs asks for a comment at every exported function, method and type.
func checkDocs(t *testing.T, fset *token.FileSet, f *ast.File) {
	if f.Name.Name == "main" {
		return
	}
	for _, d := range f.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			if d.Name.IsExported() && d.Doc == nil && exportedReceiver(d) && d.Name.Name != "String" && d.Name.Name != "Error" && d.Name.Name != "Unwrap" && !heapMethod(d) {
				t.Errorf("%s: %s has no comment: say what it does, in which units, and who may call it", fset.Position(d.Pos()), d.Name.Name)
			}
		case *ast.GenDecl:
			for _, s := range d.Specs {
				if ts, ok := s.(*ast.TypeSpec); ok && ts.Name.IsExported() && d.Doc == nil && ts.Doc == nil {
					t.Errorf("%s: type %s has no comment", fset.Position(ts.Pos()), ts.Name.Name)
				}
			}
		}
	}
}

func exportedReceiver(d *ast.FuncDecl) bool {
	if d.Recv == nil {
		return true
	}
	typ := d.Recv.List[0].Type
	if star, ok := typ.(*ast.StarExpr); ok {
		typ = star.X
	}
	id, ok := typ.(*ast.Ident)
	return ok && id.IsExported()
}

// heapMethod: the five methods of container/heap explain themselves.
func heapMethod(d *ast.FuncDecl) bool {
	switch d.Name.Name {
	case "Len", "Less", "Swap", "Push", "Pop":
		return d.Recv != nil
	}
	return false
}

// TestReadme: every file, package and command that the README names exists.
func TestReadme(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("..", "..", "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range regexp.MustCompile("`((?:engine|frontier|storage|index|bench|cmd)/?[a-z0-9_/.]*)`").FindAllStringSubmatch(string(text), -1) {
		if _, err := os.Stat(filepath.Join("..", "..", m[1])); err != nil {
			t.Errorf("README names %s: %v", m[1], err)
		}
	}
	known := map[string]bool{"help": true}
	for _, c := range commands(&console{}) {
		known[c.Name()] = true
	}
	for _, m := range regexp.MustCompile(`(?m)bin/seine ([a-z]+)`).FindAllStringSubmatch(string(text), -1) {
		if !known[m[1]] {
			t.Errorf("README runs seine %s: there is no such command", m[1])
		}
	}
	for name := range settingsByName() {
		if !strings.Contains(string(text), "--"+name) {
			t.Errorf("README does not mention --%s: flags, TOML keys and README are one list", name)
		}
	}
}
