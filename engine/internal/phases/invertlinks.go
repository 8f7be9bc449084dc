// SPDX-License-Identifier: Apache-2.0

package phases

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"unicode/utf8"

	"github.com/zeebo/xxh3"

	"github.com/seine-crawler/seine/storage"
	"github.com/seine-crawler/seine/storage/urlkey"
)

// Inverted counts what invertlinks wrote.
type Inverted struct {
	Segment uint32
	Targets uint64
	Inlinks uint64
}

// InvertLinks inverts the outlinks of an updated segment: linkdb gains, for each target, the
// list of this segment's pages that link to it, with their anchor texts. When a page is fetched
// again, its links come once more under the later segment, and readers take the newest of a source;
// storage.Inlinks leaves out links that the newest version of their page no longer has (Nutch never
// removes a link).
//
// Links within a host and links that leave the scope are kept too: they are what the page said. The reader decides what
// to do with them. Links that Env.Links does not count are left out, and as in Nutch those that must not be followed,
// and all links of pages that say so of theirs; Env.NoFollowLinks keeps these.
//
// Of many links to a target, the texts of those are kept whose pages have the best scores in crawldb as of now.
//
// It may run at the same time as any other phase, and as itself for another segment.
func (p *Phases) InvertLinks(ctx context.Context, segment uint32) (Inverted, error) {
	result := Inverted{Segment: segment}
	seg, err := SegmentIn(p.env.Store, segment, "invertlinks", storage.SegmentUpdated)
	if err != nil {
		return result, err
	}
	ing := p.env.Store.NewIngestion()
	defer ing.Abort()
	if err = p.invert(ctx, &seg, ing, &result); err == nil {
		err = p.linksAnew(segment, ing)
	}
	if err == nil {
		ing.KeepRefreshed() // a refresh reads the segment's links
		seg.State = storage.SegmentLinked
		err = ing.PutSegment(seg)
	}
	if err == nil {
		err = p.commit(StepInvertLinks, ing)
	}
	if err != nil {
		return result, fmt.Errorf("invertlinks of segment %d: %w", segment, err)
	}
	return result, nil
}

// invert gathers the links by target and writes one linkdb value per target, its inlinks in the order
// of their sources, so that they front-code well. Of a large segment several goroutines each gather the links of a part
// of the pages, and then write a part of the targets.
func (p *Phases) invert(ctx context.Context, seg *storage.Segment, ing *storage.Ingestion, result *Inverted) error {
	pages, err := p.partsOf(storage.ParseLinks(seg.Number), seg.Counts.Attempts())
	if err != nil {
		return err
	}
	inversions := make([]*inversion, len(pages))
	sorters := make([]*storage.Sorter, len(pages)) // in the order of sources, as foldInlinks needs them
	for i := range inversions {
		inversions[i] = p.newInversion(len(pages))
		sorters[i] = inversions[i].values
		defer inversions[i].close()
	}
	err = p.together(ctx, StepInvertLinks, len(pages), func(ctx context.Context, i int) error {
		var to []byte
		if i+1 < len(pages) {
			to = pages[i+1]
		}
		return inversions[i].collect(ctx, seg.Number, pages[i], to)
	})
	if err != nil {
		return err
	}
	parts, err := p.sortParts(sorters)
	if err != nil {
		return fmt.Errorf("sorting links by target: %w", err)
	}
	defer storage.CloseParts(parts)
	tables, counts := ing.TableParts(storage.Linkdb(), storage.Froms(parts)), make([]Inverted, len(parts))
	err = p.together(ctx, StepInvertLinks, len(parts), func(ctx context.Context, i int) error {
		return writeInlinks(ctx, seg.Number, parts[i].Run, tables[i], &counts[i])
	})
	for _, c := range counts {
		result.Targets += c.Targets
		result.Inlinks += c.Inlinks
	}
	return err
}

// writeInlinks writes and counts a run of values.
func writeInlinks(
	ctx context.Context, segment uint32, run *storage.Run, to *storage.TableWriter, count *Inverted,
) error {
	var key []byte
	for n := 0; run.Next(); n++ {
		if n%ctxCheckKeys == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		links := readGathered(run.Value())
		count.Targets++
		count.Inlinks += uint64(links.links)
		key = storage.AppendLinkdbKey(key[:0], run.Key(), segment)
		if err := to.Set(key, links.list); err != nil {
			return err
		}
	}
	return run.Err()
}

// inversion inverts the links of some neighbouring pages: of as many as fit into memory, in a list for each target,
// newest first; when memory is full, they go to the sorter as encoded inlinks. It belongs to one goroutine.
type inversion struct {
	p        *Phases
	env      *Env
	memory   int64           // bytes of targets and all that is kept beside them
	rowBytes int             // of a target's links in one segment
	values   *storage.Sorter // target → gathered

	targets KeyTable
	last    []int32 // of each target's links, by target's number
	links   []inverted
	sources KeyTable // numbers are in key order, as pages are
	scores  []float32
	anchors []byte

	list   []inverted
	record storage.Record
	row    gathered
	best   gathered
	value  []byte
}

// inverted is a link seen from its target. It holds no pointers.
type inverted struct {
	before   int32 // of the same target, index in links plus one
	source   uint32
	from, to uint32 // anchor
}

const invertedBytes = 16

// newInversion makes one of n that work at the same time. It takes the memory of an earlier one.
func (p *Phases) newInversion(n int) *inversion {
	memory := p.env.TableBytes / int64(n)
	v, ok := p.inversions.take().(*inversion)
	if !ok || v.room() > spareFactor*memory { // it was one of fewer
		v = new(inversion)
	}
	v.rowBytes = p.rowBytes
	v.p, v.env, v.memory, v.values = p, &p.env, memory, p.sorterOf(n, foldInlinks(p.env.MaxInlinks, p.rowBytes))
	return v
}

// close removes temporary files and keeps the memory for the next.
func (v *inversion) close() {
	_ = v.values.Close() // the next start removes what is left
	v.values = nil
	v.reset()
	if v.room() <= spareFactor*v.memory {
		v.p.inversions.put(v, max(v.env.Processors, 1))
	}
}

// room is the memory that it has, in use or not.
func (v *inversion) room() int64 {
	return v.targets.Room() + v.sources.Room() + int64(4*(cap(v.last)+cap(v.scores))+
		invertedBytes*(cap(v.links)+cap(v.list))+cap(v.anchors)+cap(v.value)) + v.row.room() + v.best.room()
}

// collect reads the segment's parse records from one key on up to another.
func (v *inversion) collect(ctx context.Context, segment uint32, from, to []byte) (err error) {
	sc := v.env.Store.Scan(storage.ParseLinks(segment), from, to)
	records := storage.NewFinder(v.env.Store, storage.Crawldb())
	defer func() { err = errors.Join(err, sc.Close(), records.Close()) }()
	var page storage.FetchOutcome
	var links storage.OutlinkReader
	for n := 0; sc.Next(); n++ {
		if n%ctxCheckPages == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		err := storage.ReadFetchOutcome(sc.Value(), &page, &links)
		if err == nil {
			err = v.page(sc.Key(), &page, &links, records)
		}
		if err != nil {
			return fmt.Errorf("parse record %s: %w", sc.Key(), err)
		}
		used := v.sources.Bytes() + int64(len(v.anchors)) + invertedBytes*int64(len(v.links)) + 4*int64(len(v.last))
		if v.targets.Full(v.memory-used) || len(v.anchors) >= keyTableFull {
			if err := v.flush(); err != nil {
				return err
			}
		}
	}
	if err := sc.Err(); err != nil {
		return err
	}
	return v.flush()
}

// page adds the links of a page that belong into linkdb. records finds its score.
func (v *inversion) page(
	key []byte, page *storage.FetchOutcome, links *storage.OutlinkReader, records *storage.Finder,
) error {
	source, known := 0, false
	for links.Next() {
		if bytes.Equal(links.Key(), key) || !v.counts(page, links, key) {
			continue
		}
		if !known {
			value, err := records.Find(key)
			if v.record.Score = 0; err == nil && value != nil {
				err = storage.DecodeRecord(value, &v.record)
			}
			if err != nil {
				return fmt.Errorf("its crawldb record: %w", err)
			}
			source, known = v.source(key, v.record.Score), true
		}
		v.add(links.Key(), links.Anchor(), uint32(source))
	}
	return links.Err()
}

// counts reports whether a page's current link belongs into linkdb.
func (v *inversion) counts(page *storage.FetchOutcome, links *storage.OutlinkReader, source []byte) bool {
	if !v.env.NoFollowLinks && (links.NoFollow() || page.Flags&storage.FlagNoFollow != 0) {
		return false
	}
	r := v.env.Links
	return !r.IgnoreExternal && !r.IgnoreInternal ||
		r.Refuses(urlkey.HostKey(urlkey.HostKeyOf(source)), urlkey.HostKey(urlkey.HostKeyOf(links.Key()))) == ""
}

// source numbers a page, which has a score.
func (v *inversion) source(key []byte, score float64) int {
	n, fresh := v.sources.Number(xxh3.Hash(key), key)
	if fresh {
		v.scores = append(v.scores, float32(score))
	}
	return n
}

func (v *inversion) add(target, anchor []byte, source uint32) {
	anchor = cutAnchor(anchor, v.env.AnchorLength)
	n, fresh := v.targets.Number(xxh3.Hash(target), target)
	if fresh {
		v.last = append(v.last, 0)
	}
	from := len(v.anchors)
	v.anchors = append(v.anchors, anchor...)
	v.links = append(v.links, inverted{v.last[n], source, uint32(from), uint32(len(v.anchors))})
	v.last[n] = int32(len(v.links))
}

// flush gives all links to the sorter and forgets them.
func (v *inversion) flush() error {
	for n := range v.last {
		if err := v.values.Add(v.targets.Key(n), v.encode(v.last[n])); err != nil {
			return fmt.Errorf("sorting links by target: %w", err)
		}
	}
	v.reset()
	return nil
}

func (v *inversion) reset() {
	v.targets.Reset()
	v.sources.Reset()
	v.scores = v.scores[:0]
	v.last, v.links, v.anchors = v.last[:0], v.links[:0], v.anchors[:0]
}

// encode encodes the inlinks of one target: by source, then by anchor, each pair once.
func (v *inversion) encode(last int32) []byte {
	v.list = v.list[:0]
	for at := last; at != 0; at = v.links[at-1].before {
		v.list = append(v.list, v.links[at-1])
	}
	slices.Reverse(v.list)
	for i := 1; i < len(v.list); i++ { // sources are in order already, and few link twice
		for j := i; j > 0 && v.before(j, j-1); j-- {
			v.list[j], v.list[j-1] = v.list[j-1], v.list[j]
		}
	}
	v.list = slices.CompactFunc(v.list, func(a, b inverted) bool {
		return a.source == b.source && bytes.Equal(v.anchors[a.from:a.to], v.anchors[b.from:b.to])
	})
	v.row.reset()
	for i := range v.list[:min(len(v.list), rowLinksMax)] {
		if len(v.row.list) >= v.rowBytes {
			break
		}
		source := v.list[i].source
		v.row.add(v.sources.Key(int(source)), v.anchor(i), v.scores[source])
	}
	row := &v.row
	if row.texts() > v.env.MaxInlinks && v.best.gather(v.env.MaxInlinks, v.rowBytes, row) == nil {
		row = &v.best
	}
	v.value = row.append(v.value[:0])
	return v.value
}

// before reports whether link i of the list belongs before link j, which has the same or an earlier source.
func (v *inversion) before(i, j int) bool {
	return v.list[i].source == v.list[j].source && bytes.Compare(v.anchor(i), v.anchor(j)) < 0
}

func (v *inversion) anchor(i int) []byte { return v.anchors[v.list[i].from:v.list[i].to] }

// cutAnchor cuts an anchor after a number of characters.
func cutAnchor(anchor []byte, most int) []byte {
	if len(anchor) <= most {
		return anchor
	}
	at := 0
	for n := 0; n < most && at < len(anchor); n++ {
		_, size := utf8.DecodeRune(anchor[at:])
		at += size
	}
	return anchor[:at]
}
