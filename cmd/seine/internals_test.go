// SPDX-License-Identifier: Apache-2.0

package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// internals are words of the program, or of a library, that no message may have: each is about how it works, not about
// what the operator sees or can do.
var internals = regexp.MustCompile(`(?i)\b(snapshots?|goroutines?|mutex|memtable|sstables?|iterators?|ErrClosed|` +
	`after %d failures|nil pointer|panic|struct|callback)\b|0x%x|%p`)

// calls are the functions whose text people read.
var calls = map[string]bool{
	"Errorf": true, "New": true, "WithText": true, "Fprintf": true, "Fprintln": true, "Sprintf": true, "problem": true,
	"warn": true, "Warn": true,
}

// TestNoInternals: no message of the command line or of the engine speaks of internals.
func TestNoInternals(t *testing.T) {
	read := 0
	eachFile(t, func(path string) {
		name := inRepository(path)
		ours := strings.HasPrefix(name, "cmd/seine/") || strings.HasPrefix(name, "engine/")
		if strings.HasSuffix(name, "_test.go") || !ours {
			return
		}
		fset := token.NewFileSet()
		f, err := parser.ParseFile(fset, filepath.Clean(path), nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(f, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok || !calls[called(call)] {
				return true
			}
			for _, arg := range call.Args {
				ast.Inspect(arg, func(n ast.Node) bool {
					text, ok := n.(*ast.BasicLit)
					if !ok || text.Kind != token.STRING {
						return true
					}
					read++
					s, _ := strconv.Unquote(text.Value)
					if word := internals.FindString(s); word != "" {
						t.Errorf("%s: the message %q speaks of %q", fset.Position(text.Pos()), s, word)
					}
					return true
				})
			}
			return true
		})
	})
	if read < 500 {
		t.Errorf("only %d texts were read", read)
	}
}

// called is the name of a called function.
func called(call *ast.CallExpr) string {
	switch f := call.Fun.(type) {
	case *ast.Ident:
		return f.Name
	case *ast.SelectorExpr:
		return f.Sel.Name
	}
	return ""
}
