// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/seine-crawler/seine/engine"
)

// snakeCase is what every name in JSON looks like.
var snakeCase = regexp.MustCompile(`^[a-z][a-z0-9]*(_[a-z0-9]+)*$`)

// namedByData are the fields whose own fields are named by what is crawled or counted.
var namedByData = []string{"hosts", "meta", "retries", "score_quantiles"}

// jsonElsewhere are the commands that print JSON when they are interrupted, after minutes, or of a crawl that another
// process runs. TestJSONTags has the names of what they print.
var jsonElsewhere = []string{"seine simweb", "seine simweb truth", "seine bench", "seine top"}

// jsonRuns are runs of all other commands that print JSON, in this order, on a site at $SITE.
var jsonRuns = []string{
	"inject $SITE/",
	"dedup-urls --known /dev/null -",
	"generate --dry-run",
	"generate",
	"fetch --allow-private --delay 0s --quiet",
	"parse",
	"updatedb",
	"invertlinks",
	"dedup",
	"index",
	"crawl --allow-private --delay 0s --quiet",
	"search --limit 3 nets",
	"readdb --stats --sort",
	"readdb --url $SITE/moved",
	"readdb --top 2",
	"readhost",
	"readlinks --dump",
	"readlinks --url $SITE/mend.html",
	"linkrank --top 2",
	"mergelinkdb",
	"mergedb $OTHER",
	"splitdb --part 1/1 $TMP/part",
	"webgraph --graph host --vertices $TMP/vertices --edges $TMP/edges",
	"readseg",
	"readseg --segment 1",
	"readseg --dump --segment 1",
	"report seeds",
	"report hosts",
	"report domains", "report suffixes", "report tlds", "report protocols", "report complete", "report types",
	"report statuses",
	"report failures",
	"report traps",
	"report url $SITE/moved",
	"report host $HOST",
	"check url $SITE/mend.html ftp://a.example/ $SITE/unknown.html",
	"check parse --allow-private $SITE/",
	"config",
	"recrawl $SITE/",
	"freegen -",
	"delete $SITE/copy.html",
	"purge",
	"filter",
	"verify",
	"verify --repair",
	"rebuild --scope host",
}

// TestJSONNames: every command that prints JSON prints objects, one per line, with names in snake case.
func TestJSONNames(t *testing.T) {
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/":
			fmt.Fprint(w, homePage)
		case "/mend.html", "/copy.html":
			fmt.Fprint(w, mendPage)
		case "/moved":
			http.Redirect(w, r, "/mend.html", http.StatusMovedPermanently)
		default:
			http.NotFound(w, r)
		}
	}))
	defer site.Close()
	dir := filepath.Join(t.TempDir(), "data")
	covered := jsonElsewhere
	other := filepath.Join(t.TempDir(), "other")
	seeds := strings.NewReader(site.URL)
	if status := run([]string{"inject", "--dir", other, "-"}, seeds, io.Discard, io.Discard); status != exitOK {
		t.Fatalf("inject into another directory: status %d", status)
	}
	for _, line := range jsonRuns {
		host := strings.TrimPrefix(site.URL, "http://")
		names := strings.NewReplacer("$SITE", site.URL, "$HOST", host, "$TMP", filepath.Dir(dir), "$OTHER", other)
		words := strings.Fields(names.Replace(line))
		if words[0] == "rebuild" { // which needs a directory that has lost its store
			if err := os.RemoveAll(filepath.Join(dir, "store")); err != nil {
				t.Fatal(err)
			}
		}
		cmd, _, err := newRoot(&console{}).Find(words)
		if err != nil {
			t.Fatal(err)
		}
		covered = append(covered, cmd.CommandPath())
		var out, problems strings.Builder
		status := run(append(words, "--json", "--dir", dir), strings.NewReader(site.URL), &out, &problems)
		if status != exitOK {
			t.Errorf("%s: status %d: %s", line, status, problems.String())
			continue
		}
		n := 0
		for d := json.NewDecoder(strings.NewReader(out.String())); ; n++ {
			var object map[string]any
			if err := d.Decode(&object); err == io.EOF {
				break
			} else if err != nil {
				t.Fatalf("%s: %v in %s", line, err, out.String())
			}
			checkJSONNames(t, line, object)
		}
		if n == 0 && line != "report traps" { // the site has none; TestJSONTags has the names
			t.Errorf("%s prints nothing", line)
		}
	}
	eachCommand(newRoot(&console{}), func(cmd *cobra.Command) {
		if path := cmd.CommandPath(); cmd.Flags().Lookup("json") != nil && !slices.Contains(covered, path) {
			t.Errorf("%s has --json: add it to jsonRuns", path)
		}
	})
}

// checkJSONNames checks the names of a value and of all that is in it.
func checkJSONNames(t *testing.T, where string, v any) {
	t.Helper()
	switch v := v.(type) {
	case []any:
		for _, e := range v {
			checkJSONNames(t, where, e)
		}
	case map[string]any:
		for name, e := range v {
			if inner, ok := e.(map[string]any); ok && slices.Contains(namedByData, name) {
				for _, e := range inner {
					checkJSONNames(t, where+": "+name, e)
				}
				continue
			}
			if !snakeCase.MatchString(name) {
				t.Errorf("%s prints %q, want snake case", where, name)
			}
			checkJSONNames(t, where+": "+name, e)
		}
	}
}

func eachCommand(cmd *cobra.Command, fn func(*cobra.Command)) {
	fn(cmd)
	for _, sub := range cmd.Commands() {
		eachCommand(sub, fn)
	}
}

// TestJSONColumns: the columns of CSV are named as the fields of JSON.
func TestJSONColumns(t *testing.T) {
	for _, c := range []struct {
		columns []string
		of      reflect.Type
	}{
		{engine.RecordColumns(), reflect.TypeFor[engine.RecordView]()},
		{engine.LinkColumns(), reflect.TypeFor[engine.InlinkView]()},
		{engine.ReportColumns(engine.ReportSeeds), reflect.TypeFor[engine.SeedRow]()},
		{engine.ReportColumns(engine.ReportHosts), reflect.TypeFor[engine.HostRow]()},
		{engine.ReportColumns(engine.ReportDomains), reflect.TypeFor[engine.GroupRow]()},
		{engine.ReportColumns(engine.ReportProtocols), reflect.TypeFor[engine.ProtocolRow]()},
		{engine.ReportColumns(engine.ReportComplete), reflect.TypeFor[engine.CompleteRow]()},
		{engine.ReportColumns(engine.ReportTypes), reflect.TypeFor[engine.TypeRow]()},
		{engine.ReportColumns(engine.ReportStatuses), reflect.TypeFor[engine.StatusRow]()},
		{engine.ReportColumns(engine.ReportFailures), reflect.TypeFor[engine.FailureRow]()},
		{engine.ReportColumns(engine.ReportTraps), reflect.TypeFor[engine.TrapRow]()},
	} {
		var names []string
		for f := range c.of.Fields() {
			name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
			names = append(names, name)
		}
		for _, column := range c.columns {
			if !slices.Contains(names, column) {
				t.Errorf("%s: JSON has no %q: it has %v", c.of, column, names)
			}
		}
	}
}

// TestJSONTags reads the tags of all types that are printed as JSON, also of what is left out when it is empty. Names
// are in snake case, a type has names for all its exported fields, and a duration that is not in seconds says its
// unit.
func TestJSONTags(t *testing.T) {
	types := 0
	for _, folder := range []string{"engine", "index", "storage", "cmd", "bench/simweb", "bench/measure"} {
		root := filepath.Join("..", "..", filepath.FromSlash(folder))
		err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
			switch { // these speak the JSON of others
			case err == nil && d.IsDir() && strings.HasSuffix(path, filepath.Join("engine", "parse")):
				return fs.SkipDir
			case strings.HasSuffix(path, filepath.Join("writers", "opensearch.go")),
				strings.HasSuffix(path, filepath.Join("writers", "solr.go")):
				return err
			}
			if err != nil || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
				return err
			}
			set := token.NewFileSet()
			file, err := parser.ParseFile(set, path, nil, parser.SkipObjectResolution)
			if err != nil {
				return err
			}
			ast.Inspect(file, func(n ast.Node) bool {
				if s, ok := n.(*ast.StructType); ok && checkJSONTags(t, set, s) {
					types++
				}
				return true
			})
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if types < 30 {
		t.Errorf("only %d types with names for JSON", types)
	}
}

// checkJSONTags checks a struct, and reports whether it has names for JSON.
func checkJSONTags(t *testing.T, set *token.FileSet, s *ast.StructType) bool {
	t.Helper()
	tag := func(f *ast.Field) (name string, has bool) {
		if f.Tag != nil {
			name, has = reflect.StructTag(strings.Trim(f.Tag.Value, "`")).Lookup("json")
		}
		name, _, _ = strings.Cut(name, ",")
		return name, has
	}
	if !slices.ContainsFunc(s.Fields.List, func(f *ast.Field) bool { _, has := tag(f); return has }) {
		return false
	}
	units := map[string]string{"time.Duration": "_ns", "Milliseconds": "_ms"}
	for _, f := range s.Fields.List {
		name, has := tag(f)
		switch unit := units[typeName(f.Type)]; {
		case len(f.Names) == 0 || name == "-" || !has && !f.Names[0].IsExported():
		case !has || !snakeCase.MatchString(name):
			t.Errorf("%s: %s has the name %q in JSON, want snake case", set.Position(f.Pos()), f.Names[0], name)
		case !strings.HasSuffix(name, unit):
			t.Errorf("%s: JSON has %s in another unit than seconds: let %q end in %s", set.Position(f.Pos()),
				f.Names[0], name, unit)
		}
	}
	return true
}

// typeName is the name of a type as it is written, "" for other types than named ones.
func typeName(x ast.Expr) string {
	switch x := x.(type) {
	case *ast.Ident:
		return x.Name
	case *ast.SelectorExpr:
		if of, ok := x.X.(*ast.Ident); ok {
			return of.Name + "." + x.Sel.Name
		}
	}
	return ""
}
