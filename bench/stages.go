// SPDX-License-Identifier: Apache-2.0

package bench

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/google/pprof/profile"
)

// stageRoots are the functions under which a stage's work is done; the first that a stack contains,
// from the leaf, decides. What is under none is fetch: the fetchers, the frontier and the runtime.
var stageRoots = map[string]string{
	"seine/engine.(*Engine).Inject":       "inject",
	"seine/engine.(*source).Refill":       "refill",
	"seine/storage/warc.(*Writer).":       "warc",
	"seine/engine.(*segmentBuilder).add":  "parse",
	"seine/engine.(*segmentBuilder).seal": "seal",
	"seine/engine.(*Engine).updateDB":     "updatedb",
	"seine/engine.(*Engine).InvertLinks":  "invertlinks",
	"seine/engine.(*Engine).Dedup":        "dedup",
	"seine/engine.(*Engine).Index":        "index",
	"seine/engine.(*documents).build":     "index", // a goroutine of its own
	"cockroachdb/pebble/v2.(*DB).compact": "store",
	"cockroachdb/pebble/v2.(*DB).flush":   "store",
	"runtime.gcBgMarkWorker":              "gc",
}

// stages crawls a web once under a CPU profile and holds what the program accounted to each stage
// against it.
func (o *CrawlOptions) stages(ctx context.Context, w world) error {
	f, err := os.CreateTemp(o.Dir, "seine-bench-*.pprof")
	if err != nil {
		return err
	}
	f.Close()
	defer os.Remove(f.Name())
	name, err := filepath.Abs(f.Name())
	if err != nil {
		return err
	}
	o.Log(w.name + ", with a CPU profile")
	l, err := o.round(ctx, w, VariantWhole, name)
	if err != nil {
		return err
	}
	spent, total, err := readProfile(name)
	if err != nil {
		return err
	}
	pages := float64(l.Count)
	for _, m := range l.Metrics {
		stage, ok := strings.CutSuffix(m.Unit, "-µs/page")
		if !ok || stage == "cpu" || stage == "server-cpu" {
			continue
		}
		o.Line(Line{Name: "Stages/" + w.name + "/" + stage, Count: l.Count, Metrics: []Metric{
			{"clock-µs/page", m.Value}, {"profile-µs/page", spent[stage] / 1e3 / pages},
			{"points-apart", 100 * (m.Value*1e3*pages - spent[stage]) / total}}})
	}
	return nil
}

// readProfile adds up the nanoseconds of a CPU profile by stage.
func readProfile(name string) (spent map[string]float64, total float64, err error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, 0, err
	}
	defer f.Close()
	p, err := profile.Parse(f)
	if err != nil {
		return nil, 0, fmt.Errorf("CPU profile %s: %w", name, err)
	}
	spent = map[string]float64{}
	for _, s := range p.Sample {
		ns := float64(s.Value[len(s.Value)-1])
		spent[stageOf(s)] += ns
		total += ns
	}
	return spent, total, nil
}

func stageOf(s *profile.Sample) string {
	for _, loc := range s.Location {
		for _, line := range loc.Line {
			for root, stage := range stageRoots {
				if strings.Contains(line.Function.Name, root) {
					return stage
				}
			}
		}
	}
	return "fetch"
}
