// SPDX-License-Identifier: Apache-2.0

package index_test

import (
	"slices"
	"testing"

	"github.com/seine-crawler/seine/index"
)

// TestStemsOfOtherLanguages: a page in another language lends English words none of its stems that no page in it has,
// but its own words find each other, by their stem too, as long as a page with the stem is there.
func TestStemsOfOtherLanguages(t *testing.T) {
	s, x := newStore(t)
	in := func(language string, d index.Document) index.Document {
		d.Language = language
		return d
	}
	nat := in("en", doc(0, "Router setup",
		"The NAT gateway translates addresses. Pages are shown twenty per page, and the values are read."))
	repair := in("hu", doc(1, "Halászok", "A halászok javították a szakadt hálókat. A könyvtár zárva."))
	english := in("en", doc(2, "Words", "könyvtár is a library, and paquete a parcel; mending takes a while"))
	put(t, s, x, []index.Document{nat, repair, english})
	put(t, s, x, []index.Document{
		in("es-MX", doc(3, "Pescadores", "Los pescadores reparaban las redes rotas con paquete y aguja.")),
		in("ru", doc(4, "Сети", "Рыбаки чинят net и сеть, пакет с иглой, mend.")),
	})
	find := func(q string, want ...int) {
		t.Helper()
		got := numbers(strict(t, x, q))
		if slices.Sort(got); !slices.Equal(got, want) {
			t.Errorf("%s finds %v, want %v", q, got, want)
		}
	}
	find("nat", 0)
	find(`"national gateway"`)
	find("+national")
	find(`"period page"`)
	find("+areas")
	find("könyvtárból", 1, 2)
	find("hálók", 1)
	find("paquetes", 2, 3)
	find("пакетами", 4)
	find("nets", 4)
	find("mended", 2, 4)

	put(t, s, x, nil, repair.Key) // what was deleted speaks no language
	find("könyvtárból")
	find("könyvtár", 2)
}
