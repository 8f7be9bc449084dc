// SPDX-License-Identifier: Apache-2.0

package index

// sieve is what documents must pass beside the held words that score: all filters, and none of not.
type sieve struct {
	filters, not []iterator
	narrow       []iterator // filters of few documents, such as a host
	shut         bool       // nothing passes
}

// narrowPart is the part of all documents below which a filter is narrow.
const narrowPart = 4

// mayPass reports whether any document of a part may pass the filters of a query. It has bits of filters held that are
// to be held, before several goroutines ask for them.
func (x *execution) mayPass(p *part, q *heldQuery) bool {
	return len(x.openAll(p, q.filters, 1)) == len(q.filters)
}

// sieve opens the sieve of a query on a part.
func (x *execution) sieve(p *part, q *heldQuery) *sieve {
	v := &sieve{filters: x.openAll(p, q.filters, 1), not: x.openAll(p, q.not, 1)}
	v.shut = len(v.filters) < len(q.filters)
	for _, f := range v.filters {
		if f.cost() < uint64(p.docs)/narrowPart {
			v.narrow = append(v.narrow, f)
		}
	}
	return v
}

// sifts reports whether there is something that a document may not pass.
func (v *sieve) sifts() bool { return len(v.filters)+len(v.not) > 0 }

// passes reports whether a window of sumDocs may have documents that pass. Windows come in order.
func (v *sieve) passes(lo uint32) bool {
	for _, f := range v.narrow {
		if f.seek(lo)-lo >= sumDocs {
			return false
		}
	}
	return !v.shut
}

// heldLeft clears the bits of the documents of the window from lo on that are deleted or do not pass a sieve, and
// counts those that are left.
func (r *ranker) heldLeft(lo uint32, of *sumBits, v *sieve) (count uint64) {
	for _, f := range v.filters {
		var in sumBits
		f.mark(&window{lo, in[:]})
		for i, b := range in {
			of[i] &= b
		}
	}
	for _, n := range v.not {
		var out sumBits
		n.mark(&window{lo, out[:]})
		for i, b := range out {
			of[i] &^= b
		}
	}
	count = (&window{lo, of[:]}).alive(r.part.dead)
	r.note(lo, of[:])
	return count
}
