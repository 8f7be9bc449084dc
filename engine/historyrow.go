// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"encoding/binary"
	"math"
	"time"
)

// A row of the history in meta, all numbers big-endian:
//
//	version(1)  numbers(1)  stages(1)  number of the first sample(8)  step in seconds(8)
//	for each sample: end in Unix ms(8)  seconds(8)  Sample.numbers, 8 each  CPU by stage, 8 each
//
// Numbers but the first and the end are IEEE 754 doubles. A version of seine with other numbers or stages begins a new
// history: nothing else depends on it.
const (
	sampleVersion = 1
	sampleHeader  = 1 + 1 + 1 + 8 + 8
)

// appendSamples appends a row.
func appendSamples(dst []byte, first uint64, step float64, samples []Sample) []byte {
	put := func(f float64) { dst = binary.BigEndian.AppendUint64(dst, math.Float64bits(f)) }
	dst = append(dst, sampleVersion, byte(len((&Sample{}).numbers())), byte(stages))
	dst = binary.BigEndian.AppendUint64(dst, first)
	put(step)
	for i := range samples {
		s := &samples[i]
		dst = binary.BigEndian.AppendUint64(dst, uint64(s.Time.UnixMilli()))
		put(s.Seconds)
		for _, n := range s.numbers() {
			put(*n)
		}
		for _, c := range s.CPU {
			put(c.Seconds)
		}
	}
	return dst
}

// readSamples reads a row; false: it is of another format.
func readSamples(row []byte) (first uint64, step float64, samples []Sample, ok bool) {
	numbers := len((&Sample{}).numbers())
	size := 8 * (2 + numbers + int(stages))
	if len(row) < sampleHeader || (len(row)-sampleHeader)%size != 0 || row[0] != sampleVersion ||
		int(row[1]) != numbers || row[2] != byte(stages) {
		return 0, 0, nil, false
	}
	row = row[3:]
	take := func() uint64 {
		n := binary.BigEndian.Uint64(row)
		row = row[8:]
		return n
	}
	first, step = take(), math.Float64frombits(take())
	for len(row) > 0 {
		s := Sample{Time: time.UnixMilli(int64(take())).UTC(), Seconds: math.Float64frombits(take())}
		for _, n := range s.numbers() {
			*n = math.Float64frombits(take())
		}
		for stage := range stages {
			s.CPU = append(s.CPU, StageSeconds{stageNames[stage], math.Float64frombits(take())})
		}
		samples = append(samples, s)
	}
	return first, step, samples, true
}
