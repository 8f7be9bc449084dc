// SPDX-License-Identifier: Apache-2.0

package policy_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/seine-crawler/seine/storage/urlkey"
)

// must returns a function that fails a test if err is not nil, and else returns v: must(f())(t).
func must[T any](v T, err error) func(t testing.TB) T {
	return func(t testing.TB) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

func parse(t testing.TB, raw string) urlkey.URL {
	t.Helper()
	return must(urlkey.Parse(raw))(t)
}

// textFile writes a file and returns its path.
func textFile(t testing.TB, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

// parser forgets what a constructor returns, for fails.
func parser[T any](fn func(text []byte) (T, error)) func(text string) error {
	return func(text string) error {
		_, err := fn([]byte(text))
		return err
	}
}

// fails checks that a text is refused with an error that contains each of says.
func fails(t testing.TB, fn func(text string) error, text string, says ...string) {
	t.Helper()
	err := fn(text)
	for _, part := range says {
		if err == nil || !strings.Contains(err.Error(), part) {
			t.Errorf("%.80q: %v, want %q in the error", text, err, part)
		}
	}
}
