// SPDX-License-Identifier: Apache-2.0

package measure

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"
)

// ReportOptions say what WriteReport reads and writes. All fields but Now are required.
type ReportOptions struct {
	Files      []string         // of benchmark lines
	Out, Plots string           // the Markdown file, and the folder of its plots
	Command    string           // that made the results, for the head
	Now        func() time.Time // nil: time.Now
}

// WriteReport writes BENCHMARKS.md: a section for each layer that has results, with its table, its plots and what it
// means. The error names a file that cannot be read, or the benchmarks that belong to no section.
func WriteReport(ctx context.Context, o ReportOptions) error {
	if o.Now == nil {
		o.Now = time.Now
	}
	var lines []Line
	for _, name := range o.Files {
		f, err := os.Open(name)
		if err != nil {
			return fmt.Errorf("benchmark results: %w", err)
		}
		l, err := ReadLines(f)
		f.Close()
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		lines = append(lines, l...)
	}
	all := Summaries(lines)
	var b bytes.Buffer
	fmt.Fprintf(
		&b, reportHead, o.Command, o.Now().UTC().Format(time.DateOnly), runtime.Version(), runtime.NumCPU(),
		processor(), kernel(ctx),
	)
	shown := 0
	for _, s := range sections {
		var rows []Summary
		for _, r := range all {
			if layer, _, _ := strings.Cut(r.Name, "/"); layer == s.layer {
				rows = append(rows, r)
			}
		}
		if len(rows) == 0 {
			continue
		}
		shown += len(rows)
		if err := s.write(&b, rows, &o); err != nil {
			return err
		}
	}
	if shown < len(all) {
		return fmt.Errorf(
			"%d of %d benchmarks belong to no section of the report: add one to bench/measure/sections.go for %s",
			len(all)-shown, len(all), strays(all),
		)
	}
	return os.WriteFile(o.Out, b.Bytes(), 0o644)
}

const reportHead = `# Benchmarks

Printed by ` + "`%s`" + ` on %s: %s, %d cores of %s, %s.

Each cell is the median of the runs. ±n%% is half the range of the runs divided by the median: it shows how noisy the
machine was. The last column divides a row's first number by seine's in the same group and run: a floor at 0.4× takes
0.4 of seine's time, a peer at 5× takes five times as long. cpu-µs are processor time, ns are wall time.

`

func strays(all []Summary) string {
	var out []string
	for _, r := range all {
		layer, _, _ := strings.Cut(r.Name, "/")
		if !slices.ContainsFunc(sections, func(s section) bool { return s.layer == layer }) &&
			!slices.Contains(out, layer) {
			out = append(out, layer)
		}
	}
	return strings.Join(out, ", ")
}

func (s *section) write(b *bytes.Buffer, rows []Summary, o *ReportOptions) error {
	fmt.Fprintf(b, "## %s\n\n%s\n\n`%s`\n\n", s.title, strings.TrimSpace(s.what), s.command)
	t := table{units: unitsOf(s.layer, rows), rows: rows}
	writeMarkdown(b, t.cells())
	for _, p := range s.plots {
		curves := p.curves(rows)
		if curves == nil {
			continue
		}
		if err := os.MkdirAll(o.Plots, 0o755); err != nil {
			return err
		}
		name := filepath.Join(o.Plots, p.file)
		if err := os.WriteFile(name, []byte(p.svg(curves)), 0o644); err != nil {
			return err
		}
		fmt.Fprintf(b, "![%s](%s)\n\n", p.title, filepath.ToSlash(name))
	}
	if name := filepath.Join(o.Plots, s.drawn); s.drawn != "" && exists(name) {
		fmt.Fprintf(b, "![%s](%s)\n\n", s.title, filepath.ToSlash(name))
	}
	if s.means != "" {
		fmt.Fprintf(b, "%s\n\n", strings.TrimSpace(s.means))
	}
	return nil
}

func exists(file string) bool {
	_, err := os.Stat(file)
	return err == nil
}

// processor returns the name of the processor, as Linux gives it.
func processor() string {
	text, err := os.ReadFile("/proc/cpuinfo")
	if err == nil {
		for line := range strings.Lines(string(text)) {
			if name, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(name) == "model name" {
				return strings.TrimSpace(value)
			}
		}
	}
	return runtime.GOARCH
}

func kernel(ctx context.Context) string {
	out, err := exec.CommandContext(ctx, "uname", "-sr").Output()
	if err != nil {
		return runtime.GOOS
	}
	return strings.TrimSpace(string(out))
}
