// SPDX-License-Identifier: Apache-2.0

package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// Bounds, with the reason in the messages of the tests.
const (
	maxFileLines = 600
	maxFuncLines = 70
)

// storyHeadings are the parts of a package's page, in order.
var storyHeadings = []string{
	"# What it is", "# Picture", "# Life", "# Invariants", "# Who runs it", "# Bounds", "# Deliberately absent",
	"# Read first",
}

// banned are texts that no Go file may contain, each with its cure.
var banned = map[*regexp.Regexp]string{
	regexp.MustCompile(`(?i)\b(TO` + `DO|FIX` + `ME|XX` + `X)\b`): "finish it, or note in the commit what is left",

	regexp.MustCompile(`pebble\.No` + `Sync`): "what is acknowledged must be synced: use Apply or an Ingestion",
	regexp.MustCompile(`\b` + logging):        "return the error; only cmd/seine talks to people",
}

const logging = "log" + ".Print" // also a pattern: the dot matches the dot

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
		if n := strings.Count(text, "\n"); n > maxFileLines {
			t.Errorf("%s has %d lines, more than %d: it has more than one subject; split it", path, n, maxFileLines)
		}
		for re, cure := range banned {
			m := re.FindString(text)
			if m == "" || m == logging && strings.HasPrefix(filepath.Base(path), "example") {
				continue // an example is a program
			}
			t.Errorf("%s holds %q: %s", path, m, cure)
		}
		pkg := packageOf(path)
		if slices.Contains([]string{"util", "common", "helpers", "types", "models"}, filepath.Base(pkg)) {
			t.Errorf("package %s: name it after its subject", pkg)
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
				t.Errorf("%s: %s has %d lines, more than %d: make functions of its steps",
					fset.Position(fn.Pos()), fn.Name.Name, n, maxFuncLines)
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
			if d.Name.IsExported() && d.Doc == nil && exportedReceiver(d) && !knownMethod(d) {
				t.Errorf("%s: %s has no comment: say what it does, in which units, and who may call it",
					fset.Position(d.Pos()), d.Name.Name)
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

// knownMethod: the methods of container/heap, error and fmt.Stringer need no explanation.
func knownMethod(d *ast.FuncDecl) bool {
	switch d.Name.Name {
	case "Len", "Less", "Swap", "Push", "Pop", "String", "Error", "Unwrap":
		return d.Recv != nil
	}
	return false
}
