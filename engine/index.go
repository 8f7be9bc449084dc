// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/zeebo/xxh3"

	"github.com/seine-crawler/seine/engine/internal/phases"
	"github.com/seine-crawler/seine/engine/policy"
	"github.com/seine-crawler/seine/index"
	"github.com/seine-crawler/seine/storage"
	"github.com/seine-crawler/seine/storage/urlkey"
)

// indexing is one run of Index.
//
//	keys to look at (segments' pages; with Refresh all of crawldb, or what changed), sorted, in parts
//	for each, in key order: record, parsed text, anchors ─▶ document, or nothing
//	document as indexed before ─▶ skip; other ─▶ replace; nothing ─▶ delete
//	one ingestion: postings, documents, deletions, the segments' state
type indexing struct {
	store   *storage.Store
	index   *index.Index
	filters []policy.IndexFilter
	denied  func(urlkey.URL) bool // by a live filter
	leftOut func(error)           // is told what the index refused
	clock   *stageClock
	looks   *titleLooks
	inlinks int    // that are read of a page, for its anchors
	refresh bool   // see IndexOptions
	ranked  bool   // scores are ranks of the link graph
	changed bool   // the refresh looks at what changed since the last one only: see stale.go
	noted   bool   // there are notes of what changed
	mark    []byte // how a refresh makes documents; nil: nothing says which are up to date

	// What the one that hands out parts has: the goroutines that it may use, and what makes sorters.
	builders int
	sorter   func(combine func(dst, a, b []byte) []byte) *storage.Sorter

	report IndexReport
	keys   *storage.Sorter
	text   storage.ParseText
	docs   documents
	rules  *titleRules

	compared        map[uint32]bool      // segments whose pages the index has had, as they are: see stamp
	walked          int                  // segments that are walked side by side, for texts and for outcomes
	texts, outcomes *walks               // of the segments' pages
	outcome         storage.FetchOutcome // of the current page, without its links
	outlinks        storage.OutlinkReader

	// The anchors of the current page: numbered, counted by number, and in the order in which they are indexed.
	distinct phases.KeyTable
	counts   []int
	order    []int
	linking  linking
	titles   *titles
}

// documents takes what an indexing makes: index.Builder, or one of its parts.
type documents interface {
	Add(*index.Document) error
	Delete(urlkey.Key) error
}

// compareWith notes which segments the index has had.
func (x *indexing) compareWith(snap *storage.Snapshot) error {
	list, err := snap.SegmentList()
	x.compared = map[uint32]bool{}
	for _, s := range list {
		x.compared[s.Number] = s.State == storage.SegmentIndexed
	}
	return err
}

// decide indexes one URL, or deletes its document, or leaves it as it is.
func (x *indexing) decide(
	rd storage.Reader, records *storage.Finder, links *targets, key, located []byte,
) error {
	var r storage.Record
	record, err := records.Find(key)
	if err != nil || record == nil {
		return err // without a record there is no document: Delete removes both
	}
	if err := storage.DecodeRecord(record, &r); err != nil {
		return fmt.Errorf("crawldb record %s: %w", key, err)
	}
	if x.changed && r.Segment == 0 {
		return nil // the target of a link that was never fetched; or not since a seed took its place: see addPages
	}
	var text []byte
	var now stamp
	wanted := r.Findable()
	if wanted {
		u, err := urlkey.Key(key).URL()
		if err != nil {
			return err
		}
		wanted = !x.denied(u)
		if !wanted && located != nil {
			x.report.Denied++
		}
	}
	if wanted {
		if err := errors.Join(x.titles.begin(key), x.readAnchors(links, key)); err != nil {
			return err
		}
		now.own, now.outside = x.ownStamp(&r), x.outsideStamp(&r)
		var was index.Location
		if located != nil {
			if was, err = index.DecodeLocated(located); err != nil {
				return fmt.Errorf("index directory entry of %s: %w", key, err)
			}
			if of := stampOf(was); x.compared[r.Segment] && of.own == now.own && of.outside == now.outside {
				return nil
			}
		}
		if text, err = x.texts.of(rd, r.Segment, key); err != nil {
			return err
		}
		if err := x.readOutcome(rd, r.Segment, key); err != nil {
			return err
		}
		now.content = contentStamp(text, x.outcome.MediaType)
		if located != nil && text != nil && stampOf(was) == now {
			return nil
		}
	}
	if text == nil {
		x.report.Skipped++
		if located == nil {
			return nil
		}
		x.report.Deleted++
		return x.docs.Delete(urlkey.Key(key))
	}
	return x.add(key, text, &r, now.sum(), located != nil)
}

// readOutcome reads how a page was fetched, without its links; it is zero if that is not known.
func (x *indexing) readOutcome(rd storage.Reader, segment uint32, key []byte) error {
	x.outcome = storage.FetchOutcome{}
	value, err := x.outcomes.of(rd, segment, key)
	if err == nil && value != nil {
		err = storage.ReadFetchOutcome(value, &x.outcome, &x.outlinks)
	}
	if err != nil {
		return fmt.Errorf("parse record %s of segment %d: %w", key, segment, err)
	}
	return nil
}

// shownAs returns the URL by which a page is shown if that is not its own, see Options.ChooseRedirectURL; "": its own.
func shownAs(r *storage.Record) string {
	for _, f := range r.Meta {
		if f.Name == policy.MetaRedirectURL {
			return f.Value
		}
	}
	return ""
}

// add makes the document and hands it to the builder.
func (x *indexing) add(key, text []byte, r *storage.Record, stamp uint64, known bool) error {
	d, err := x.document(key, text, r, stamp)
	if errors.Is(err, index.ErrDocument) { // an index filter's fault: it costs this document only
		x.leftOut(err)
		d, err = nil, nil
	}
	switch {
	case err != nil:
		return err
	case d == nil:
		return x.skip(urlkey.Key(key), known)
	}
	x.report.TextBytes += uint64(len(x.text.Text))
	if known {
		x.report.Refreshed++
	} else {
		x.report.Added++
	}
	return x.docs.Add(d)
}

// document makes the document of a page, nil if a filter keeps it out.
func (x *indexing) document(key, text []byte, r *storage.Record, stamp uint64) (*index.Document, error) {
	if err := storage.DecodeParseText(text, &x.text); err != nil {
		return nil, fmt.Errorf("parse record %s of segment %d: %w", key, r.Segment, err)
	}
	k := urlkey.Key(key)
	u, err := k.URL()
	if err != nil {
		return nil, err
	}
	d := index.Document{
		Key: k, URL: cmp.Or(shownAs(r), u.String()), Title: x.titles.rule.cut(x.text.Title),
		Anchors: x.anchors(), Text: x.text.Text, Content: slices.Clone(x.text.Content),
		Language: shortOrNone(x.text.Language, index.ValueBytesMax),
		Author:   shortOrNone(x.text.Author, index.AuthorMax), Stamp: stamp,
		Headings: x.text.AppendHeadings(nil), Type: shortOrNone(x.outcome.MediaType, index.ValueBytesMax),
		Size: int64(len(x.text.Text)), Boost: x.boost(r),
	}
	if x.text.Date != 0 {
		d.Date = time.UnixMilli(x.text.Date).UTC()
	}
	if x.outcome.Time != 0 {
		d.Fetched = time.UnixMilli(x.outcome.Time).UTC()
	}
	for _, f := range x.filters {
		if f.Filter(&d, r, &x.text) != "" {
			return nil, nil
		}
	}
	d.Key, d.Stamp = k, stamp // which page it is, and of when, is no filter's
	x.showChanges(&d)
	if d.Group == 0 {
		d.Group = uint64(r.SimHash)
	}
	return &d, d.Check()
}

// shortOrNone returns a value that is no longer than an index takes, or nothing: half a value is another one.
func shortOrNone(value string, most int) string {
	if len(value) > most {
		return ""
	}
	return value
}

// skip keeps a page out of the index, and deletes its document if it has one.
func (x *indexing) skip(key urlkey.Key, known bool) error {
	x.report.Skipped++
	if known {
		return x.docs.Delete(key)
	}
	return nil
}

// shownNothing is a title or text to show of a document from which an index filter took it: without any, the page's own
// is shown.
const shownNothing = " "

// showChanges makes hits show what index filters changed, and titles as they are indexed.
func (x *indexing) showChanges(d *index.Document) {
	if d.Title != x.text.Title && d.ShowTitle == "" {
		d.ShowTitle = cmp.Or(d.Title, shownNothing)
	}
	if d.Text == x.text.Text {
		return
	}
	if d.ShowText == "" {
		d.ShowText = cmp.Or(d.Text, shownNothing)
	}
	if slices.Equal(d.Content, x.text.Content) {
		d.Content = nil // the filter does not say which part of its text is content
	}
}

// readAnchors collects the distinct anchor texts of a target, the anchorsMax that most links have, and counts who links
// to it. Each text is indexed once, however many links have it, so that a site's navigation does not outweigh a page's
// own words.
func (x *indexing) readAnchors(links *targets, target []byte) error {
	x.distinct.Reset()
	x.linking.begin(target)
	x.counts, x.order = x.counts[:0], x.order[:0]
	read := 0
	for ok := links.seek(target); ok; ok = links.next() {
		of, _, err := storage.SplitLinkdbKey(links.Key())
		if err != nil {
			return err
		}
		if !bytes.Equal(of, target) {
			break
		}
		err = storage.VisitInlinks(links.Value(), func(source, anchor []byte) bool {
			x.linking.add(source)
			if len(anchor) > 0 && read < x.inlinks {
				x.countAnchor(anchor)
				read++
			}
			return true
		})
		if err != nil {
			return fmt.Errorf("inlinks of %s: %w", target, err)
		}
	}
	text := x.distinct.Key
	slices.SortFunc(x.order, func(a, b int) int {
		return cmp.Or(cmp.Compare(x.counts[b], x.counts[a]), bytes.Compare(text(a), text(b)))
	})
	x.order = x.order[:min(len(x.order), anchorsMax)]
	// By text, so that a change of counts alone does not make a document stale.
	slices.SortFunc(x.order, func(a, b int) int { return bytes.Compare(text(a), text(b)) })
	return links.Err()
}

func (x *indexing) countAnchor(anchor []byte) {
	n, fresh := x.distinct.Number(xxh3.Hash(anchor), anchor)
	if fresh {
		x.counts, x.order = append(x.counts, 0), append(x.order, n)
	}
	x.counts[n]++
}

// anchors returns the texts that readAnchors found.
func (x *indexing) anchors() []string {
	list := make([]string, len(x.order))
	for i, n := range x.order {
		list[i] = string(x.distinct.Key(n))
	}
	return list
}

// boost is the static score of the page whose anchors readAnchors found.
func (x *indexing) boost(r *storage.Record) float64 {
	boost := index.StaticBoost(len(x.order), x.linking.domains)
	if x.ranked {
		boost += rankBoost(r.Score)
	}
	return boost
}

// ownStamp is of a page, on the host of titles.begin.
func (x *indexing) ownStamp(r *storage.Record) uint32 {
	h := xxh3.New()
	h.Write(r.Signature[:])
	h.WriteString(shownAs(r))
	if r.Truncated { // without a signature, only the fetch identifies the content
		h.Write(binary.LittleEndian.AppendUint32(nil, r.Segment))
	}
	if rule := &x.titles.rule; rule.shares() {
		h.WriteString(rule.prefix + "\x00" + rule.suffix)
	}
	return uint32(h.Sum64() & (1<<stampOwnBits - 1))
}

// outsideStamp is of the page whose anchors readAnchors found; never 0.
func (x *indexing) outsideStamp(r *storage.Record) uint32 {
	h := xxh3.New()
	var n [8]byte
	if boost := x.boost(r); boost != 1 {
		h.Write(binary.LittleEndian.AppendUint64(n[:0], math.Float64bits(boost)))
	}
	for _, i := range x.order {
		a := x.distinct.Key(i)
		h.Write(binary.LittleEndian.AppendUint32(n[:0], uint32(len(a))))
		h.Write(a)
	}
	return uint32(h.Sum64()&(1<<stampOutsideBits-1)) | 1
}
