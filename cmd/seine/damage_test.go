// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/BurntSushi/toml"
)

// TestDamagedSettings flips a bit in, cuts or fills with garbage a data directory's settings file. A command that reads
// it then ends with an error that names the file and the line; or it names what has changed since the last run; or the
// damage is in a comment and does no harm. `make damage` sets SEINE_DAMAGES to 500.
func TestDamagedSettings(t *testing.T) {
	damages := 60
	if n, err := strconv.Atoi(os.Getenv("SEINE_DAMAGES")); err == nil {
		damages = n
	}
	for _, name := range []string{"SEINE_DAMAGES", "SEINE_KILLS", "SEINE_DAMAGE_SEED"} {
		t.Setenv(name, "") // to have it back afterwards
		os.Unsetenv(name)  // the command warns of variables that are no settings
	}
	dir := filepath.Join(t.TempDir(), "data")
	file := filepath.Join(dir, settingsFile)
	command := func(args ...string) (status int, stderr string) {
		var out bytes.Buffer
		status = run(args, strings.NewReader(""), io.Discard, &out)
		return status, out.String()
	}
	if status, text := command("init", "--dir", dir, "--contact", "me@example.org", "--delay", "2s",
		"--set", "host-pages=1000", "--set", "refuse-types=image/*,video/*", "http://example.org/"); status != 0 {
		t.Fatal(text)
	}
	whole, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	whole = append(whole, "\n[host.\"www.example.org\"]\nmax-pages = 12\ndelay = \"5s\"\n"...)
	if err := os.WriteFile(file, whole, 0o666); err != nil {
		t.Fatal(err)
	}
	if status, text := command("inject", "--dir", dir); status != 0 {
		t.Fatal(text)
	}
	if status, text := command("verify", "--dir", dir); status != 0 || text != "" {
		t.Fatalf("undamaged: %d %s", status, text)
	}

	rng := rand.New(rand.NewPCG(1, 18))
	place := regexp.MustCompile(regexp.QuoteMeta(file) + `:\d+|` + regexp.QuoteMeta(file) + `.*\bline \d+`)
	refused, named, harmless := 0, 0, 0
	for i := range damages {
		b, what := bytes.Clone(whole), ""
		at := rng.IntN(len(b))
		switch {
		case i%3 == 0: // in what is in force
			lines := regexp.MustCompile(`(?m)^[^#\n].*$`).FindAllIndex(b, -1)
			line := lines[rng.IntN(len(lines))]
			at = line[0] + rng.IntN(line[1]-line[0])
			fallthrough
		case i%3 == 1:
			bit := rng.IntN(8)
			b[at] ^= 1 << bit
			what = fmt.Sprintf("bit %d of byte %d flipped", bit, at)
		case i%2 == 0:
			b, what = b[:at], fmt.Sprintf("cut at %d", at)
		default:
			for j := at; j < min(at+64, len(b)); j++ {
				b[j] = byte(rng.Uint32())
			}
			what = fmt.Sprintf("garbage at %d", at)
		}
		if err := os.WriteFile(file, b, 0o666); err != nil {
			t.Fatal(err)
		}
		status, text := command("verify", "--dir", dir)
		switch {
		case status == exitUsage && place.MatchString(text):
			refused++
		case status == 0 && strings.Contains(text, file+" has changed since the last run: "):
			named++
		case status == 0 && text == "" && sameInForce(t, string(b), string(whole)):
			harmless++
		default:
			t.Errorf("%s: exit status %d: %s", what, status, text)
		}
	}
	t.Logf("%d damaged settings files: %d refused with file and line, %d named as changed, %d harmless",
		damages, refused, named, harmless)
	if refused == 0 || named == 0 || harmless == 0 {
		t.Error("too tame to prove anything")
	}
}

// sameInForce reports whether two settings files set the same.
func sameInForce(t *testing.T, a, b string) bool {
	t.Helper()
	var inA, inB map[string]any
	for text, to := range map[string]*map[string]any{a: &inA, b: &inB} {
		if _, err := toml.Decode(text, to); err != nil {
			t.Fatal(err)
		}
	}
	return reflect.DeepEqual(inA, inB)
}

// filesIn returns what the files in a directory hold, except the lock of repairs.
func filesIn(t *testing.T, dir string) map[string]string {
	t.Helper()
	files := map[string]string{}
	err := filepath.WalkDir(dir, func(name string, e os.DirEntry, err error) error {
		if err != nil || e.IsDir() || e.Name() == "store.rebuild.lock" {
			return err
		}
		b, err := os.ReadFile(name)
		files[name] = string(b)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// TestChangesNothing: check url reads a data directory, and a repair of a sound one changes no file.
func TestChangesNothing(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "d")
	if status, _, text := runLine("inject --dir "+dir+" http://a.example/", ""); status != 0 {
		t.Fatal(status, text)
	}
	before := filesIn(t, dir)
	for _, line := range []string{
		"check url --dir " + dir + " http://a.example/", "verify --repair --dir " + dir,
		"verify --repair --dir " + dir + " --set scope=any",
	} {
		if status, _, text := runLine(line, ""); status != 0 {
			t.Errorf("%s: status %d, %s", line, status, text)
		}
		if after := filesIn(t, dir); !maps.Equal(before, after) {
			t.Errorf("%s: files are now %q, before %q", line, slices.Sorted(maps.Keys(after)),
				slices.Sorted(maps.Keys(before)))
		}
	}
}

// TestInterruptedRepair: of a directory whose repair was interrupted, verify says only that, and how to repair it
// again, in a command that can be pasted.
func TestInterruptedRepair(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "my crawl")
	for _, name := range []string{"store", "store.rebuild"} { // a repair is beside the store that it reads
		if err := os.MkdirAll(filepath.Join(dir, name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name, "CURRENT"), nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for _, args := range [][]string{{"verify", "--dir", dir}, {"search", "--dir", dir, "harbour"}} {
		want := exitDisk
		if args[0] == "verify" {
			want = exitFailure
		}
		var out, errs bytes.Buffer
		status := run(args, nil, &out, &errs)
		text := out.String() + errs.String()
		if status != want || !strings.Contains(text, `seine verify --dir "`+dir+`" --repair`) ||
			strings.Contains(text, "backup") || strings.Contains(text, "DIR") {
			t.Errorf("%s: status %d, %s", args[0], status, text)
		}
	}
}
