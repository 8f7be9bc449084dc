// SPDX-License-Identifier: Apache-2.0

package parse_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/seine-crawler/seine/engine/parse"
)

var rewrite = flag.Bool("rewrite", false, "write the golden files")

// printable is the part of a page that a golden file shows.
type printable struct {
	Base, Canonical, MediaType, Charset, Language string
	Title, Description, Keywords                  string
	Headings, Text                                []string // lines
	Links                                         []string
	LinksDropped                                  int
	Robots                                        parse.RobotsFlags
	Refresh                                       string
	Truncated                                     bool
}

func show(p *parse.Page) printable {
	out := printable{
		Base: p.Base.String(), Canonical: p.Canonical.String(),
		MediaType: p.MediaType, Charset: p.Charset, Language: p.Language,
		Title: p.Title, Description: p.Description, Keywords: p.Keywords,
		Headings: p.AppendHeadings(nil), Text: strings.Split(string(p.Text), "\n"),
		LinksDropped: p.LinksDropped, Robots: p.Robots, Truncated: p.Truncated,
	}
	for _, l := range p.Outlinks {
		line := l.Kind.String() + " " + l.URL.String() + " | " + l.Anchor
		if l.NoFollow {
			line += " | nofollow"
		}
		out.Links = append(out.Links, line)
	}
	if p.Refresh != nil {
		out.Refresh = fmt.Sprintf("%s after %s", p.Refresh.URL, p.Refresh.Delay)
	}
	return out
}

// TestGolden parses testdata/html/*.html and compares the pages with the .json files next to them.
func TestGolden(t *testing.T) {
	files, err := filepath.Glob("testdata/html/*.html")
	if err != nil || len(files) == 0 {
		t.Fatalf("no golden files: %v", err)
	}
	parsers := parse.New(parse.Options{})
	var page parse.Page // reused for every file
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			body, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			before := bytes.Clone(body)
			in := htmlInput(mustURL(t, "https://example.org/dir/page.html"), body)
			in.Agent = "testbot"
			if err := parsers.Parse(in, &page); err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(before, body) {
				t.Error("the input was written to")
			}
			var out bytes.Buffer
			encoder := json.NewEncoder(&out)
			encoder.SetIndent("", "\t")
			encoder.SetEscapeHTML(false)
			if err := encoder.Encode(show(&page)); err != nil {
				t.Fatal(err)
			}
			got := out.Bytes()
			golden := strings.TrimSuffix(file, ".html") + ".json"
			if *rewrite {
				if err := os.WriteFile(golden, got, 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			want, err := os.ReadFile(golden)
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(string(want), string(got)); d != "" {
				t.Errorf("-want +got (if the change is intended, run the test with -rewrite):\n%s", d)
			}
		})
	}
}
