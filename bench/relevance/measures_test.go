// SPDX-License-Identifier: Apache-2.0

package relevance

import (
	"math"
	"strings"
	"testing"
)

// TestMeasures compares with values that were computed with pencil and paper from the definitions.
func TestMeasures(t *testing.T) {
	f := func(ranked string, g Gains, ap, ndcg3, p5 float64) {
		t.Helper()
		list := strings.Fields(ranked)
		for name, v := range map[string][2]float64{
			"average precision": {AveragePrecision(list, g), ap},
			"nDCG at 3":         {NDCG(list, g, 3), ndcg3},
			"precision at 5":    {Precision(list, g, 5), p5},
		} {
			if math.Abs(v[0]-v[1]) > 1e-9 {
				t.Errorf("%q with %v: %s is %.9f, want %.9f", ranked, g, name, v[0], v[1])
			}
		}
	}
	log3 := math.Log2(3) // the discount of rank 2; that of rank 3 is log2(4) = 2
	ideal := 1 + 1/log3  // two relevant documents of degree 1 in front

	f("", Gains{"a": 1}, 0, 0, 0)
	f("a b c", Gains{}, 0, 0, 0)
	f("a", Gains{"a": 1}, 1, 1, .2)
	f("a x c x e", Gains{"a": 1, "c": 1}, (1+2./3)/2, (1+.5)/ideal, .4)
	f("x a x c", Gains{"a": 1, "c": 1}, (1./2+2./4)/2, (1/log3)/ideal, .4)
	// One of three relevant documents is not found.
	f("a c", Gains{"a": 1, "b": 1, "c": 1}, (1+1.)/3, (1+1/log3)/(1+1/log3+.5), .4)
	// Degrees: 2 at rank 2 and 1 at rank 1 beside the best order.
	f("b a", Gains{"a": 2, "b": 1}, 1, (1+2/log3)/(2+1/log3), .4)
	// A negative degree is not relevant, and takes nothing away.
	f("n a", Gains{"a": 1, "n": -1}, .5, 1/log3, .2)
	// Only the first three count for nDCG at 3, only five for precision at 5.
	f("x y z a v b", Gains{"a": 1, "b": 1}, (1./4+2./6)/2, 0, .2)
}

func TestReciprocalRank(t *testing.T) {
	f := func(ranked, right string, rank int, reciprocal float64) {
		t.Helper()
		n := Rank(strings.Fields(ranked), func(id string) bool { return id == right })
		if r := ReciprocalRank(n); n != rank || r != reciprocal {
			t.Errorf("%s in %q has rank %d and %g, want %d and %g", right, ranked, n, r, rank, reciprocal)
		}
	}
	f("a b c", "a", 1, 1)
	f("a b c d", "d", 4, .25)
	f("a b", "z", 0, 0)
	f("", "z", 0, 0)
}

// TestRun: a mean is over the topics that have relevant documents; an empty answer counts as 0 and is counted.
func TestRun(t *testing.T) {
	c := Collection{
		Topics: []Topic{
			{ID: "1", Text: "one", Gains: Gains{"a": 1}},
			{ID: "2", Text: "two", Gains: Gains{"b": 1}},
			{ID: "3", Text: "three", Gains: Gains{"c": 1}},
			{ID: "4", Text: "four", Gains: Gains{}},
		},
	}
	answers := map[string][]string{"one": {"a"}, "two": {"x", "b"}, "four": {"x"}}
	search := func(query string, _ int) ([]string, error) { return answers[query], nil }
	f := func(half Half, want Scores) {
		t.Helper()
		got, err := c.Run(search, half)
		if err != nil || got.Topics != want.Topics || got.Judged != want.Judged || got.Empty != want.Empty ||
			math.Abs(got.MAP-want.MAP) > 1e-9 {
			t.Errorf("%s: %+v, %v, want %+v", half, got, err, want)
		}
	}
	f(All, Scores{Topics: 4, Judged: 3, Empty: 1, MAP: (1 + .5) / 3})
	f(Odd, Scores{Topics: 2, Judged: 2, Empty: 1, MAP: .5})
	f(Even, Scores{Topics: 2, Judged: 1, MAP: .5})
}
