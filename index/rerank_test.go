// SPDX-License-Identifier: Apache-2.0

package index

import (
	"fmt"
	"strings"
	"testing"
)

// TestSecondPhaseTitle: words in a row in the title bring a page before one that has them as often, but apart.
func TestSecondPhaseTitle(t *testing.T) {
	w := &world{}
	page := func(title string) memoryDoc {
		return memoryDoc{fields: [fieldCount][]string{
			fieldTitle: strings.Fields(title), fieldBody: strings.Fields("x a x x x x x x b x"),
		}}
	}
	docs := []memoryDoc{page("a x x x b"), page("x a b x x"), page("x a x x b")}
	keys := []string{"0", "1", "2"}
	for i := range 20 {
		docs, keys = append(docs, page("y")), append(keys, fmt.Sprintf("3%02d", i))
		docs[len(docs)-1].fields[fieldBody] = []string{"z"}
	}
	for _, d := range docs {
		w.all.docs++
		for f := range d.fields {
			w.all.totals[f] += uint64(len(d.fields[f]))
		}
	}
	w.table = w.all.weights()
	w.parts = []*memoryPart{newMemoryPart(0, docs, keys, 2, true, w.table)}
	x := w.execution(3)
	x.onePhase = false
	best := x.run(&node{kind: nodeBool, should: []*node{{kind: nodeTerm, term: "a"}, {kind: nodeTerm, term: "b"}}})
	if len(best) != 3 || best[0].doc != 1 || best[1].doc != 2 || best[0].score <= best[1].score {
		t.Errorf("%v", best)
	}
}
