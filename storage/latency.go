// SPDX-License-Identifier: Apache-2.0

package storage

import (
	"encoding/binary"
	"math"
	"math/bits"
)

// latencyBuckets is the number of buckets of a Latency. The last one has everything from 46 s on.
const latencyBuckets = 32

// Latency counts durations in buckets whose bounds grow by √2, so that quantiles of any number of them take few bytes:
// mostly 8 to 20 as stored, at most five for each bucket. Bucket 0 is below √2 ms, bucket i from √2^i to √2^(i+1) ms.
// Sketches are merged by adding them up, in any order, without further error. The zero value has no durations.
type Latency [latencyBuckets]uint32

// Add counts a duration, in ms. A full bucket stays full.
func (l *Latency) Add(ms uint64) {
	if n := &l[latencyBucket(ms)]; *n < math.MaxUint32 {
		*n++
	}
}

// Merge counts all durations of another sketch too.
func (l *Latency) Merge(other *Latency) {
	for i, n := range other {
		l[i] += min(n, math.MaxUint32-l[i])
	}
}

// latencyBucket is ⌊2 log2 ms⌋, bounded.
func latencyBucket(ms uint64) int {
	if ms <= 1 {
		return 0
	}
	power := bits.Len64(ms) - 1
	if power >= latencyBuckets/2 {
		return latencyBuckets - 1
	}
	bucket := 2 * power
	if ms*ms >= 2<<(2*power) { // ms ≥ √2 · 2^power
		bucket++
	}
	return bucket
}

// Count is the number of durations.
func (l *Latency) Count() (n uint64) {
	for _, m := range l {
		n += uint64(m)
	}
	return n
}

// Quantile returns the duration, in ms, that a share q of all durations does not exceed, by nearest rank; 0 without
// durations. It is the geometric middle of its bucket, so for durations of 2 ms to 46 s it is wrong by at most 19%
// (a factor of √√2), or half a millisecond by rounding. Longer ones count as 55 s.
func (l *Latency) Quantile(q float64) uint32 {
	total := l.Count()
	if total == 0 {
		return 0
	}
	rank := uint64(max(math.Ceil(q*float64(total)), 1))
	sum := uint64(0)
	for i, n := range l {
		if sum += uint64(n); sum >= rank {
			return uint32(math.Round(math.Exp2((float64(i) + .5) / 2)))
		}
	}
	return math.MaxUint32 // q > 1
}

// append appends the buckets between the first and the last that are not empty: the first, their number, each count.
func (l *Latency) append(dst []byte) []byte {
	first, end := 0, latencyBuckets
	for first < end && l[first] == 0 {
		first++
	}
	for end > first && l[end-1] == 0 {
		end--
	}
	dst = append(dst, byte(first), byte(end-first))
	for _, n := range l[first:end] {
		dst = binary.AppendUvarint(dst, uint64(n))
	}
	return dst
}

// decode reads what append wrote.
func (l *Latency) decode(d *decoder) {
	first, n := int(d.byte()), int(d.byte())
	if n == 0 || first+n > latencyBuckets {
		d.fail()
		return
	}
	for i := range n {
		l[first+i] = d.uint32()
	}
	if l[first] == 0 || l[first+n-1] == 0 {
		d.fail()
	}
}
