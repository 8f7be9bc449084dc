// SPDX-License-Identifier: Apache-2.0

package relevance

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestQuestions: forty questions, ten in each of four languages, none twice.
func TestQuestions(t *testing.T) {
	list, err := Questions()
	if err != nil {
		t.Fatal(err)
	}
	each, seen := map[string]int{}, map[string]bool{}
	for _, q := range list {
		each[q.Language]++
		if seen[q.Text] {
			t.Errorf("%q is there twice", q.Text)
		}
		seen[q.Text] = true
	}
	for _, language := range []string{"en", "de", "fr", "ja"} {
		if each[language] != 10 {
			t.Errorf("%d questions in %s, want 10", each[language], language)
		}
	}
	if len(list) != 40 {
		t.Errorf("%d questions, want 40", len(list))
	}
}

func TestReadQuestionsRefuses(t *testing.T) {
	for _, line := range []string{"en\tno answer", "en\tblank answer\t ", "eng\tlong language\tx", "en\t\tx", "word"} {
		if list, err := readQuestions(line); err == nil {
			t.Errorf("%q is read as %v, want an error", line, list)
		}
	}
}

// TestTree reads a small site: links between pages, copies, and texts of links as known items.
func TestTree(t *testing.T) {
	root := t.TempDir()
	write := func(name, body string) {
		t.Helper()
		name = filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(body), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	write("doc/index.html", `<title>Index</title><p>All chapters. <a href="a.html">The first chapter</a>
		<a href="b/">The second chapter</a> <a href="a.html">ambiguous text</a> 
		<a href="gone.html">A page that is gone</a>`)
	write("doc/a.html", `<title>A</title><p>Apples grow on trees. <a href="b/index.html#x">ambiguous text</a>`)
	write("doc/b/index.html", `<title>B</title><p>Bananas grow on plants. <a href="../a.html">The first chapter</a>`)
	write("doc/copy.html", `<title>A</title><p>Apples grow on trees. <a href="b/index.html#x">ambiguous text</a>`)
	write("other/c.html", `<title>C</title><p>Not below the folder.`)
	tree, err := ReadTree(root, nil, "doc")
	if err != nil {
		t.Fatal(err)
	}
	if len(tree.Pages) != 3 {
		t.Fatalf("%d pages, want 3: %+v", len(tree.Pages), tree.Pages)
	}
	const a, b = "http://manuals.example/doc/a.html", "http://manuals.example/doc/b/index.html"
	items := map[string]string{}
	for _, i := range tree.KnownItems(10, 1) {
		items[i.Query] = i.URL
	}
	if len(items) != 2 || items["the first chapter"] != a || items["the second chapter"] != b {
		t.Errorf("known items %v, want the links to the first and second chapter", items)
	}
	anchors, pages := tree.Inlinks(nil)
	if pages[a] != 2 || pages[b] != 2 || strings.Join(anchors[a], "|") != "The first chapter|ambiguous text" {
		t.Errorf("inlinks %v of %v", anchors, pages)
	}
	if anchors, _ = tree.Inlinks(tree.KnownItems(10, 1)); strings.Join(anchors[a], "|") != "ambiguous text" {
		t.Errorf("inlinks without the drawn ones: %v", anchors[a])
	}
}
