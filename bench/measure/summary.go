// SPDX-License-Identifier: Apache-2.0

package measure

import (
	"bufio"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"
)

// Summary is all runs of one benchmark, in numbers.
type Summary struct {
	Name  string     `json:"name"`
	Runs  int        `json:"runs"`
	Units []UnitData `json:"units"`
}

// UnitData is one unit of a summary.
type UnitData struct {
	Unit   string  `json:"unit"`
	Median float64 `json:"median"`
	Min    float64 `json:"min"`
	Max    float64 `json:"max"`
	Spread float64 `json:"spread"` // half of max-min, over the median
}

// Summaries sums up the runs of each benchmark, in the order in which the benchmarks first occur.
func Summaries(lines []Line) (out []Summary) {
	at := map[string]int{}
	values := map[string]map[string]*Sample{}
	for _, l := range lines {
		i, known := at[l.Name]
		if !known {
			i = len(out)
			at[l.Name] = i
			out = append(out, Summary{Name: l.Name})
			values[l.Name] = map[string]*Sample{}
		}
		out[i].Runs++
		for _, m := range l.Metrics {
			s := values[l.Name][m.Unit]
			if s == nil {
				s = &Sample{}
				values[l.Name][m.Unit] = s
				out[i].Units = append(out[i].Units, UnitData{Unit: m.Unit})
			}
			s.Values = append(s.Values, m.Value)
		}
	}
	for i := range out {
		for j := range out[i].Units {
			u := &out[i].Units[j]
			s := values[out[i].Name][u.Unit]
			u.Median, u.Min, u.Max, u.Spread = s.Median(), slices.Min(s.Values), slices.Max(s.Values), s.Spread()
		}
	}
	return out
}

// unit returns the data of a unit, nil if there are none.
func (s *Summary) unit(name string) *UnitData {
	for i := range s.Units {
		if s.Units[i].Unit == name {
			return &s.Units[i]
		}
	}
	return nil
}

// split splits Layer/what/impl into what is compared and the implementation.
func (s *Summary) split() (what, impl string) {
	i := strings.LastIndexByte(s.Name, '/')
	if i < 0 {
		return s.Name, ""
	}
	return s.Name[:i], s.Name[i+1:]
}

// ours is the implementation that others are compared with.
const ours = "seine"

// table is the summaries of one layer, in groups whose rows can be compared with each other.
type table struct {
	units []string // the first is the one that ratios are of
	rows  []Summary
}

// cells returns the cells of a table: a header, then a row for each summary.
func (t *table) cells() [][]string {
	out := [][]string{append(append([]string{"", "runs"}, t.units...), "÷ seine")}
	for _, s := range t.rows {
		what, impl := s.split()
		_, what, _ = strings.Cut(what, "/")
		row := []string{strings.TrimLeft(what+" "+impl, " "), fmt.Sprint(s.Runs)}
		for _, u := range t.units {
			row = append(row, s.unit(u).cell())
		}
		out = append(out, append(row, t.ratio(&s)))
	}
	return out
}

func (u *UnitData) cell() string {
	if u == nil {
		return ""
	}
	text := formatMetric(u.Median)
	if u.Spread >= 0.005 {
		text += fmt.Sprintf(" ±%.0f%%", 100*u.Spread)
	}
	return text
}

// ratio compares a row with seine's of the same group; "" if there is none.
func (t *table) ratio(s *Summary) string {
	what, impl := s.split()
	if impl == ours {
		return ""
	}
	for i := range t.rows {
		w, who := t.rows[i].split()
		if w != what || who != ours {
			continue
		}
		a, b := s.unit(t.units[0]), t.rows[i].unit(t.units[0])
		if a != nil && b != nil && b.Median > 0 {
			return formatMetric(a.Median/b.Median) + "×"
		}
	}
	return ""
}

// WriteLines writes results in the format of `go test -bench`.
func WriteLines(w io.Writer, lines []Line) error {
	b := bufio.NewWriter(w)
	for _, l := range lines {
		fmt.Fprintln(b, l)
	}
	return b.Flush()
}

// WriteTable writes results as aligned tables for people, one for each layer.
func WriteTable(w io.Writer, lines []Line) error {
	byLayer := map[string][]Summary{}
	var layers []string
	for _, s := range Summaries(lines) {
		layer, _, _ := strings.Cut(s.Name, "/")
		if byLayer[layer] == nil {
			layers = append(layers, layer)
		}
		byLayer[layer] = append(byLayer[layer], s)
	}
	for _, layer := range layers {
		t := table{units: unitsOf(layer, byLayer[layer]), rows: byLayer[layer]}
		if _, err := fmt.Fprintln(w, layer); err != nil {
			return err
		}
		if err := writeAligned(w, t.cells()); err != nil {
			return err
		}
	}
	return nil
}

func writeAligned(w io.Writer, cells [][]string) error {
	width := make([]int, len(cells[0]))
	for _, row := range cells {
		for i, c := range row {
			width[i] = max(width[i], utf8.RuneCountInString(c))
		}
	}
	for _, row := range cells {
		var b strings.Builder
		for i, c := range row {
			pad := strings.Repeat(" ", width[i]-utf8.RuneCountInString(c))
			if i == 0 {
				b.WriteString("  " + c + pad)
			} else {
				b.WriteString("  " + pad + c)
			}
		}
		if _, err := fmt.Fprintln(w, strings.TrimRight(b.String(), " ")); err != nil {
			return err
		}
	}
	return nil
}

// writeMarkdown writes a table in Markdown.
func writeMarkdown(w io.Writer, cells [][]string) {
	for i, row := range cells {
		fmt.Fprintf(w, "| %s |\n", strings.Join(row, " | "))
		if i == 0 {
			fmt.Fprintf(w, "|---%s|\n", strings.Repeat("|--:", len(row)-1))
		}
	}
	fmt.Fprintln(w)
}

// unitsOf returns the units of a layer's table: those that its section names, or all.
func unitsOf(layer string, rows []Summary) []string {
	for _, s := range sections {
		if s.layer == layer && len(s.units) > 0 {
			return s.units
		}
	}
	var out []string
	for _, r := range rows {
		for _, u := range r.Units {
			if !slices.Contains(out, u.Unit) {
				out = append(out, u.Unit)
			}
		}
	}
	return out
}
