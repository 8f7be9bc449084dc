// SPDX-License-Identifier: Apache-2.0

package engine_test

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"github.com/seine-crawler/seine/engine"
	"github.com/seine-crawler/seine/engine/policy"
	"github.com/seine-crawler/seine/storage"
)

// TestRebuildIndex: an index of an older format, or of another analyzer, is an ErrIndexFormat that says what to do, and
// RebuildIndex makes it again of the pages, the same as before.
func TestRebuildIndex(t *testing.T) {
	o, want := crawled(t, narrowWeb(t, policy.ScopeHost))
	for what, spoil := range map[string]func(s *storage.Store) error{
		"format": func(s *storage.Store) error {
			ing := s.NewIngestion()
			defer ing.Abort()
			old := ing.Table(storage.IndexRange('g')).Set([]byte{0, 0, 0, 1}, []byte(`{"docs":1,"terms":1,"fields":5}`))
			return errors.Join(old, ing.Commit())
		},
		"analyzer": func(s *storage.Store) error { return s.PutSettings(map[string]string{"analyzer": "0"}) },
	} {
		s, err := storage.Open(filepath.Join(o.Dir, "store"), storage.Options{MustExist: true})
		if err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(spoil(s), s.Close()); err != nil {
			t.Fatal(err)
		}
		if _, err := engine.Open(o); !errors.Is(err, engine.ErrIndexFormat) ||
			!strings.Contains(err.Error(), "seine index --rebuild") {
			t.Fatalf("%s: %v", what, err)
		}
		again := o
		again.RebuildIndex = true
		e := open(t, again)
		if _, err := e.Index(ctx, engine.IndexOptions{Refresh: true}); err != nil {
			t.Fatal(err)
		}
		mustClose(t, e)
		sameDigest(t, digestOf(t, o), want)
	}
}
