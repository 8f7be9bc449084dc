// SPDX-License-Identifier: Apache-2.0

package phases

import (
	"bytes"
	"encoding/binary"
	"math"

	"github.com/seine-crawler/seine/engine/policy"
	"github.com/seine-crawler/seine/storage"
)

// linkSum is what links say of their target.
type linkSum struct {
	any   bool // there is a link
	hops  uint8
	depth uint16
	score float64
}

// plus adds another sum. The order does not matter, if the scores add up exactly (see policy.VoteScorer).
func (x linkSum) plus(y linkSum) linkSum {
	switch {
	case x.any && y.any:
		x.score, x.depth, x.hops = x.score+y.score, min(x.depth, y.depth), min(x.hops, y.hops)
	case y.any:
		x = y
	}
	return x
}

// applyTo makes a record what it becomes by the links, and by being named as a sitemap. The record is known, or one
// that newRecord made.
func (x linkSum) applyTo(r *storage.Record, known, sitemap bool, scorer policy.Scorer) {
	sum := x.score
	if sitemap && !known { // one that is known keeps what it has
		sum += scorer.Inject(1)
	}
	if x.any || sitemap && !known {
		r.Score = scorer.Update(r.Score, sum)
	}
	if x.any {
		r.Depth, r.Hops = min(r.Depth, x.depth), min(r.Hops, x.hops)
	}
}

// noteLowered notes a page whose links know another depth, or other hops, than the record that it gets.
func noteLowered(w *storage.TableWriter, key []byte, was, r *storage.Record) error {
	fetched := was.LastFetch != 0 || r.LastFetch != 0
	if !fetched || r.Depth >= was.Depth && r.Hops >= was.Hops {
		return nil
	}
	return w.Set(key, []byte{was.Hops})
}

// follows reports whether the current link of a page counts. Its redirect counts for itself.
func follows(link *storage.OutlinkReader, page []byte, o *storage.FetchOutcome) bool {
	to := link.Key()
	return !link.NoFollow() && !bytes.Equal(to, page) && string(to) != string(o.Redirect)
}

// deeper is the depth of what a page links to.
func deeper(depth uint16) uint16 {
	if depth < math.MaxUint16 {
		depth++
	}
	return depth
}

// newRecord is the record of a URL that was not known, before links give it a score.
func newRecord(links linkSum, sitemap bool, now int64) storage.Record {
	r := storage.Record{Status: storage.StatusUnfetched, FetchTime: now, Interval: policy.DefaultInterval}
	if links.any && !sitemap {
		r.Depth, r.Hops = links.depth, links.hops
	}
	return r
}

// input is what one segment says about one URL: at most one outcome, the sum of its links, and whether it
// was named as a sitemap.
//
//	value: flags byte (1 outcome, 2 link, 4 sitemap) | hops byte | score float64 | depth uint16 | outcome…
type input struct {
	links            linkSum
	outcome, sitemap bool
	encoded          []byte // the outcome
}

const (
	inputOutcome = 1 << iota
	inputLink
	inputSitemap

	inputHead = 12
)

func appendInput(dst []byte, in *input, o *storage.FetchOutcome) []byte {
	var flags byte
	if in.outcome {
		flags |= inputOutcome
	}
	if in.links.any {
		flags |= inputLink
	}
	if in.sitemap {
		flags |= inputSitemap
	}
	dst = append(dst, flags, in.links.hops)
	dst = binary.LittleEndian.AppendUint64(dst, math.Float64bits(in.links.score))
	dst = binary.LittleEndian.AppendUint16(dst, in.links.depth)
	if o != nil {
		dst = storage.AppendFetchOutcome(dst, o) // which has no links: the join needs the outcome only
	}
	return append(dst, in.encoded...)
}

func readInput(v []byte) input {
	return input{
		outcome: v[0]&inputOutcome != 0,
		sitemap: v[0]&inputSitemap != 0,
		links: linkSum{
			any:   v[0]&inputLink != 0,
			hops:  v[1],
			score: math.Float64frombits(binary.LittleEndian.Uint64(v[2:])),
			depth: binary.LittleEndian.Uint16(v[10:]),
		},
		encoded: v[inputHead:],
	}
}

// foldInputs adds up links and keeps the outcome, of which there is at most one.
func foldInputs(dst, a, b []byte) []byte {
	x, y := readInput(a), readInput(b)
	x.links = x.links.plus(y.links)
	x.sitemap = x.sitemap || y.sitemap
	if y.outcome {
		x.outcome, x.encoded = true, y.encoded
	}
	return appendInput(dst, &x, nil)
}

// foldLast keeps the later of two values of one key.
func foldLast(dst, _, b []byte) []byte { return append(dst, b...) }
