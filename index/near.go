// SPDX-License-Identifier: Apache-2.0

package index

import (
	"cmp"
	"math/bits"
	"slices"

	"github.com/seine-crawler/seine/storage"
)

// nearFinder finds where in the contents of hits the query's words stand together, from positions, for their snippets.
type nearFinder struct {
	words  []queryWord
	its    []locator
	part   *part
	places []nearPlace
}

// nearPlace is an occurrence of a word in the content.
type nearPlace struct {
	position uint32
	word     int
	at       int // about, in bytes
}

const (
	// nearBytes is the length of a window: what a snippet shows, without a word at its end.
	nearBytes = snippetBytes - 20
	// nearWindows is the most windows of a hit: one for each passage of a snippet.
	nearWindows = 3
	// nextTo is what two words of the query one behind the other add to a window, in parts of their weight: a phrase is
	// worth more than its words apart.
	nextTo = 0.5
)

// near sets Hit.Near of the hits whose documents have steps, as far as pageGrace allows. Candidates and hits are in the
// same order.
func (x *execution) near(root *node, best []candidate, hits []Hit, steps []wordSteps) error {
	work := x.work
	defer func() { x.work = work }()
	x.work = newBudget(work.ctx, work.now().Add(pageGrace))
	x.work.now = work.now
	words := x.words(root, nil)
	slices.SortStableFunc(words, func(a, b queryWord) int { return cmp.Compare(b.idf, a.idf) })
	n := nearFinder{words: words[:min(len(words), rerankWords)]}
	order := make([]int, 0, len(hits))
	for i := range hits {
		if len(steps[i]) > 0 && hits[i].ShowText == "" {
			order = append(order, i)
		}
	}
	slices.SortFunc(order, func(i, j int) int {
		return cmp.Or(cmp.Compare(best[i].part.number, best[j].part.number), cmp.Compare(best[i].doc, best[j].doc))
	})
	for _, i := range order {
		n.open(x, best[i].part)
		if n.find(best[i].doc, steps[i]); x.work.over {
			break
		}
		hits[i].Near = n.windows()
	}
	return x.work.err
}

// open opens the words' lists in a part.
func (n *nearFinder) open(x *execution, p *part) {
	if n.part == p {
		return
	}
	n.part, n.its = p, x.openWords(p, n.words)
}

// find finds the places of the words in a document's content.
func (n *nearFinder) find(doc uint32, steps wordSteps) {
	n.places = n.places[:0]
	for w, it := range n.its {
		if it == nil || it.seek(doc) != doc || !it.matches() || it.has()&(1<<fieldBody) == 0 {
			continue
		}
		for _, position := range it.occurrences(fieldBody) {
			n.places = append(n.places, nearPlace{position, w, steps.place(position)})
		}
	}
	slices.SortFunc(n.places, func(a, b nearPlace) int {
		return cmp.Or(cmp.Compare(a.position, b.position), cmp.Compare(a.word, b.word))
	})
}

// windows returns the window with the most weight of different words, then those that add the most words to it.
func (n *nearFinder) windows() (list []storage.TextRange) {
	seen := uint64(0)
	for len(list) < nearWindows {
		r, words := n.best(seen, list)
		if words == 0 {
			break
		}
		list = append(list, r)
		seen |= words
	}
	slices.SortFunc(list, func(a, b storage.TextRange) int { return cmp.Compare(a.From, b.From) })
	return list
}

// best returns the best window apart from those that were chosen, and its words, of which some are not seen.
func (n *nearFinder) best(seen uint64, chosen []storage.TextRange) (best storage.TextRange, found uint64) {
	var counts [rerankWords]int
	words, most, j := uint64(0), 0.0, 0
	for i := range n.places {
		for ; j < len(n.places) && n.places[j].at-n.places[i].at <= nearBytes; j++ {
			w := n.places[j].word
			counts[w]++
			words |= 1 << w
		}
		if words&^seen != 0 {
			value := n.value(words&^seen, n.places[i:j], len(chosen) == 0)
			r := storage.TextRange{From: uint32(n.places[i].at), To: uint32(n.places[j-1].at)}
			apart := !slices.ContainsFunc(chosen, func(c storage.TextRange) bool {
				return r.From <= c.To+nearBytes/2 && c.From <= r.To+nearBytes/2
			})
			if value > most && apart {
				best, found, most = r, words, value
			}
		}
		w := n.places[i].word
		if counts[w]--; counts[w] == 0 {
			words &^= 1 << w
		}
	}
	return best, found
}

// value returns what a window is worth: the weight of its words, in the first one also words in a row and their number.
func (n *nearFinder) value(words uint64, places []nearPlace, first bool) (sum float64) {
	for ; words != 0; words &= words - 1 {
		sum += n.words[bits.TrailingZeros64(words)].idf
	}
	if !first {
		return sum
	}
	row := 0.0
	for i := 1; i < len(places); i++ {
		a, b := &places[i-1], &places[i]
		if a.word != b.word && b.position-a.position == 1 {
			row = max(row, n.words[a.word].idf+n.words[b.word].idf)
		}
	}
	return sum + nextTo*row + 0.02*float64(min(len(places), 8))
}
