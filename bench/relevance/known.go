// SPDX-License-Identifier: Apache-2.0

package relevance

import (
	"fmt"
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

// KnownItems draws n texts of links to be queries, the same for the same tree and seed. A text qualifies if all links
// with it lead to one page, which is not the page that the link is on, and if it has letters. An engine that has
// indexed the drawn texts as anchors finds them by the very words: Inlinks can leave them out.
func (t *Tree) KnownItems(n int, seed uint64) (items []Item) {
	exists := map[string]bool{}
	for i := range t.Pages {
		exists[t.Pages[i].URL.String()] = true
	}
	const several = "" // in targets: the text leads to more than one page
	targets := map[string]string{}
	for i := range t.Pages {
		own := t.Pages[i].URL.String()
		for _, l := range t.Pages[i].Links {
			if !exists[l.Target] || l.Target == own || len(l.Anchor) < anchorLeast || len(l.Anchor) > anchorMost {
				continue
			}
			key := strings.ToLower(l.Anchor)
			if before, known := targets[key]; known && before != l.Target {
				targets[key] = several
			} else {
				targets[key] = l.Target
			}
		}
	}
	for text, target := range targets {
		if target != several && strings.ContainsFunc(text, isLetter) {
			items = append(items, Item{text, target})
		}
	}
	slices.SortFunc(items, func(a, b Item) int { return strings.Compare(a.Query, b.Query) })
	rng := rand.New(rand.NewPCG(seed, seed))
	rng.Shuffle(len(items), func(i, j int) { items[i], items[j] = items[j], items[i] })
	return items[:min(n, len(items))]
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
