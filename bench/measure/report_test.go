// SPDX-License-Identifier: Apache-2.0

package measure_test

import (
	"bytes"
	"context"
	"encoding/xml"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/seine-crawler/seine/bench/measure"
	"github.com/seine-crawler/seine/bench/simweb"
)

func readLines(t *testing.T) []measure.Line {
	t.Helper()
	f, err := os.Open("testdata/lines.txt")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	lines, err := measure.ReadLines(f)
	if err != nil {
		t.Fatal(err)
	}
	return lines
}

// TestSummaries: the runs of a benchmark are brought together, medians and spreads are right, and lines survive being
// written and read.
func TestSummaries(t *testing.T) {
	lines := readLines(t)
	var b bytes.Buffer
	if err := measure.WriteLines(&b, lines); err != nil {
		t.Fatal(err)
	}
	again, err := measure.ReadLines(&b)
	if err != nil || len(again) != len(lines) || len(lines) != 9 {
		t.Fatalf("%d lines, read back %d, %v", len(lines), len(again), err)
	}
	sums := measure.Summaries(again)
	if len(sums) != 6 || sums[0].Name != "URL/relative/seine" || sums[0].Runs != 3 {
		t.Fatalf("%+v", sums)
	}
	u := sums[0].Units[0]
	if u.Unit != "ns/link" || u.Median != 110 || u.Min != 100 || u.Max != 300 || u.Spread < 0.9 || u.Spread > 0.91 {
		t.Errorf("%+v", u)
	}
	if _, err := measure.ReadLines(strings.NewReader("BenchmarkX/y 1 fast ns/op\n")); err == nil ||
		!strings.Contains(err.Error(), "fast") {
		t.Errorf("a line that cannot be read: %v", err)
	}
}

// TestTable: a row is compared with seine's of the same group and no other.
func TestTable(t *testing.T) {
	var b bytes.Buffer
	if err := measure.WriteTable(&b, readLines(t)); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"110 ±91%", "550", "5×", "310 ±3%", "0.1×", "0.075×"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("no %q in\n%s", want, &b)
		}
	}
}

// TestReport: the page has a section for each layer and its plots are XML; a benchmark that belongs to no section is an
// error.
func TestReport(t *testing.T) {
	dir := t.TempDir()
	o := measure.ReportOptions{
		Files: []string{"testdata/lines.txt"}, Command: "make bench",
		Out: filepath.Join(dir, "B.md"), Plots: filepath.Join(dir, "plots"),
		Now: func() time.Time { return time.Date(2026, 11, 21, 0, 0, 0, 0, time.UTC) },
	}
	if err := measure.WriteReport(context.Background(), o); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(o.Out)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"`make bench` on 2026-11-21", "| pages=1000 seine | 2 | 310 ±3% |", "crawl-cpu.svg", "floor-net-url",
	} {
		if !strings.Contains(string(text), want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
	svg, err := os.ReadFile(filepath.Join(dir, "plots", "crawl-cpu.svg"))
	if err != nil {
		t.Fatal(err)
	}
	for d := xml.NewDecoder(bytes.NewReader(svg)); ; {
		if _, err := d.Token(); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatalf("%v in %s", err, svg)
		}
	}
	stray := filepath.Join(dir, "stray.txt")
	if err := os.WriteFile(stray, []byte("BenchmarkNobody/x/seine 1 2 ns/op\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	o.Files = append(o.Files, stray)
	if err := measure.WriteReport(context.Background(), o); err == nil || !strings.Contains(err.Error(), "Nobody") {
		t.Errorf("a benchmark without a section: %v", err)
	}
}

// TestFloor: the bare loop fetches every page once, compressed with Gzip, and a missing page is an error.
func TestFloor(t *testing.T) {
	bytes := map[bool]int64{}
	for _, gzip := range []bool{false, true} {
		w, err := simweb.New(simweb.Bench(5, 20), 0)
		if err != nil {
			t.Fatal(err)
		}
		s, err := simweb.Serve(context.Background(), w, simweb.ServerOptions{Gzip: true})
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		hosts := filepath.Join(t.TempDir(), "hosts")
		f, err := os.Create(hosts)
		if err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(s.HostsFile(f), f.Close()); err != nil {
			t.Fatal(err)
		}
		n, err := measure.Floor(
			context.Background(),
			measure.FloorOptions{HostsFile: hosts, Port: s.Port(), Pages: 20, Gzip: gzip},
		)
		if err != nil || n != 100 {
			t.Fatalf("%d pages, %v", n, err)
		}
		r := s.Report()
		if r.URLs != 100 || r.Twice != 0 || r.Peak != 1 {
			t.Errorf("%s", r)
		}
		bytes[gzip] = r.Bytes
		if !gzip {
			kept := filepath.Join(t.TempDir(), "kept")
			n, err := measure.Floor(
				context.Background(),
				measure.FloorOptions{HostsFile: hosts, Port: s.Port(), Pages: 20, Keep: kept},
			)
			if info, e := os.Stat(kept); err != nil || n != 100 || e != nil || info.Size() < r.Bytes/10 ||
				info.Size() > r.Bytes/2 {
				t.Errorf("kept %d pages of %d bytes: %v, %v, %v", n, r.Bytes, info, err, e)
			}
		}
		if _, err := measure.Floor(
			context.Background(),
			measure.FloorOptions{HostsFile: hosts, Port: s.Port(), Pages: 21, Gzip: gzip},
		); err == nil || !strings.Contains(err.Error(), "status 404") {
			t.Errorf("a page that is not there: %v", err)
		}
	}
	if bytes[true] > bytes[false]/2 {
		t.Errorf("%d bytes compressed, %d not", bytes[true], bytes[false])
	}
}
