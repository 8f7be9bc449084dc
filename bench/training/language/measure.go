// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"cmp"
	"fmt"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/seine-crawler/seine/engine/parse/language"
)

// sample is one sentence: how sure the guess was, and whether it was right.
type sample struct {
	sure  float64
	right bool
}

// measure prints the share of each language's sentences that are named rightly, which languages are mistaken for which,
// and the calibration. For speed, beside whatlanggo, run go test -bench Language ./bench/measure.
func measure(dir string) error {
	files, err := filepath.Glob(filepath.Join(dir, "*.txt"))
	if err != nil || len(files) == 0 {
		return fmt.Errorf("no sentences in %s: run bench/training/language/sentences.sh %s", dir, dir)
	}
	var all []sample
	mistakes := map[string]int{}
	mean := 0.0
	for _, f := range files {
		text, err := os.ReadFile(f)
		if err != nil {
			return err
		}
		tag := strings.TrimSuffix(filepath.Base(f), ".txt")
		n, right := 0, 0.0
		for line := range bytes.Lines(text) {
			if line = bytes.TrimSpace(line); len(line) == 0 {
				continue
			}
			got, sure := language.Detect(line)
			if got != tag {
				mistakes[tag+" for "+got]++
			}
			n, right = n+1, right+is(got == tag)
			if got != "" {
				all = append(all, sample{sure, got == tag})
			}
		}
		fmt.Printf("%-3s %.1f%%\n", tag, 100*right/float64(n))
		mean += right / float64(n) / float64(len(files))
	}
	fmt.Printf("mean of %d languages: %.2f%%\n", len(files), 100*mean)
	order := slices.SortedFunc(
		maps.Keys(mistakes),
		func(a, b string) int { return cmp.Or(mistakes[b]-mistakes[a], cmp.Compare(a, b)) },
	)
	for _, m := range order[:min(len(order), 20)] {
		fmt.Printf("%4d times %s\n", mistakes[m], m)
	}
	calibration(all)
	return nil
}

func is(b bool) float64 {
	if b {
		return 1
	}
	return 0
}

// calibration prints how often guesses of each stated confidence were right, and how to scale the logit so that the two
// agree (Platt's scaling, by Newton's method).
func calibration(all []sample) {
	slices.SortFunc(all, func(a, b sample) int { return cmp.Compare(a.sure, b.sure) })
	for part := range 10 {
		some := all[len(all)*part/10 : len(all)*(part+1)/10]
		sure, right := 0.0, 0.0
		for _, s := range some {
			sure, right = sure+s.sure, right+is(s.right)
		}
		fmt.Printf("said %.3f, right %.3f\n", sure/float64(len(some)), right/float64(len(some)))
	}
	slope, base := 1.0, 0.0
	for range 100 {
		var g0, g1, h00, h01, h11 float64
		for _, s := range all {
			sure := min(s.sure, 1-1e-7)
			x := math.Log(sure / (1 - sure))
			p := 1 / (1 + math.Exp(-slope*x-base))
			d, w := is(s.right)-p, p*(1-p)
			g0, g1 = g0+d, g1+d*x
			h00, h01, h11 = h00+w, h01+w*x, h11+w*x*x
		}
		det := h00*h11 - h01*h01
		base += max(-0.2, min(0.2, (h11*g0-h01*g1)/det))
		slope += max(-0.05, min(0.05, (h00*g1-h01*g0)/det))
	}
	fmt.Printf("multiply the slope by %.3f and the base by it, then add %.3f to the base\n", slope, base)
}
