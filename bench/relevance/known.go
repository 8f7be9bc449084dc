// SPDX-License-Identifier: Apache-2.0

package relevance

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
)

// Item is a query with its one right answer.
type Item struct{ Query, URL string }

// KnownScores are the means over items.
type KnownScores struct {
	Items, Empty        int
	MRR                 float64 // the mean of 1/rank among the first ten; 0 where the page is not among them
	Success1, Success10 float64 // the shares of items found at rank 1, and among the first ten
}

const (
	anchorLeast = 8   // bytes of the text of a link that names a page; "here" and "next" do not
	anchorMost  = 120 // bytes
)

// KnownItems draws n texts of links to be queries, the same for the same tree and seed. The right answer is the page
// that more than half of the links with the text lead to. A text is drawn the more often the more pages link with it to
// its answer, as people look for what is known well more often than for other things; so a static score can help. Links
// of a page to itself do not count, nor do texts without letters. An engine that has indexed the drawn texts as anchors
// finds them by the very words: Inlinks can leave them out.
func (t *Tree) KnownItems(n int, seed uint64) []Item {
	votes := t.votes()
	var ballot []Item // an item as often as pages link with its text to its answer
	for _, text := range slices.Sorted(maps.Keys(votes)) {
		all, best, answer := 0, 0, ""
		for target, n := range votes[text] {
			all += n
			if n > best {
				best, answer = n, target
			}
		}
		if 2*best > all {
			ballot = append(ballot, slices.Repeat([]Item{{text, answer}}, best)...)
		}
	}
	rng := rand.New(rand.NewPCG(seed, seed))
	rng.Shuffle(len(ballot), func(i, j int) { ballot[i], ballot[j] = ballot[j], ballot[i] })
	var items []Item
	drawn := map[string]bool{}
	for _, item := range ballot {
		if len(items) < n && !drawn[item.Query] {
			drawn[item.Query] = true
			items = append(items, item)
		}
	}
	return items
}

// votes counts, by the text of links in lower case and their target, the pages that link so.
func (t *Tree) votes() map[string]map[string]int {
	exists := map[string]bool{}
	for i := range t.Pages {
		exists[t.Pages[i].URL.String()] = true
	}
	votes := map[string]map[string]int{}
	for i := range t.Pages {
		own := t.Pages[i].URL.String()
		counted := map[Link]bool{}
		for _, l := range t.Pages[i].Links {
			l.Anchor = strings.ToLower(l.Anchor)
			if !exists[l.Target] || l.Target == own || counted[l] || len(l.Anchor) < anchorLeast ||
				len(l.Anchor) > anchorMost || !strings.ContainsFunc(l.Anchor, isLetter) {
				continue
			}
			counted[l] = true
			if votes[l.Anchor] == nil {
				votes[l.Anchor] = map[string]int{}
			}
			votes[l.Anchor][l.Target]++
		}
	}
	return votes
}

func isLetter(r rune) bool { return r >= 'a' && r <= 'z' || r >= 0x80 }

// Inlinks returns, for each page of the tree by URL, the distinct texts of links to it, and the number of pages that
// link to it. Texts that are queries of items are left out, if any are given: otherwise an engine that indexes the
// texts of links would find every page by the very words.
func (t *Tree) Inlinks(without []Item) (anchors map[string][]string, pages map[string]int) {
	drawn := map[string]bool{}
	for _, i := range without {
		drawn[i.Query] = true
	}
	anchors, pages = map[string][]string{}, map[string]int{}
	for i := range t.Pages {
		own := t.Pages[i].URL.String()
		counted := map[string]bool{}
		for _, l := range t.Pages[i].Links {
			if l.Target == own {
				continue
			}
			if !counted[l.Target] {
				counted[l.Target] = true
				pages[l.Target]++
			}
			if !drawn[strings.ToLower(l.Anchor)] && !slices.Contains(anchors[l.Target], l.Anchor) {
				anchors[l.Target] = append(anchors[l.Target], l.Anchor)
			}
		}
	}
	return anchors, pages
}

// RunKnown sends the items to an engine, whose identifiers are URLs.
func RunKnown(search Search, items []Item) (s KnownScores, err error) {
	for _, item := range items {
		ranked, err := search(item.Query, 10)
		if err != nil {
			return s, fmt.Errorf("item %q: %w", item.Query, err)
		}
		s.Items++
		if len(ranked) == 0 {
			s.Empty++
		}
		rank := Rank(ranked, func(id string) bool { return id == item.URL })
		s.MRR += ReciprocalRank(rank)
		if rank == 1 {
			s.Success1++
		}
		if rank > 0 {
			s.Success10++
		}
	}
	if n := float64(s.Items); n > 0 {
		s.MRR, s.Success1, s.Success10 = s.MRR/n, s.Success1/n, s.Success10/n
	}
	return s, nil
}
