// SPDX-License-Identifier: Apache-2.0

package measure

import (
	"cmp"
	"fmt"
	"slices"
)

// SchedulesSVG draws freshness over time, a line for each schedule.
func SchedulesSVG(list []ScheduleRun) string {
	days, fetches := 1, 0
	for i := range list {
		days, fetches = max(days, len(list[i].Daily)), list[i].Fetches
	}
	d := newLinear(
		fmt.Sprintf("Share of pages that are fresh, with %d fetches under each schedule", fetches),
		"days; beside the names: mean of the second half", float64(days), 1, "%.0f", "%.2f",
	)
	names := namePlaces(list, d.atY)
	for i := range list {
		r := &list[i]
		points := make([]point, len(r.Daily))
		for day, y := range r.Daily {
			points[day] = point{x: float64(day) + .5, y: y}
		}
		d.line(points, i, fmt.Sprintf("%s %.3f", r.Name, r.Mean()), names[i])
	}
	return d.svg()
}

// namePlaces returns how far down the name of each curve stands: beside its mean, or below the name above it.
func namePlaces(list []ScheduleRun, atY func(float64) float64) []float64 {
	const apart = 15
	places, order := make([]float64, len(list)), make([]int, len(list))
	for i := range list {
		places[i], order[i] = atY(list[i].Mean()), i
	}
	slices.SortFunc(order, func(a, b int) int { return cmp.Compare(places[a], places[b]) })
	for n, i := range order[1:] {
		places[i] = max(places[i], places[order[n]]+apart)
	}
	return places
}
