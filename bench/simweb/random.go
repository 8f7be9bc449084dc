// SPDX-License-Identifier: Apache-2.0

package simweb

import (
	"math"
	"math/bits"
)

// Streams of random numbers, one for each thing that is drawn. A new draw takes a new stream, so that it does not
// change the others.
const (
	drawPage = iota + 1
	drawText
	drawLinks
	drawOriginal
	drawTime
	drawChunk
	drawLatency
	drawRedirect
	drawGraph
)

// rng is wyrand (Wang Yi 2019): a 64-bit counter through a folded 128-bit product, with one multiplication where
// splitmix64 has two. A page of fifty links draws some five hundred numbers.
type rng struct{ s uint64 }

func mix(a, b uint64) uint64 {
	hi, lo := bits.Mul64(a^0x2d358dccaa6c78a5, b^0x8bb84b93962eacc9)
	return hi ^ lo
}

// newRNG is the stream of one thing of a page (host and number) of a web.
func newRNG(seed, stream uint64, host, number int) rng {
	return rng{mix(mix(seed, stream), mix(uint64(host), uint64(number)))}
}

func (r *rng) next() uint64 {
	r.s += 0xa0761d6478bd642f
	hi, lo := bits.Mul64(r.s, r.s^0xe7037ed1a0b428db)
	return hi ^ lo
}

// below is uniform in [0, n), n > 0 (Lemire 2019, without the rejection: n is far below 2^32).
func (r *rng) below(n int) int {
	hi, _ := bits.Mul64(r.next(), uint64(n))
	return int(hi)
}

// share is uniform in [0, 1).
func (r *rng) share() float64 { return float64(r.next()>>11) / (1 << 53) }

func (r *rng) chance(p float64) bool { return p > 0 && r.share() < p }

// skewed is in [0, n), the product of two uniform numbers: small numbers are more frequent.
func (r *rng) skewed(n int) int {
	hi, _ := bits.Mul64(r.next(), r.next())
	hi, _ = bits.Mul64(hi, uint64(n))
	return int(hi)
}

// spread is a low-discrepancy sequence over the hosts: i·α modulo 1 for an irrational α, shifted by the seed. Shares of
// hosts that are drawn from it are nearly exact even in webs of a few hosts, where independent draws would miss a
// language or a charset. Different things take different α, so that they stay independent of each other.
func (w *Web) spread(alpha uint64, host int) uint64 {
	return uint64(host)*alpha + mix(w.p.Seed, alpha)
}

// Fractional parts of irrational numbers, times 2^64.
const (
	alphaGolden = 0x9e3779b97f4a7c15
	alphaSqrt2  = 0x6a09e667f3bcc909
	alphaSqrt3  = 0xbb67ae8584caa73b
	alphaSqrt5  = 0x3c6ef372fe94f82b
	alphaSqrt7  = 0xa54ff53a5f1d36f1
	alphaSqrt11 = 0x510e527fade682d1
	alphaSqrt13 = 0x9b05688c2b3e6c1f
)

func unit(x uint64) float64 { return float64(x>>11) / (1 << 53) }

// quantiles is the number of steps of the tables of log-normal numbers. Their tails end at the quantile of half a step,
// 3.5 standard deviations from the mean.
const quantiles = 4096

// logNormal tabulates the quantiles of a log-normal distribution, so that a draw is a lookup. Values
// are rounded to whole numbers between lo and hi.
func logNormal(median, sigma float64, lo, hi int) *[quantiles]int32 {
	t := new([quantiles]int32)
	for i := range t {
		z := math.Sqrt2 * math.Erfinv(2*(float64(i)+0.5)/quantiles-1)
		t[i] = int32(min(max(math.Round(median*math.Exp(sigma*z)), float64(lo)), float64(hi)))
	}
	return t
}

func (r *rng) of(t *[quantiles]int32) int { return int(t[r.next()>>(64-12)]) }

// smallestPages is the lower end of the power law of pages per host: the xmin for which the law, cut at most, has the
// mean mean. It is found by bisection.
func smallestPages(mean, exponent, most float64) float64 {
	lo, hi := 0.0, mean+1
	for range 60 {
		mid := (lo + hi) / 2
		sum := 0.0
		const steps = 1 << 12
		for i := range steps {
			sum += math.Floor(powerLaw(mid, exponent, most, (float64(i)+0.5)/steps))
		}
		if sum/steps < mean {
			lo = mid
		} else {
			hi = mid
		}
	}
	return hi
}

// powerLaw inverts the distribution with density x^-exponent above xmin, cut to [1, most], at u.
func powerLaw(xmin, exponent, most, u float64) float64 {
	return min(max(xmin*math.Pow(1-u, -1/(exponent-1)), 1), most)
}
