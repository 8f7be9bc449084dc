// SPDX-License-Identifier: Apache-2.0

package warc

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// TestParts: whatever the sizes, the times and the ends of parts, the parts that EndPart returns cover every file from
// its beginning to its end, each part begins with a warcinfo record that has its fields, and holds its exchanges.
func TestParts(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		fs := newMemFS()
		o := testOptions(fs)
		o.MaxFileBytes = rapid.Int64Range(1, 8000).Draw(rt, "max bytes")
		o.MaxFileAge = time.Hour
		now := testTime
		o.Now = func() time.Time { return now }
		w, err := NewWriter(o)
		if err != nil {
			rt.Fatal(err)
		}
		type stored struct {
			part  int
			files []FileInfo
			uris  []string
		}
		var all []stored
		for part := range rapid.IntRange(1, 6).Draw(rt, "parts") {
			prefix := fmt.Sprintf("t-%d", part)
			if err := w.BeginPart(prefix, Field{"part", fmt.Sprint(part)}); err != nil {
				rt.Fatal(err)
			}
			p := stored{part: part}
			for i := range rapid.IntRange(0, 8).Draw(rt, "exchanges") {
				if rapid.IntRange(0, 9).Draw(rt, "an hour passes") == 0 {
					now = now.Add(time.Hour)
				}
				x := testExchange(100*part + i)
				if _, err := w.WriteExchange(x); err != nil {
					rt.Fatal(err)
				}
				p.uris = append(p.uris, x.URI)
			}
			p.files = w.EndPart()
			all = append(all, p)
		}
		files, err := w.Close()
		if err != nil {
			rt.Fatal(err)
		}
		var parts []FileInfo
		for _, p := range all {
			parts = append(parts, p.files...)
			var uris []string
			for _, f := range p.files {
				data := fs.files["data/warc/"+f.Name].data
				n := int64(0)
				for _, rec := range readAll(t, data, f.Name) {
					if rec.Offset < f.Start || rec.Offset >= f.Start+f.Size {
						continue
					}
					if n++; n == 1 != (rec.Type == TypeWarcinfo) {
						rt.Fatalf("record %d of part %d is a %s", n, p.part, rec.Type)
					}
					if n == 1 && !strings.Contains(string(rec.Block), fmt.Sprintf("part: %d\r\n", p.part)) {
						rt.Fatalf("part %d begins with %q", p.part, rec.Block)
					}
					if rec.Type == TypeResponse {
						uris = append(uris, rec.URI)
					}
				}
				if f.Records != n {
					rt.Fatalf("%+v has %d records", f, n)
				}
				if f.Start == 0 && !strings.HasPrefix(f.Name, fmt.Sprintf("t-%d-", p.part)) {
					rt.Fatalf("part %d begins %s", p.part, f.Name)
				}
			}
			if !slices.Equal(uris, p.uris) {
				rt.Fatalf("part %d has %q, want %q", p.part, uris, p.uris)
			}
		}
		for _, f := range files {
			end := int64(0)
			for _, p := range parts {
				if p.Name == f.Name {
					if p.Start != end {
						rt.Fatalf("%+v begins where %d bytes were told: %+v", p, end, parts)
					}
					end += p.Size
				}
			}
			if end != f.Size {
				rt.Fatalf("%+v: its parts have %d bytes", f, end)
			}
		}
	})
}

// TestPartsShareFiles: parts that are small and follow one another fill files, and age ends a file too.
func TestPartsShareFiles(t *testing.T) {
	for name, c := range map[string]struct {
		max  int64
		age  time.Duration
		want int
	}{"all": {1 << 20, 0, 1}, "by size": {20_000, 0, 0}, "by age": {1 << 20, 10 * time.Minute, 10}} {
		fs := newMemFS()
		o := testOptions(fs)
		o.MaxFileBytes, o.MaxFileAge = c.max, c.age
		now := testTime
		o.Now = func() time.Time { return now }
		w, err := NewWriter(o)
		if err != nil {
			t.Fatal(err)
		}
		for part := range 100 {
			if err := w.BeginPart(fmt.Sprintf("t-%d", part)); err != nil {
				t.Fatal(err)
			}
			if _, err := w.WriteExchange(testExchange(part)); err != nil {
				t.Fatal(err)
			}
			now = now.Add(time.Minute)
			if got := w.EndPart(); len(got) != 1 {
				t.Fatalf("%s: part %d: %+v", name, part, got)
			}
		}
		files := mustClose(t, w)
		total := int64(0)
		for _, f := range files {
			total += f.Size
		}
		if c.age == 0 {
			c.want = int((total + c.max - 1) / c.max)
		}
		if len(files) != c.want {
			t.Errorf("%s: %d files of %d bytes, want %d", name, len(files), total, c.want)
		}
	}
}

// TestNextFile: a file that is asked to end gets nothing more, in the middle of a part too, and is held as long as the
// part lasts.
func TestNextFile(t *testing.T) {
	w := testWriter(t, newMemFS())
	defer mustClose(t, w)
	w.NextFile() // there is none
	store := func() {
		if _, err := w.WriteExchange(testExchange(1)); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.BeginPart("a"); err != nil {
		t.Fatal(err)
	}
	store()
	w.NextFile()
	store()
	store()
	if got := w.Held(); !slices.Equal(got, []string{"a-00000.warc.gz", "a-00001.warc.gz"}) {
		t.Errorf("held: %q", got)
	}
	if got := w.EndPart(); len(got) != 2 || got[0].Records != 3 || got[1].Records != 5 {
		t.Errorf("%+v", got)
	}
	if got := w.Held(); !slices.Equal(got, []string{"a-00001.warc.gz"}) {
		t.Errorf("held after the part: %q", got)
	}
}

// TestPartOrder: a part within a part, and one with a bad name, is refused.
func TestPartOrder(t *testing.T) {
	w := testWriter(t, newMemFS())
	defer mustClose(t, w)
	for _, prefix := range []string{"", "a/b"} {
		if err := w.BeginPart(prefix); err == nil {
			t.Errorf("prefix %q is taken", prefix)
		}
	}
	if err := w.BeginPart("a"); err != nil {
		t.Fatal(err)
	}
	if err := w.BeginPart("b"); err == nil {
		t.Error("a part is begun within another")
	}
	if got := w.EndPart(); got != nil {
		t.Errorf("an empty part is in %+v", got)
	}
}
