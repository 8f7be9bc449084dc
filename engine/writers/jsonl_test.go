// SPDX-License-Identifier: Apache-2.0

package writers

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/seine-crawler/seine/engine/policy"
	"github.com/seine-crawler/seine/storage"
)

// TestJSONLines: lines are appended, and what a crash left of a line is removed, wherever it cut the file off.
func TestJSONLines(t *testing.T) {
	path := filepath.Join(t.TempDir(), "pages.jsonl")
	w, err := Parse("jsonl="+path, Options{})
	if err != nil {
		t.Fatal(err)
	}
	write := func(list []policy.IndexChange) string {
		t.Helper()
		if refused, err := w.Write(background, list); err != nil || len(refused) > 0 {
			t.Fatal(refused, err)
		}
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	first := write(changes(1, "http://a/", "http://b/?x=<&>"))
	if n := strings.Count(first, "\n"); n != 2 || !strings.Contains(first, `"url":"http://b/?x=<&>"`) {
		t.Fatal(first)
	}
	second := write(deletions(2, "http://a/"))
	if second != first+`{"id":"http://a/","version":2,"deleted":true}`+"\n" {
		t.Fatal(second)
	}
	for cut := len(first); cut < len(second); cut++ {
		if err := os.WriteFile(path, []byte(second[:cut]), 0o644); err != nil {
			t.Fatal(err)
		}
		if again := write(deletions(2, "http://a/")); again != second {
			t.Fatalf("cut at %d: %s", cut, again)
		}
	}
	for _, torn := range []string{lineBegin + strings.Repeat("x", 200_000), strings.Repeat("\x00", 200_000)} {
		if err := os.WriteFile(path, []byte(torn), 0o644); err != nil {
			t.Fatal(err)
		}
		if got := write(deletions(2, "a")); len(got) > 100 {
			t.Errorf("%.100s", got)
		}
	}
	if err := w.Commit(background); err != nil {
		t.Error(err)
	}
	for _, wrong := range []string{"/dev/null", filepath.Dir(path)} {
		w, err := Parse("jsonl="+wrong, Options{})
		if err == nil {
			_, err = w.Write(background, deletions(1, "a"))
		}
		if err == nil {
			t.Error(wrong)
		}
	}
}

// TestJSONLinesOfOthers: a file that ends with something else than a line of ours loses nothing.
func TestJSONLinesOfOthers(t *testing.T) {
	path := filepath.Join(t.TempDir(), "notes")
	for _, text := range []string{"notes", "a line\nand the next", "{", `{"url":"http://a/"}`} {
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		w, err := Parse("jsonl="+path, Options{})
		if err != nil {
			t.Fatal(err)
		}
		_, err = w.Write(background, deletions(1, "a"))
		now, readErr := os.ReadFile(path)
		if readErr != nil {
			t.Fatal(readErr)
		}
		if ours := text == "{"; ours != (err == nil) || !ours && string(now) != text {
			t.Errorf("%q became %q: %v", text, now, err)
		}
	}
}

// TestDocument: every field arrives, under the name that README lists, as valid UTF-8.
func TestDocument(t *testing.T) {
	d := policy.IndexDocument{
		URL: "http://h/shown", Host: "h", Title: "a\xff<b>", Text: "one two", Content: "two",
		Anchors: []string{"x", "y"}, Language: "de", Type: "text/html", Date: time.UnixMilli(1),
		FetchTime: time.UnixMilli(2), Segment: 3, Digest: "0f", Boost: 2.5,
		Stored: []storage.Field{{Name: "tag", Value: "1"}, {Name: "author", Value: "A"}, {Name: "tag", Value: "2"}},
	}
	long := "http://h/" + strings.Repeat("x", 600)
	got := AppendJSON(nil, &policy.IndexChange{ID: "http://h/", Version: 9, Document: &d})
	want := `{"id":"http://h/","version":9,"url":"http://h/shown","host":"h","title":"a\ufffd<b>","content":"two",` +
		`"text":"one two","anchors":["x","y"],"language":"de","type":"text/html","date":"1970-01-01T00:00:00.001Z",` +
		`"fetched":"1970-01-01T00:00:00.002Z","segment":3,"digest":"0f","boost":2.5,"stored_tag":["1","2"],` +
		`"stored_author":"A"}`
	if string(got) != want {
		t.Errorf("\n%s\n%s", got, want)
	}
	if !utf8.Valid(got) || !json.Valid(got) {
		t.Error("no UTF-8, or no JSON")
	}
	if a, b := documentID(long), documentID(long+"y"); len(a) > idBytes || a == b {
		t.Error(a, b)
	}
}
