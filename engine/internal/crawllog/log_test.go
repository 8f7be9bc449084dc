// SPDX-License-Identifier: Apache-2.0

package crawllog

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

var begun = time.Date(2026, 1, 2, 3, 4, 5, 6_700_000, time.UTC)

// sample is an entry with all fields, hostile is one that tries to forge lines.
func sample() Entry {
	return Entry{
		Time: begun, Took: 225 * time.Millisecond, URL: "http://a.example/x", Outcome: "fetch_success", HTTPStatus: 200,
		Code: 200, Bytes: 1299, HopPath: "LR", Via: "http://a.example/", MediaType: "text/html", Digest: new([20]byte),
		Redirect: "http://a.example/y", Truncated: "time", Tries: 2, Segment: 7,
	}
}

func hostile() Entry {
	const evil = "x\" y\n2026-01-01T00:00:00.000Z   200 -\r\x1b]0;t\a\u0085\u2028\xff\\"
	return Entry{Time: begun, URL: evil, Outcome: evil, Code: -3, Failure: evil, HopPath: evil, Via: evil,
		MediaType: evil, Redirect: evil, Truncated: evil}
}

func TestLines(t *testing.T) {
	e := sample()
	const zero = "sha1:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"
	if got, want := string(JSON.append(nil, &e)), `{"time":"2026-01-02T03:04:05.006Z","url":"http://a.example/x",`+
		`"status":"fetch_success","http_status":200,"code":200,"bytes":1299,"took_ms":225,"hop_path":"LR",`+
		`"via":"http://a.example/","media_type":"text/html","redirect":"http://a.example/y","truncated":"time",`+
		`"digest":"`+zero+`","tries":3,"segment":7}`+"\n"; got != want {
		t.Errorf("%s\nwant %s", got, want)
	}
	if got, want := string(Heritrix.append(nil, &e)),
		"2026-01-02T03:04:05.231Z   200       1299 http://a.example/x LR "+
			"http://a.example/ text/html #000 20260102030405006+225 "+zero+" - 3t,timeTrunc\n"; got != want {
		t.Errorf("%s\nwant %s", got, want)
	}
	e = Entry{Time: begun, URL: "http://a.example/robbed", Code: -9998, Failure: "robots_denied"}
	if got, want := string(Heritrix.append(nil, &e)), "2026-01-02T03:04:05.006Z -9998          - "+
		"http://a.example/robbed - - no-type #000 20260102030405006+0 - - robots_denied\n"; got != want {
		t.Errorf("%s\nwant %s", got, want)
	}
}

// TestHostileLines: texts from servers end no line, begin no field and command no terminal.
func TestHostileLines(t *testing.T) {
	e := hostile()
	for _, f := range []Format{JSON, Heritrix} {
		line := string(f.append(nil, &e))
		body, ok := strings.CutSuffix(line, "\n")
		evil := func(r rune) bool { return r < ' ' || r >= 0x7f && r < 0xa0 || r == 0x2028 }
		if !ok || strings.ContainsFunc(body, evil) {
			t.Errorf("%s: %q", f, line)
		}
		if _, at, ok := f.read([]byte(line)); !ok || !at.Equal(begun.Truncate(time.Millisecond)) {
			t.Errorf("%s reads %v, %t of %q", f, at, ok, line)
		}
	}
	var back struct {
		URL, Via string
	}
	if err := json.Unmarshal(JSON.append(nil, &e), &back); err != nil ||
		back.URL != strings.ToValidUTF8(e.URL, "\ufffd") || back.Via != back.URL {
		t.Errorf("%q, %v", back, err)
	}
	if n := len(strings.Fields(string(Heritrix.append(nil, &e)))); n != heritrixFields {
		t.Errorf("%d fields", n)
	}
}

func write(t *testing.T, l *Log, entries ...Entry) {
	t.Helper()
	if err := l.Write(entries); err != nil {
		t.Fatal(err)
	}
}

func openLog(t *testing.T, o Options) *Log {
	t.Helper()
	l, err := Open(o)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func content(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// TestRotation: files are renamed when they are full, keep their order, and only the newest stay.
func TestRotation(t *testing.T) {
	e := sample()
	line := int64(len(JSON.append(nil, &e)))
	path := filepath.Join(t.TempDir(), "logs", "crawl.log")
	o := Options{Path: path, Format: JSON, MaxBytes: 2*line + 1}
	l := openLog(t, o)
	write(t, l, slices.Repeat([]Entry{e}, 5)...)
	write(t, l, e)
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{".00001", ".00002", ""} {
		if n := strings.Count(content(t, path+name), "\n"); n != 2 {
			t.Errorf("%s has %d lines, want 2", name, n)
		}
	}
	o.Keep = 1
	l = openLog(t, o)
	write(t, l, e)
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	left, _ := filepath.Glob(path + ".*")
	if !slices.Equal(left, []string{path + ".00003"}) || strings.Count(content(t, path), "\n") != 1 {
		t.Errorf("left %v", left)
	}
	if err := l.Write([]Entry{e}); err == nil {
		t.Error("a closed log takes lines")
	}
}

// TestGoesOn: a log that could not begin a new file takes lines again once that is mended.
func TestGoesOn(t *testing.T) {
	e := sample()
	line := string(JSON.append(nil, &e))
	path := filepath.Join(t.TempDir(), strings.Repeat("x", 252)) // with a number behind it, the name is too long
	l := openLog(t, Options{Path: path, Format: JSON, MaxBytes: int64(len(line))})
	write(t, l, e)
	for range 2 {
		if err := l.Write([]Entry{e}); err == nil {
			t.Fatal("the file was renamed")
		}
	}
	if err := errors.Join(l.Sync(), os.Truncate(path, 0)); err != nil {
		t.Fatal(err)
	}
	write(t, l, e)
	if err := l.Close(); err != nil || content(t, path) != line {
		t.Errorf("the log has %q, %v", content(t, path), err)
	}
}

// TestTornLine: what a crash left of a line is cut off, and a log of another format is put aside.
func TestTornLine(t *testing.T) {
	e := sample()
	line := string(JSON.append(nil, &e))
	path := filepath.Join(t.TempDir(), "crawl.log")
	for _, torn := range []string{"", line[:20], "{" + strings.Repeat("x", 200_000)} {
		if err := os.WriteFile(path, []byte(line+torn), 0o644); err != nil {
			t.Fatal(err)
		}
		l := openLog(t, Options{Path: path, Format: JSON})
		write(t, l, e)
		if err := l.Close(); err != nil || content(t, path) != line+line {
			t.Errorf("after %d bytes of a line: %q, %v", len(torn), content(t, path), err)
		}
	}
	l := openLog(t, Options{Path: path, Format: Heritrix})
	write(t, l, e)
	if err := l.Close(); err != nil || content(t, path+".00001") != line+line ||
		content(t, path) != string(Heritrix.append(nil, &e)) {
		t.Errorf("%q, %v", content(t, path), err)
	}
}

// TestFileOfOthers: a file that ends with something else than a part of a line is not cut off.
func TestFileOfOthers(t *testing.T) {
	path := filepath.Join(t.TempDir(), "notes")
	for _, format := range []Format{JSON, Heritrix} {
		if err := os.WriteFile(path, []byte("my notes"), 0o644); err != nil {
			t.Fatal(err)
		}
		if _, err := Open(Options{Path: path, Format: format}); err == nil || content(t, path) != "my notes" {
			t.Errorf("%s: %q, %v", format, content(t, path), err)
		}
	}
}

// TestSince: what was written is found again, also in files that were renamed, and nothing older.
func TestSince(t *testing.T) {
	for _, f := range []Format{JSON, Heritrix} {
		path := filepath.Join(t.TempDir(), "crawl.log")
		l := openLog(t, Options{Path: path, Format: f, MaxBytes: 1})
		for i := range 6 {
			e := sample()
			e.Time = begun.Add(time.Duration(i) * time.Second)
			write(t, l, e)
		}
		var got []int
		err := l.Since(begun.Add(2*time.Second-time.Millisecond), func(url string, at time.Time) {
			if url != "http://a.example/x" {
				t.Errorf("%s: %s", f, url)
			}
			got = append(got, int(at.Sub(begun.Truncate(time.Millisecond))/time.Second))
		})
		slices.Sort(got)
		if err != nil || !slices.Equal(got, []int{2, 3, 4, 5}) {
			t.Errorf("%s: %v, %v", f, got, err)
		}
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	}
}

// TestOthersRotate: what other programs do with the file costs no line that comes after it.
func TestOthersRotate(t *testing.T) {
	e := sample()
	line := string(JSON.append(nil, &e))
	for name, rotate := range map[string]func(path string) error{
		"renamed":             func(path string) error { return os.Rename(path, path+".1") },
		"removed":             os.Remove,
		"cut off":             func(path string) error { return os.Truncate(path, 0) },
		"replaced":            replace,
		"removed with folder": func(path string) error { return os.RemoveAll(filepath.Dir(path)) },
	} {
		path := filepath.Join(t.TempDir(), "logs", "crawl.log")
		l, err := Open(Options{Path: path, Format: JSON, MaxBytes: 2 * int64(len(line))})
		if err != nil {
			t.Fatal(err)
		}
		write := func() {
			t.Helper()
			if err := l.Write([]Entry{e}); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
		write()
		if err := rotate(path); err != nil {
			t.Fatal(err)
		}
		for range 3 { // the third is beyond MaxBytes
			write()
		}
		for path, want := range map[string]string{path + ".00001": line + line, path: line} {
			if got, err := os.ReadFile(path); string(got) != want || err != nil {
				t.Errorf("%s: %s has %q, %v", name, path, got, err)
			}
		}
		seen, want := 0, 3
		if name == "renamed" || name == "replaced" { // the first line is still there
			want = 4
		}
		if err := l.Since(begun.Add(-time.Hour), func(string, time.Time) { seen++ }); err != nil || seen != want {
			t.Errorf("%s: Since finds %d lines, %v", name, seen, err)
		}
		if err := l.Close(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// replace puts an empty file in the place of one.
func replace(path string) error {
	return errors.Join(os.Rename(path, path+"-20260102"), os.WriteFile(path, nil, 0o644))
}
