// SPDX-License-Identifier: Apache-2.0

package phases

import (
	"cmp"
	"encoding/binary"
	"math"
	"slices"

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

// applyLinks makes a record what it becomes by the links, and by being named as a sitemap. The record is known, or one
// that newRecord made.
func (p *Phases) applyLinks(x linkSum, r *storage.Record, known, sitemap bool) {
	sum := x.score
	if sitemap && !known { // one that is known keeps what it has
		sum += p.seedScore()
	}
	if x.any || sitemap && !known {
		r.Score = finite(p.env.Scorer.Update(r.Score, finite(sum)))
	}
	switch {
	case sitemap:
		if !known || !r.IsSeed() {
			noteSitemap(r)
		}
		r.Depth, r.Hops = 0, 0
	case x.any:
		r.Depth, r.Hops = min(r.Depth, x.depth), min(r.Hops, x.hops)
	}
	if x.any || sitemap || !known {
		p.scoreByDepth(r)
	}
}

// scoreByDepth gives a record whose depth may have changed the score of its depth, if scores follow from that.
func (p *Phases) scoreByDepth(r *storage.Record) {
	if s, ok := p.env.Scorer.(policy.DepthScorer); ok {
		r.Score = finite(s.AtDepth(r.Depth))
	}
}

// noteLowered notes a page whose links know another depth, or other hops, than the record that it gets.
func noteLowered(w *storage.TableWriter, key []byte, was, r *storage.Record) error {
	fetched := was.LastFetch != 0 || r.LastFetch != 0
	seeded := was.IsSitemap() && !r.IsSitemap() // what it redirects to comes into the scope
	if !fetched || r.Depth >= was.Depth && r.Hops >= was.Hops && !seeded {
		return nil
	}
	return w.Set(key, []byte{was.Hops})
}

// noteSitemap notes in a record's metadata that it is of depth 0 and no seed.
func noteSitemap(r *storage.Record) {
	if !r.IsSitemap() && len(r.Meta) < storage.MetaFieldsMax {
		r.Meta = append(slices.Clip(r.Meta), storage.Field{Name: storage.MetaSitemap, Value: storage.SitemapNamed})
	}
}

// endSitemap takes that note back.
func endSitemap(r *storage.Record) {
	if r.IsSitemap() {
		r.Meta = slices.DeleteFunc(slices.Clone(r.Meta), func(f storage.Field) bool {
			return f.Name == storage.MetaSitemap
		})
	}
}

// deeper is the depth of what a page links to.
func deeper(depth uint16) uint16 {
	if depth < math.MaxUint16 {
		depth++
	}
	return depth
}

// newRecord is the record of a URL that was not known, before links give it a score.
func (p *Phases) newRecord(links linkSum, sitemap bool, now int64) storage.Record {
	r := storage.Record{Status: storage.StatusUnfetched, FetchTime: now, Interval: p.interval}
	if links.any && !sitemap {
		r.Depth, r.Hops = links.depth, links.hops
	}
	return r
}

// input is what one segment says about one URL: at most one outcome, the sum of its links, whether it was named as a
// sitemap, what sitemaps and feeds say of it, by which URL a redirect to it is better known, whether a sitemap
// redirects to it, the record that it has as the other spelling of a seed, and whether the fetchlist has it although
// crawldb does not know it.
//
//	value: flags byte (1 outcome, 2 link, 4 sitemap, 8 shown as, 16 hint, 32 of sitemap, 64 seed, 128 listed) |
//	       hops byte | score float64 | depth uint16 | hint, if any | length uint16 and text of shown as, if any |
//	       length uint32 and record of the seed, if any | outcome…
type input struct {
	links            linkSum
	outcome, sitemap bool
	ofSitemap        bool // a sitemap redirects here
	listed           bool // see addListed
	hint             hint
	shownAs          string // "": nothing else than it is
	seed             []byte // see addInstead; nil: it is no seed's other spelling
	encoded          []byte // the outcome
}

const (
	inputOutcome = 1 << iota
	inputLink
	inputSitemap
	inputShownAs
	inputHint
	inputOfSitemap
	inputSeed
	inputListed

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
	if in.shownAs != "" {
		flags |= inputShownAs
	}
	if in.hint != (hint{}) {
		flags |= inputHint
	}
	if in.ofSitemap {
		flags |= inputOfSitemap
	}
	if in.seed != nil {
		flags |= inputSeed
	}
	if in.listed {
		flags |= inputListed
	}
	dst = append(dst, flags, in.links.hops)
	dst = binary.LittleEndian.AppendUint64(dst, math.Float64bits(in.links.score))
	dst = binary.LittleEndian.AppendUint16(dst, in.links.depth)
	if in.hint != (hint{}) {
		dst = in.hint.append(dst)
	}
	if in.shownAs != "" {
		dst = append(binary.LittleEndian.AppendUint16(dst, uint16(len(in.shownAs))), in.shownAs...)
	}
	if in.seed != nil {
		dst = append(binary.LittleEndian.AppendUint32(dst, uint32(len(in.seed))), in.seed...)
	}
	if o != nil {
		dst = storage.AppendFetchOutcome(dst, o) // which has no links: the join needs the outcome only
	}
	return append(dst, in.encoded...)
}

func readInput(v []byte) input {
	in := input{
		outcome: v[0]&inputOutcome != 0,
		sitemap: v[0]&inputSitemap != 0, ofSitemap: v[0]&inputOfSitemap != 0, listed: v[0]&inputListed != 0,
		links: linkSum{
			any:   v[0]&inputLink != 0,
			hops:  v[1],
			score: math.Float64frombits(binary.LittleEndian.Uint64(v[2:])),
			depth: binary.LittleEndian.Uint16(v[10:]),
		},
		encoded: v[inputHead:],
	}
	if v[0]&inputHint != 0 {
		in.hint, in.encoded = readHint(in.encoded)
	}
	if v[0]&inputShownAs != 0 {
		n := 2 + int(binary.LittleEndian.Uint16(in.encoded))
		in.shownAs, in.encoded = string(in.encoded[2:n]), in.encoded[n:]
	}
	if v[0]&inputSeed != 0 {
		n := 4 + int(binary.LittleEndian.Uint32(in.encoded))
		in.seed, in.encoded = in.encoded[4:n], in.encoded[n:]
	}
	return in
}

// betterShownAs returns the shorter of two URLs by which a page may be shown, of equally long ones the lesser, so that
// the order of redirects does not matter. "" is none.
func betterShownAs(a, b string) string {
	switch {
	case a == "" || b != "" && cmp.Or(cmp.Compare(len(b), len(a)), cmp.Compare(b, a)) < 0:
		return b
	}
	return a
}

// noteShownAs notes in a record's metadata by which URL its page is shown.
func noteShownAs(r *storage.Record, u string) {
	for i, f := range r.Meta {
		if f.Name == policy.MetaRedirectURL {
			r.Meta = slices.Clone(r.Meta)
			r.Meta[i].Value = betterShownAs(f.Value, u)
			return
		}
	}
	r.Meta = append(slices.Clip(r.Meta), storage.Field{Name: policy.MetaRedirectURL, Value: u})
}

// foldInputs adds up links and keeps the outcome, of which there is at most one.
func foldInputs(dst, a, b []byte) []byte {
	x, y := readInput(a), readInput(b)
	x.links = x.links.plus(y.links)
	x.sitemap, x.ofSitemap, x.listed = x.sitemap || y.sitemap, x.ofSitemap || y.ofSitemap, x.listed || y.listed
	x.hint = x.hint.plus(y.hint)
	x.shownAs = betterShownAs(x.shownAs, y.shownAs)
	if x.seed == nil {
		x.seed = y.seed
	}
	if y.outcome {
		x.outcome, x.encoded = true, y.encoded
	}
	return appendInput(dst, &x, nil)
}
