// SPDX-License-Identifier: Apache-2.0

package main

import (
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const module = "github.com/seine-crawler/seine/"

// floorPlan says which packages of ours a package may import. Arrows go down only; the top floor comes first.
// Change it when the design changes, not to make a build pass.
var floorPlan = map[string]string{
	"cmd/seine": "*",

	// Measurements, worlds and training: nothing of the product imports them.
	"bench": "",
	"bench/measure": "bench/relevance bench/simweb bench/hostile engine engine/fetch engine/fetch/robots " +
		"engine/parse engine/parse/language engine/policy frontier index index/analysis " +
		"storage storage/urlkey storage/warc storage/invariants",
	"bench/training/content":  "engine/parse engine/parse/content storage/urlkey",
	"bench/training/language": "engine/parse/language",
	"bench/relevance":         "engine/parse storage storage/urlkey",
	"bench/simweb":            "",
	"bench/hostile":           "",

	// What people and programs look at.
	"engine/web": "engine engine/policy engine/writers index storage storage/urlkey",

	// The door and the conductor; below it the rooms, none of which knows Engine.
	"engine": "engine/internal/admission engine/internal/segment engine/internal/visit engine/internal/phases " +
		"engine/internal/inspect engine/internal/crawllog engine/fetch engine/fetch/robots engine/parse " +
		"engine/policy frontier index " +
		"index/analysis storage storage/urlkey storage/warc storage/invariants",
	"engine/internal/visit": "engine/internal/segment engine/internal/admission engine/policy " +
		"engine/fetch engine/fetch/robots frontier storage storage/warc storage/urlkey",
	"engine/internal/segment": "engine/internal/admission engine/policy engine/parse engine/fetch " +
		"storage storage/warc storage/urlkey",
	"engine/internal/phases": "engine/internal/admission engine/policy engine/parse storage storage/urlkey",
	"engine/internal/inspect": "engine/internal/admission engine/policy engine/parse engine/fetch " +
		"engine/fetch/robots index storage storage/warc storage/urlkey",
	"engine/internal/admission": "engine/policy storage storage/urlkey",
	"engine/internal/crawllog":  "",

	// What a user may replace.
	"engine/policy":            "engine/parse index storage storage/urlkey",
	"engine/policy/policytest": "engine/policy engine/parse index storage storage/urlkey",

	// Writers to other search engines: they know the interface and nothing of the store. They use net/http's client,
	// not engine/fetch, whose rules are for other people's servers: robots.txt, refused addresses, cut bodies.
	"engine/writers": "engine/policy storage",

	// Four strangers: none imports another.
	"engine/fetch": "engine/fetch/robots storage/urlkey storage/invariants",
	"engine/parse": "engine/parse/content engine/parse/language engine/parse/pdf storage/urlkey storage/invariants",
	"frontier":     "storage/urlkey storage/invariants",
	"index":        "index/analysis storage storage/urlkey storage/invariants",

	// The only door to Pebble.
	"storage": "storage/urlkey storage/warc storage/invariants",

	// Leaves: they import nothing of ours.
	"storage/urlkey":        "",
	"storage/warc":          "",
	"storage/invariants":    "",
	"index/analysis":        "",
	"engine/fetch/robots":   "",
	"engine/parse/content":  "",
	"engine/parse/language": "",
	"engine/parse/pdf":      "",
}

// doors says which packages may import a third-party module.
var doors = map[string]string{
	"github.com/cockroachdb/pebble":    "storage bench/measure",
	"github.com/valyala/fasthttp":      "engine/fetch bench/measure",
	"github.com/tdewolff/parse":        "engine/parse bench/measure",
	"golang.org/x/net/html":            "engine/parse engine/web bench/measure bench/simweb", // web: stored copies
	"github.com/ledongthuc/pdf":        "engine/parse/pdf",
	"github.com/wlynxg/chardet":        "engine/parse",
	"github.com/abadojack/whatlanggo":  "bench/measure",
	"github.com/RoaringBitmap/roaring": "index storage",
	"github.com/blevesearch":           "index/analysis",
	"github.com/clipperhouse":          "index/analysis",
	"github.com/spf13/cobra":           "cmd/seine",
	"github.com/BurntSushi/toml":       "cmd/seine",
	"github.com/prometheus":            "engine/web",
}

// worlds are packages that all tests may import.
var worlds = []string{"bench/simweb", "bench/hostile"}

// notOurs are folders without packages of this module: other modules, fixtures, downloads and binaries.
var notOurs = []string{".git", "peers", "out", "testdata", "bin"}

// eachFile calls fn for every Go file of the module. It reads the tree itself: the result of a test that runs `go list`
// is cached, and stays green after someone adds a forbidden import.
func eachFile(t *testing.T, fn func(path string)) {
	t.Helper()
	root := filepath.Join("..", "..")
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && slices.Contains(notOurs, d.Name()) {
			return fs.SkipDir
		}
		if strings.HasSuffix(path, ".go") {
			fn(path)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

func packageOf(path string) string {
	rel, _ := filepath.Rel(filepath.Join("..", ".."), path)
	return filepath.ToSlash(filepath.Dir(rel))
}

func TestFloorPlan(t *testing.T) {
	files := 0
	eachFile(t, func(path string) {
		files++
		pkg := packageOf(path)
		allowed, known := floorPlan[pkg]
		if !known {
			t.Errorf("%s: package %s is not in the floor plan: add it to floorPlan in this test, "+
				"with the packages that it may import", path, pkg)
			return
		}
		f, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ImportsOnly)
		if err != nil {
			t.Error(err)
			return
		}
		test := strings.HasSuffix(path, "_test.go")
		if test && pkg == "engine/policy" {
			allowed += " engine/policy/policytest"
		}
		if test && pkg == "engine/web" { // to see that all that is detected has a name
			allowed += " engine/parse/language"
		}
		for _, spec := range f.Imports {
			imported, _ := strconv.Unquote(spec.Path.Value)
			if ours, ok := strings.CutPrefix(imported, module); ok {
				ok := allowed == "*" || slices.Contains(strings.Fields(allowed), ours) ||
					test && (ours == pkg || slices.Contains(worlds, ours))
				if !ok {
					t.Errorf("%s imports %s: the floor plan has no arrow from %s to it; "+
						"move the code to its floor, or pass it in", path, ours, pkg)
				}
				continue
			}
			for third, door := range doors {
				if strings.HasPrefix(imported, third) && !slices.Contains(strings.Fields(door), pkg) {
					t.Errorf("%s imports %s: only %s may; ask that package for what you need", path, imported, door)
				}
			}
		}
	})
	if files < 50 {
		t.Errorf("only %d files were found", files)
	}
}
