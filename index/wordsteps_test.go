// SPDX-License-Identifier: Apache-2.0

package index

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/seine-crawler/seine/index/analysis"
	"github.com/seine-crawler/seine/storage"
)

// TestWordSteps: of texts of any kind, in parts, each word is near where its position says, and what is stored is read
// again.
func TestWordSteps(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	kinds := []string{
		"a net of salt ", "Wiederherstellung der Datensicherung; ", "プリンタの設定方法、", "x.y/z-1 ", "…  \n\n",
	}
	for range 40 {
		var text strings.Builder
		for text.Len() < 1000+rng.IntN(20000) {
			text.WriteString(strings.Repeat(kinds[rng.IntN(len(kinds))], 1+rng.IntN(20)))
		}
		d := Document{Text: text.String()}
		for at := 0; rng.IntN(4) > 0 && at < len(d.Text); {
			from := at + rng.IntN(300)
			at = min(len(d.Text), from+rng.IntN(4000))
			if from < at {
				from, at = runeAt(d.Text, from), runeAt(d.Text, at)
				d.Content = append(d.Content, storage.TextRange{From: uint32(from), To: uint32(at)})
			}
		}
		b := segmentBuilder{memory: 1 << 20}
		b.begin()
		b.body(&d, new([fieldCount]int))
		steps := slices.Clone(b.steps.take())
		if len(steps) == 0 {
			continue
		}
		again := readSteps(&storedReader{b: steps.append(nil)})
		if !slices.Equal(again, steps) {
			t.Fatalf("%d, stored and read %d", steps, again)
		}
		content := []string{d.Text}
		if len(d.Content) > 0 {
			content = nil
		}
		for _, r := range d.Content {
			content = append(content, d.Text[r.From:r.To])
		}
		base, position := 0, 0
		var a analysis.Analyzer
		for _, part := range content {
			position = partGap + a.Walk([]byte(part), position, func(token *analysis.Token) {
				at, step := base+token.Start, token.Position/stepWords
				from, to := steps.at(step), len(d.Text)
				if step < len(steps) {
					to = steps.at(step + 1)
				}
				if got := steps.place(uint32(token.Position)); step < len(steps) && (got < from || got > to) {
					t.Fatalf("word %d at %d is between %d and %d, placed at %d", token.Position, at, from, to, got)
				}
				if at < from || at > to {
					t.Fatalf("word %d at %d is not between the steps %d and %d", token.Position, at, from, to)
				}
			})
			base += len(part) + 1
		}
	}
}

// runeAt returns the begin of the character that a place is in.
func runeAt(s string, at int) int {
	for at > 0 && at < len(s) && s[at]&0xc0 == 0x80 {
		at--
	}
	return at
}
