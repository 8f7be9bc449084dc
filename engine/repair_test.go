// SPDX-License-Identifier: Apache-2.0

package engine_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/seine-crawler/seine/engine"
)

var ctx = context.Background()

// withoutScores is a digest without the scores, which no WARC file has.
func withoutScores(digest string) string {
	return regexp.MustCompile(` score=\S+`).ReplaceAllString(digest, "")
}

// crawled is a directory with a whole crawl, and its digest.
func crawled(t *testing.T, w equalWeb) (o engine.Options, want string) {
	t.Helper()
	o = w.options(dataDir(t))
	crawlInTurns(t, o, w.seeds, 0)
	return o, digestOf(t, o)
}

// TestRebuild: a store that is made of the WARC files alone equals the one that was lost: statuses, signatures, links
// and index; also when a first rebuild was interrupted.
func TestRebuild(t *testing.T) {
	for name, start := range equalWebs {
		t.Run(name, func(t *testing.T) {
			o, want := crawled(t, start(t))
			if _, err := engine.Rebuild(ctx, o); err == nil || !strings.Contains(err.Error(), "there is a store") {
				t.Errorf("beside a store: %v", err)
			}
			if err := os.RemoveAll(filepath.Join(o.Dir, "store")); err != nil {
				t.Fatal(err)
			}
			if _, err := engine.Open(o); !errors.Is(err, engine.ErrDamaged) || !strings.Contains(err.Error(), "rebuild") {
				t.Errorf("WARC files without a store: %v", err)
			}
			canceled, cancel := context.WithCancel(ctx)
			cancel()
			if _, err := engine.Rebuild(canceled, o); !errors.Is(err, context.Canceled) {
				t.Errorf("canceled: %v", err)
			}
			r, err := engine.Rebuild(ctx, o)
			if err != nil || r.Segments == 0 || len(r.Changed) > 0 {
				t.Fatalf("%s, %v", r, err)
			}
			e := open(t, o)
			defer mustClose(t, e)
			verify(t, e)
			sameDigest(t, digest(t, e), want)
			if t.Failed() {
				t.Log(r)
			}
		})
	}
}
