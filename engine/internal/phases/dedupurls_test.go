// SPDX-License-Identifier: Apache-2.0

package phases

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/seine-crawler/seine/engine/internal/admission"
	"github.com/seine-crawler/seine/engine/policy"
	"github.com/seine-crawler/seine/storage/urlkey"
)

// TestClassify: each line is in one list, whatever its spelling, and as it was given.
func TestClassify(t *testing.T) {
	w := newWorld(t, admission.Options{Filters: policy.URLFilters{refusing}})
	defer w.close()
	w.inject(hostA)
	before := w.dump()
	var known, fresh, duplicates, refused bytes.Buffer
	r, err := w.p.Classify(context.Background(), URLLists{
		Lines: []string{hostB + "\tk=v", "# none", ""},
		Sources: []SeedFile{{Reader: strings.NewReader(
			"  " + hostA + "#x\r\n" + hostW + "\nb.example.com\n" + strings.ToUpper(hostB) + "\n" + hostA +
				"\nno url\n" + hostB + "refused\nhttp://b.example.com/x y=z",
		)}},
		Known: &known, New: &fresh, Duplicates: &duplicates, Refused: &refused,
	})
	if err != nil || r.Lines != 9 || r.Malformed != 2 || r.Filtered != 1 || len(r.Examples) != 3 {
		t.Fatalf("%+v %v", r, err)
	}
	got := fmt.Sprintf("known\n%snew\n%sduplicates\n%s", &known, &fresh, &duplicates)
	sorted := func(lines ...string) string {
		slices.SortStableFunc(lines, func(a, b string) int {
			x, _, _ := ParseSeed(strings.SplitN(a, "\t", 2)[0])
			y, _, _ := ParseSeed(strings.SplitN(b, "\t", 2)[0])
			return strings.Compare(string(x.Key()), string(y.Key()))
		})
		return strings.Join(lines, "\n") + "\n"
	}
	want := "known\n" + sorted(hostA+"#x") + "new\n" + sorted(hostB+"\tk=v", hostW, "b.example.com") +
		"duplicates\n" + sorted(strings.ToUpper(hostB), hostA)
	if got != want {
		t.Errorf("%s\nwant %s", got, want)
	}
	n := strings.Count(refused.String(), "malformed\t") + strings.Count(refused.String(), "refused\n")
	if n != 3 {
		t.Errorf("refused: %q", refused.String())
	}
	if w.dump() != before {
		t.Error("the store changed")
	}
}

// TestSeedFieldsAgree: whatever follows the TAB of a seed line, Classify calls new what Inject makes a record of, and
// FreeGenerate takes the same lines.
func TestSeedFieldsAgree(t *testing.T) {
	lines := []string{
		"", "\tbad", "\tk=v", "\t\tk=", "\tnutch.score=abc", "\tnutch.score=NaN", "\tnutch.score=1e400",
		"\tnutch.score=-1", "\tnutch.score=0.5\tk=v", "\tnutch.fetchInterval=-5", "\tnutch.fetchInterval=1.5",
		"\tnutch.fetchInterval=0", "\tnutch.fetchInterval=60", "\t" + policy.MetaRedirectURL + "=x",
	}
	for _, fields := range lines {
		w := newWorld(t, admission.Options{})
		line := hostA + fields
		var fresh, refused bytes.Buffer
		r, err := w.p.Classify(context.Background(), URLLists{Lines: []string{line}, New: &fresh, Refused: &refused})
		f, freed := w.p.FreeGenerate(context.Background(), FreeList{Lines: []string{line}})
		in, injected := w.p.Inject(context.Background(), InjectOptions{URLs: []string{line}})
		if err != nil || injected != nil || (freed == nil) != (in.New == 1) {
			t.Fatalf("%q: %v, %v, %v", line, err, freed, injected)
		}
		if r.New != in.New || r.Malformed != in.Malformed || f.Malformed != in.Malformed || f.Selected != in.New {
			t.Errorf("%q: inject %d new, %d malformed; dedup-urls %d, %d; freegen %d, %d",
				line, in.New, in.Malformed, r.New, r.Malformed, f.Selected, f.Malformed)
		}
		if want := "malformed\t" + line + "\n"; r.New == 0 && (refused.String() != want || fresh.Len() > 0) {
			t.Errorf("%q: new %q, refused %q", line, &fresh, &refused)
		}
		w.close()
	}
}

// TestClassifyRefused: the list of refused lines has each line whole, and says so of those that it cuts: lines that are
// longer than a seed line, and longer than a block of them.
func TestClassifyRefused(t *testing.T) {
	w := newWorld(t, admission.Options{Filters: policy.URLFilters{refusing}})
	defer w.close()
	long := []string{"http://a.example/" + strings.Repeat("a", seedLineMax), "http://b.example/" +
		strings.Repeat("b", 2*seedBlockBytes)}
	text := strings.Join([]string{"no url\tk=v", long[0], hostB + "refused\tk=v", long[1], hostA}, "\n")
	var refused bytes.Buffer
	r, err := w.p.Classify(context.Background(), URLLists{
		Sources: []SeedFile{{Reader: strings.NewReader(text)}}, Refused: &refused,
	})
	if err != nil || r.Malformed != 3 || r.Filtered != 1 || r.New != 1 {
		t.Fatalf("%+v %v", r, err)
	}
	got := strings.Split(strings.TrimSpace(refused.String()), "\n")
	want := []string{"malformed\tno url\tk=v", "refused\t" + hostB + "refused\tk=v"}
	for _, line := range long {
		want = append(want, "malformed, cut\t"+line[:seedLineQuoted])
	}
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("%q\nwant %q", got, want)
	}
}

// TestClassifyMany: beyond the sorters' memory, and with any number of readers, the lists are those of a map.
func TestClassifyMany(t *testing.T) {
	checkFew(t, func(t *rapid.T) {
		w := newWorld(t, admission.Options{})
		defer w.close()
		var have, text []string
		n := rapid.IntRange(1, 40_000).Draw(t, "lines")
		step := rapid.IntRange(1, 7).Draw(t, "step")
		for i := range n {
			u := fmt.Sprintf("http://h%d.example/%d", i%97, i*i%(n/step+1))
			if i%1000 == 3 {
				have = append(have, u)
			}
			text = append(text, u)
		}
		if len(have) > 0 {
			w.inject(have...)
		}
		want := map[string]int{} // 1 known, 2 new
		for _, u := range have {
			want[u] = 1
		}
		duplicates := 0
		seen := map[string]bool{}
		for _, u := range text {
			if seen[u] {
				duplicates++
			} else if seen[u] = true; want[u] == 0 {
				want[u] = 2
			}
		}
		var known, fresh bytes.Buffer
		source := SeedFile{Reader: strings.NewReader(strings.Join(text, "\n"))}
		r, err := w.p.Classify(context.Background(), URLLists{
			Sources: []SeedFile{source}, Known: &known, New: &fresh, Duplicates: io.Discard,
		})
		if err != nil || r.Duplicates != uint64(duplicates) || r.Lines != uint64(n) {
			t.Fatalf("%+v %v, want %d duplicates", r, err, duplicates)
		}
		for list, lines := range map[int]string{1: known.String(), 2: fresh.String()} {
			var last urlkey.Key
			for line := range strings.Lines(lines) {
				line = strings.TrimSpace(line)
				if key := w.key(line); want[line] != list || key <= last {
					t.Fatalf("%s after %s is in list %d, want %d", line, last, list, want[line])
				} else {
					last = key
				}
				delete(want, line)
			}
		}
		if len(want) > 0 {
			t.Fatalf("%d URLs are in no list", len(want))
		}
	})
}

// TestClassifyFails: what a writer and a reader return, and a canceled context, end it.
func TestClassifyFails(t *testing.T) {
	w := newWorld(t, admission.Options{})
	defer w.close()
	ctx, cancel := context.WithCancel(context.Background())
	_, err := w.p.Classify(ctx, URLLists{Lines: []string{hostA}, New: failingWriter{}})
	if err == nil || !strings.Contains(err.Error(), io.ErrShortWrite.Error()) {
		t.Error(err)
	}
	var many []string // more than what waits to be written
	for i := range 30_000 {
		many = append(many, fmt.Sprintf("%s%d", hostA, i))
	}
	if _, err = w.p.Classify(ctx, URLLists{Lines: many, New: failingWriter{}}); !errors.Is(err, io.ErrShortWrite) {
		t.Error(err)
	}
	broken := io.MultiReader(strings.NewReader(hostA+"\n"), failingReader{})
	_, err = w.p.Classify(ctx, URLLists{Sources: []SeedFile{{Name: "f", Reader: broken}}})
	if err == nil || !strings.Contains(err.Error(), "seed file f: "+io.ErrUnexpectedEOF.Error()) {
		t.Error(err)
	}
	cancel()
	if _, err = w.p.Classify(ctx, URLLists{Lines: []string{hostA}}); err == nil {
		t.Error("no error after the end of the context")
	}
}

type failingWriter struct{}

func (failingWriter) Write([]byte) (int, error) { return 0, io.ErrShortWrite }

type failingReader struct{}

func (failingReader) Read([]byte) (int, error) { return 0, io.ErrUnexpectedEOF }
