// SPDX-License-Identifier: Apache-2.0

package engine_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"strings"
	"testing"
)

// TestCallbacksNameDelete: Close and Delete wait for callbacks of a crawl, so a callback that calls them waits for
// ever. The comment of each callback that may call the Engine names both among the exceptions.
func TestCallbacksNameDelete(t *testing.T) {
	seen := map[string]bool{}
	for _, name := range []string{"options.go", "phaseoptions.go"} {
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(file, func(n ast.Node) bool {
			field, ok := n.(*ast.Field)
			if !ok || field.Doc == nil || len(field.Names) == 0 {
				return true
			}
			text := strings.Join(strings.Fields(field.Doc.Text()), " ")
			_, but, ok := strings.Cut(text, "any method of the Engine but ")
			if !ok {
				return true
			}
			seen[field.Names[0].Name] = true
			but, _, _ = strings.Cut(but, ".")
			for _, method := range []string{"Close", "Delete"} {
				if !strings.Contains(but, method) {
					t.Errorf("%s may call %s", field.Names[0].Name, method)
				}
			}
			return true
		})
	}
	if !seen["OnPage"] || !seen["Progress"] {
		t.Errorf("the comments of %v were found", seen)
	}
}
