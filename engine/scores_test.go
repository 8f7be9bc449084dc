// SPDX-License-Identifier: Apache-2.0

package engine_test

import (
	"context"
	"encoding/json"
	"math"
	"testing"

	"github.com/seine-crawler/seine/engine"
	"github.com/seine-crawler/seine/engine/policy"
)

// oneScore is a scorer that breaks its law: it returns one number, which may not be finite.
type oneScore float64

func (s oneScore) Inject(float64) float64                      { return float64(s) }
func (s oneScore) Distribute(policy.Page, policy.Link) float64 { return float64(s) }
func (s oneScore) Update(old, sum float64) float64             { return old + sum }
func (s oneScore) AtDepth(uint16) float64                      { return float64(s) }

// TestScoresFinite: whatever a scorer returns, what crawldb holds can be shown.
func TestScoresFinite(t *testing.T) {
	ctx := context.Background()
	for _, score := range []oneScore{oneScore(math.NaN()), oneScore(math.Inf(1)), oneScore(math.Inf(-1))} {
		for _, s := range []policy.Scorer{score, struct{ policy.Scorer }{score}} { // by depth, and by links
			w := newWorld(t, 2, 5)
			o := w.options(t.TempDir())
			o.Scorer = s
			e := open(t, o)
			defer e.Close()
			if r, err := e.Crawl(ctx, engine.CrawlOptions{Inject: w.seeds()}); err != nil || r.Fetched < 5 {
				t.Fatal(r, err)
			}
			stats, err := e.Inspect().Stats(ctx, false)
			if _, bad := json.Marshal(stats); err != nil || bad != nil {
				t.Error(float64(score), err, bad)
			}
			for r, err := range e.Inspect().Records(ctx, engine.RecordFilter{}) {
				if _, bad := json.Marshal(r); err != nil || bad != nil {
					t.Error(float64(score), r.URL, err, bad)
				}
			}
		}
	}
}
