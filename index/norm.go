// SPDX-License-Identifier: Apache-2.0

package index

import (
	"math"
)

// Lengths of fields are kept in one byte a field and document, a norm. Up to 32 words it is exact; above, neighbouring
// codes are 3.5% apart, up to maxLength. Scores and averages see the coded length only, so that they do not depend on
// what else is known of a document.

// exactLength is the largest length up to which each has its code.
const exactLength = 32

// normLength is the length that a code stands for.
var normLength = func() (t [256]float64) {
	step := math.Pow(maxLength/float64(exactLength), 1/float64(255-exactLength))
	at := float64(exactLength)
	for c := range t {
		if c <= exactLength {
			t[c] = float64(c)
			continue
		}
		at *= step
		t[c] = max(math.Round(at), t[c-1]+1)
	}
	t[255] = maxLength
	return t
}()

// normOf returns the code of a length in words: that of the largest coded length that is not above it.
func normOf(words int) uint8 {
	if words <= exactLength {
		return uint8(max(words, 0))
	}
	lo, hi := exactLength, 256
	for hi-lo > 1 {
		mid := (lo + hi) / 2
		if normLength[mid] <= float64(words) {
			lo = mid
		} else {
			hi = mid
		}
	}
	return uint8(lo)
}

// Impacts. The impact of a posting is what a score saturates: the sum over the fields of weight × frequency / (1 - b +
// b × length / reference), where the references are the average lengths when the index segment was written. A code is
// the logarithm of the largest impact of a block, in steps of 1/16 of a doubling, rounded up: 128 is an impact of 1.
const (
	impactSteps = 16
	impactOne   = 128
	impactMost  = 255 // code of all impacts above, and bound of none
)

// impactCode returns the code of an impact, from 1 to impactMost.
func impactCode(tf float64) uint8 {
	code := math.Ceil(math.Log2(tf*(1+1e-9))*impactSteps) + impactOne
	return uint8(min(max(code, 1), impactMost)) // tf is not NaN
}

// impactBound returns what no impact with this code or a lower one exceeds: +Inf for the highest code.
func impactBound(code uint16) float64 {
	if code >= impactMost {
		return math.Inf(1)
	}
	return math.Exp2((float64(code) - impactOne) / impactSteps)
}
