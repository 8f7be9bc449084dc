// SPDX-License-Identifier: Apache-2.0

package warc

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var rewrite = flag.Bool("rewrite", false, "write golden files and verdict tables anew")

// TestSamples reads WARC files of many tools, some of them damaged, and compares the result of each with a table:
// records, why reading ended, how much is good, and how many digests differ.
//
//	SEINE_CONFORMANCE_DATA=… go test ./storage/warc -run Samples
func TestSamples(t *testing.T) {
	data := os.Getenv("SEINE_CONFORMANCE_DATA")
	if data == "" {
		t.Skip("SEINE_CONFORMANCE_DATA is not set: it names the folder with warc/samples.tar.xz")
	}
	dir := t.TempDir()
	tar := exec.Command("tar", "xJf", filepath.Join(data, "warc", "samples.tar.xz"), "-C", dir)
	if out, err := tar.CombinedOutput(); err != nil {
		t.Fatalf("unpacking the samples: %v: %s", err, out)
	}
	var table strings.Builder
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		name, _ := filepath.Rel(dir, path)
		fmt.Fprintf(&table, "%s: %s\n", filepath.ToSlash(name), verdictOf(t, path))
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	const golden = "testdata/samples.verdicts"
	if *rewrite {
		if err := os.WriteFile(golden, []byte(table.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), table.String()); diff != "" {
		t.Errorf("verdicts changed (-rewrite accepts them):\n%s", diff)
	}
}

// verdictOf reads a file to its end, past damage if possible, and describes it in one line.
func verdictOf(t *testing.T, path string) string {
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		t.Fatal(err)
	}
	r := NewReaderOptions(&strictAt{t, f, info.Size()}, info.Size(), ReaderOptions{Resync: true})
	records, badDigests, addressable := 0, 0, true
	var damage []string
	for {
		rec, err := r.Next()
		var corrupt *CorruptError
		switch {
		case err == nil:
			records++
			if rec.CheckDigests() != nil {
				badDigests++
			}
			if rec.Length == 0 {
				addressable = false
			} else if again, err := ReadAt(f, info.Size(), rec.Location); err != nil {
				t.Errorf("%s: record at %d cannot be read by itself: %v", path, rec.Offset, err)
			} else if !bytes.Equal(rec.Block, again.Block) || !slices.Equal(rec.Header, again.Header) {
				t.Errorf("%s: record at %d differs when read by itself", path, rec.Offset)
			}
			continue
		case errors.As(err, &corrupt) && r.err == nil:
			damage = append(damage,
				fmt.Sprintf("corrupt at %d (%s), next %d", corrupt.Offset, corrupt.Reason, corrupt.Next))
			continue
		case errors.As(err, &corrupt):
			damage = append(damage, fmt.Sprintf("corrupt at %d (%s)", corrupt.Offset, corrupt.Reason))
		case errors.Is(err, ErrTorn):
			damage = append(damage, fmt.Sprintf("torn, %d of %d bytes good", r.Valid(), info.Size()))
		case err != io.EOF:
			t.Errorf("%s: %v", path, err)
		}
		break
	}
	s := fmt.Sprintf("%d records", records)
	if !addressable {
		s += ", several in one member"
	}
	if badDigests > 0 {
		s += fmt.Sprintf(", %d digests differ", badDigests)
	}
	if len(damage) == 0 {
		return s + ", readable"
	}
	return s + ", " + strings.Join(damage, "; ")
}

// strictAt makes the test fail if it is read outside of the file.
type strictAt struct {
	t    testing.TB
	r    io.ReaderAt
	size int64
}

func (s *strictAt) ReadAt(p []byte, off int64) (int, error) {
	if off < 0 || off+int64(len(p)) > s.size {
		s.t.Errorf("read of %d bytes at %d, outside of %d", len(p), off, s.size)
	}
	return s.r.ReadAt(p, off)
}
