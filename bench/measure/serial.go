// SPDX-License-Identifier: Apache-2.0

package measure

import (
	"maps"
	"slices"
	"strings"

	"github.com/google/pprof/profile"
)

// soleGoroutines are the goroutines of a crawl that there is only one of, by parts of the names of the functions that
// they begin with. What one of them does for a page bounds the pages a second of a machine with any number of cores.
// Of all others there are several: fetchers, builders, compactions.
var soleGoroutines = map[string]string{
	"seine/engine.(*conductor).update":        "update", // what leads those that seal, update and invert links
	"seine/engine.(*conductor).index":         "index",  // dedup, and what leads those that index
	"seine/engine.(*merges).":                 "merge",  // of index segments
	"seine/engine.(*sends).":                  "send",
	"seine/frontier.(*Frontier).puller":       "frontier", // its shards and refillers are several
	"seine/engine/internal/visit.(*Pool).syn": "sync",
	"cockroachdb/pebble/v2.(*DB).flush":       "flush",
	"runtime.main":                            "main", // begin and end of the crawl
}

// soleOf returns the goroutine of a sample if there is only one of it, else "".
func soleOf(s *profile.Sample) string {
	if len(s.Location) == 0 {
		return ""
	}
	for _, line := range s.Location[len(s.Location)-1].Line {
		for part, name := range soleGoroutines {
			if strings.Contains(line.Function.Name, part) {
				return name
			}
		}
	}
	return ""
}

// serial prints what the sole goroutines worked for a page, and their sum.
func (o *CrawlOptions) serial(w world, pages int, spent map[string]float64) {
	sum := 0.0
	line := func(name string, ns float64) {
		o.Line(Line{Name: "Serial/" + w.name + "/" + name, Count: pages, Metrics: []Metric{
			{"serial-µs/page", ns / 1e3 / float64(pages)}}})
	}
	for _, name := range slices.Sorted(maps.Keys(spent)) {
		line(name, spent[name])
		sum += spent[name]
	}
	line("sum", sum)
}
