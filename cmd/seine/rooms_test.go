// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// engineMethodsMax is the number of methods that Engine may have, exported or not.
const engineMethodsMax = 35

// circleMark begins the comment by which a file says why it uses a file that uses it, too.
const circleMark = "// Circle:"

// TestEngineIsADoor: Engine has few methods, and no struct but the conductor holds one.
func TestEngineIsADoor(t *testing.T) {
	methods := 0
	for path, f := range parseRoom(t, token.NewFileSet(), "engine") {
		ast.Inspect(f, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.FuncDecl:
				if n.Recv != nil && mentions(n.Recv.List[0].Type, "Engine") {
					methods++
				}
			case *ast.TypeSpec:
				s, ok := n.Type.(*ast.StructType)
				if !ok || n.Name.Name == "conductor" {
					return true
				}
				for _, field := range s.Fields.List {
					if mentions(field.Type, "Engine") {
						t.Errorf("%s: struct %s holds an Engine: give it the functions and values that it needs",
							path, n.Name.Name)
					}
				}
			}
			return true
		})
	}
	if methods == 0 || methods > engineMethodsMax {
		t.Errorf("Engine has %d methods, want 1 to %d: give the new one to the part that does the work",
			methods, engineMethodsMax)
	}
}

// mentions reports whether a type expression has a name of this package in it. The parameters of functions do not
// count: a function that takes an Engine does not hold one.
func mentions(e ast.Expr, name string) (found bool) {
	ast.Inspect(e, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncType, *ast.SelectorExpr:
			return false
		case *ast.Ident:
			found = found || n.Name == name
		}
		return true
	})
	return found
}

// circlesLeft is the number of arrows within circles that a room may still have. Lower it as they go; a room that is
// not listed has none.
var circlesLeft = map[string]int{}

// TestNoCircles: files of the engine's rooms use one another in one direction, so that each can be read after those
// that it uses. A file that must break the rule says why in a comment that begins with circleMark.
func TestNoCircles(t *testing.T) {
	rooms := []string{"engine"}
	for pkg := range floorPlan {
		if strings.HasPrefix(pkg, "engine/internal/") {
			rooms = append(rooms, pkg)
		}
	}
	slices.Sort(rooms)
	exports := exportData(t)
	for _, room := range rooms {
		uses := fileUses(t, room, exports)
		all := 0
		for _, to := range uses {
			all += len(to)
		}
		var arrows []string
		for _, circle := range circles(uses) {
			for _, from := range circle {
				for _, to := range circle {
					if what := uses[from][to]; what != "" {
						arrows = append(arrows, fmt.Sprintf("%s uses %s of %s", from, what, to))
					}
				}
			}
		}
		t.Logf("%s: %d files, %d arrows, %d of them in circles", room, len(uses), all, len(arrows))
		if len(arrows) > circlesLeft[room] {
			t.Errorf("%s: files use one another in a circle, by %d arrows (want at most %d): move what the lower file "+
				"uses, pass it in, or say why in a comment that begins with %q:\n\t%s",
				room, len(arrows), circlesLeft[room], circleMark, strings.Join(arrows, "\n\t"))
		}
	}
}

// exportData maps import paths to files of export data, for all that the engine imports. The go command is asked only
// for packages outside the room that is looked at; the room's own files are parsed here, see eachFile.
func exportData(t *testing.T) map[string]string {
	t.Helper()
	const format = "{{if .Export}}{{.ImportPath}} {{.Export}}{{end}}"
	cmd := exec.Command("go", "list", "-export", "-deps", "-f", format, "./engine/...")
	cmd.Dir = filepath.Join("..", "..")
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("listing packages: %v: %s", err, &stderr)
	}
	files := map[string]string{}
	for line := range strings.Lines(string(out)) {
		if path, file, ok := strings.Cut(strings.TrimSpace(line), " "); ok {
			files[path] = file
		}
	}
	return files
}

// parseRoom parses the files of a package without its tests, by base name.
func parseRoom(t *testing.T, fset *token.FileSet, pkg string) map[string]*ast.File {
	t.Helper()
	files := map[string]*ast.File{}
	eachFile(t, func(path string) {
		if packageOf(path) != pkg || strings.HasSuffix(path, "_test.go") {
			return
		}
		f, err := parser.ParseFile(fset, path, nil, parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		files[filepath.Base(path)] = f
	})
	return files
}

// fileUses says which file of a package uses which other, and one of the things that it uses. A file with a comment
// that begins with circleMark has no arrows.
func fileUses(t *testing.T, pkg string, exports map[string]string) map[string]map[string]string {
	t.Helper()
	fset := token.NewFileSet()
	files := parseRoom(t, fset, pkg)
	info := &types.Info{Uses: map[*ast.Ident]types.Object{}}
	config := types.Config{Importer: importer.ForCompiler(fset, "gc", func(path string) (io.ReadCloser, error) {
		return os.Open(exports[path])
	})}
	checked, err := config.Check(module+pkg, fset, slices.Collect(maps.Values(files)), info)
	if err != nil {
		t.Fatalf("type-checking %s: %v", pkg, err)
	}
	argued := map[string]bool{}
	uses := map[string]map[string]string{}
	for name, f := range files {
		uses[name] = map[string]string{}
		for _, group := range f.Comments {
			for _, c := range group.List {
				argued[name] = argued[name] || strings.HasPrefix(c.Text, circleMark)
			}
		}
	}
	for ident, object := range info.Uses {
		if object.Pkg() != checked || object.Parent() != nil && object.Parent() != checked.Scope() {
			continue // of another package, or local to a function
		}
		from := filepath.Base(fset.Position(ident.Pos()).Filename)
		to := filepath.Base(fset.Position(object.Pos()).Filename)
		if from != to && !argued[from] && (uses[from][to] == "" || object.Name() < uses[from][to]) {
			uses[from][to] = object.Name()
		}
	}
	return uses
}

// circles returns the groups of files that all reach one another, by Tarjan's algorithm.
func circles(uses map[string]map[string]string) (groups [][]string) {
	index, low := map[string]int{}, map[string]int{}
	var stack []string
	var visit func(string)
	visit = func(v string) {
		index[v] = len(index) + 1
		low[v] = index[v]
		stack = append(stack, v)
		for _, w := range slices.Sorted(maps.Keys(uses[v])) {
			if index[w] == 0 {
				visit(w)
				low[v] = min(low[v], low[w])
			} else if slices.Contains(stack, w) {
				low[v] = min(low[v], index[w])
			}
		}
		if low[v] == index[v] {
			at := slices.Index(stack, v)
			if group := slices.Clone(stack[at:]); len(group) > 1 {
				slices.Sort(group)
				groups = append(groups, group)
			}
			stack = stack[:at]
		}
	}
	for _, v := range slices.Sorted(maps.Keys(uses)) {
		if index[v] == 0 {
			visit(v)
		}
	}
	return groups
}

// TestCircles: circles finds what uses one another, and nothing else.
func TestCircles(t *testing.T) {
	uses := map[string]map[string]string{
		"a": {"b": "x"}, "b": {"c": "x"}, "c": {"a": "x", "d": "x"}, "d": {"e": "x"}, "e": {},
		"f": {"g": "x", "a": "x"}, "g": {"f": "x"}, "h": {"h2": "x"}, "h2": {},
	}
	if got := fmt.Sprint(circles(uses)); got != "[[a b c] [f g]]" {
		t.Errorf("circles %s, want [[a b c] [f g]]", got)
	}
}
