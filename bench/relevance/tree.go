// SPDX-License-Identifier: Apache-2.0

package relevance

import (
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/seine-crawler/seine/engine/parse"
	"github.com/seine-crawler/seine/storage"
	"github.com/seine-crawler/seine/storage/urlkey"
)

// Page is a page of a Tree.
type Page struct {
	URL         urlkey.URL
	Title, Text string
	Headings    []string            // as the index gets them after a crawl
	Content     []storage.TextRange // the main content, as parts of Text; none: all of it
	Language    string              // two letters; "" when unknown
	Links       []Link
	Size        int // bytes of the file
}

// Link is a link of a page: the target without its fragment, and the text.
type Link struct{ Target, Anchor string }

// Tree is the pages of a folder of HTML files, in the order of their URLs' keys.
type Tree struct{ Pages []Page }

// TreeHost is the host of all pages of a Tree; a page's path is that of its file below the root.
const TreeHost = "manuals.example"

const maxTreeFile = 4 << 20 // bytes of a file; a larger one is left out

// ReadTree parses the HTML files below folders of a root, without following symbolic links. keep, if not nil, says by a
// slash-separated path below the root which files are read. Files with the same text are read once: packages hold
// copies.
func ReadTree(root string, keep func(path string) bool, folders ...string) (t Tree, err error) {
	parsers := parse.New(parse.Options{})
	var page parse.Page
	seen := map[string]bool{}
	visit := func(name string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() || !isHTML(name) {
			return err
		}
		rel, err := filepath.Rel(root, name)
		if err != nil {
			return err
		}
		rel = filepath.ToSlash(rel)
		if keep != nil && !keep(rel) {
			return nil
		}
		body, err := os.ReadFile(name)
		if err != nil || len(body) > maxTreeFile {
			return err
		}
		u, err := urlkey.Parse("http://" + TreeHost + "/" + rel)
		if err != nil {
			return nil // a name that is no URL
		}
		if err := parsers.Parse(&parse.Input{URL: u, ContentType: "text/html", Body: body}, &page); err != nil {
			return fmt.Errorf("parsing %s: %w", name, err)
		}
		if text := string(page.Text); text != "" && !seen[text] {
			seen[text] = true
			p := pageOf(u, text, &page)
			p.Size = len(body)
			t.Pages = append(t.Pages, p)
		}
		return nil
	}
	for _, f := range folders {
		if err := filepath.WalkDir(filepath.Join(root, f), visit); err != nil {
			return t, fmt.Errorf("pages below %s: %w", f, err)
		}
	}
	slices.SortFunc(t.Pages, func(a, b Page) int { return strings.Compare(string(a.URL.Key()), string(b.URL.Key())) })
	return t, nil
}

func isHTML(name string) bool {
	ext := strings.ToLower(path.Ext(name))
	return ext == ".html" || ext == ".htm" || ext == ".xhtml"
}

// pageOf copies what is kept of a parsed page.
func pageOf(u urlkey.URL, text string, p *parse.Page) Page {
	out := Page{
		URL: u, Title: strings.Clone(p.Title), Headings: p.AppendHeadings(nil), Text: text,
		Language: strings.Clone(p.Language),
	}
	if len(out.Language) > 2 {
		out.Language = out.Language[:2]
	}
	for _, b := range p.Blocks {
		if b.Content {
			out.Content = append(out.Content, storage.TextRange{From: uint32(b.From), To: uint32(b.To)})
		}
	}
	for _, l := range p.Outlinks {
		target, _, _ := strings.Cut(l.URL.String(), "#")
		if strings.HasSuffix(target, "/") {
			target += "index.html"
		}
		if l.Anchor != "" && strings.HasPrefix(target, "http://"+TreeHost+"/") {
			out.Links = append(out.Links, Link{target, strings.Clone(l.Anchor)})
		}
	}
	return out
}
