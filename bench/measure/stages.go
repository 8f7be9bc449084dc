// SPDX-License-Identifier: Apache-2.0

package measure

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/google/pprof/profile"
)

// stageRoots are the functions under which a stage does its work, by parts of their names. The first one in a stack,
// from the leaf, decides. A stack without any counts as fetch: the fetchers, the frontier and the runtime. The table
// follows the engine: when a function moves or is renamed, points-apart in the report shows it.
var stageRoots = map[string]string{
	"engine/internal/phases.(*Phases).Inject":      "inject",
	"engine/internal/visit.(*Source).Refill":       "refill",
	"seine/storage/warc.(*Writer).":                "warc",
	"engine/internal/segment.(*Writer).add":        "parse",
	"engine/internal/segment.(*Writer).seal":       "seal",
	"engine/internal/segment.(*Writer).writeTable": "seal", // on goroutines of their own, as are the next two
	"engine/internal/phases.(*update).":            "updatedb",
	"engine/internal/phases.(*Phases).invert.":     "invertlinks",
	"engine/internal/phases.(*Phases).UpdateDB":    "updatedb",
	"engine/internal/phases.(*Phases).readmit":     "updatedb",
	"engine/internal/phases.(*Phases).InvertLinks": "invertlinks",
	"engine/internal/phases.(*Phases).Dedup":       "dedup",
	"seine/engine.(*work).buildUnmerged":           "index",
	"seine/engine.(*work).indexLinked":             "index",
	"seine/engine.(*work).mergeIndex":              "index",
	"seine/index.(*worker).run":                    "index", // on goroutines of their own, as are the next three
	"seine/engine.(*indexing).together":            "index",
	"seine/engine.(*reanchoring).lookAt":           "index",
	"seine/index.(*Reanchoring).change":            "index",
	"cockroachdb/pebble/v2.(*DB).compact":          "store",
	"cockroachdb/pebble/v2.(*DB).flush":            "store",
	"runtime.gcBgMarkWorker":                       "gc",
}

// stages crawls a web once under a CPU profile and compares it with what seine accounted to each stage.
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
	spent, serial, err := readProfile(name)
	if err != nil {
		return err
	}
	total, pages := 0.0, float64(l.Count)
	for _, ns := range spent {
		total += ns
	}
	o.serial(w, l.Count, serial)
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

// readProfile adds up the nanoseconds of a CPU profile: by stage, and by goroutine of those that there is only one of.
func readProfile(name string) (spent, serial map[string]float64, err error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, nil, err
	}
	defer f.Close()
	p, err := profile.Parse(f)
	if err != nil {
		return nil, nil, fmt.Errorf("CPU profile %s: %w", name, err)
	}
	spent, serial = map[string]float64{}, map[string]float64{}
	for _, s := range p.Sample {
		ns := float64(s.Value[len(s.Value)-1])
		spent[stageOf(s)] += ns
		if of := soleOf(s); of != "" {
			serial[of] += ns
		}
	}
	return spent, serial, nil
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
