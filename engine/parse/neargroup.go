// SPDX-License-Identifier: Apache-2.0

package parse

// NearGroup returns a number of 48 bits that near-duplicates have in common; 0 for less than 512 bytes of text, which
// are too few to tell. The text is cut into shingles as for SimHash. Of each eighth of the shingles' hashes the least
// one is kept (Broder 1997, "On the resemblance and containment of documents", with one permutation for all eight, as
// Li, Owen and Zhang 2012), and the eight together are the group. So two texts that share the part p of their shingles
// are of one group with a probability of about p to the power of 8: .92 for .99, .66 for .95, .17 for .8, .004 for .5.
// It may be called concurrently.
func NearGroup(text []byte) uint64 {
	if len(text) < shortContent {
		return 0
	}
	var least [nearBins]uint64
	for i := range least {
		least[i] = ^uint64(0)
	}
	shingles(text, func(h uint64) {
		if bin := &least[h%nearBins]; h < *bin {
			*bin = h
		}
	})
	group := uint64(0)
	for _, h := range least {
		group = mix(group + h)
	}
	return max(group>>16, 1)
}

// nearBins is the number of hashes that near-duplicates have in common.
const nearBins = 8
