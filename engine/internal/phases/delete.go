// SPDX-License-Identifier: Apache-2.0

package phases

import (
	"context"
	"errors"
	"fmt"

	"github.com/seine-crawler/seine/storage"
	"github.com/seine-crawler/seine/storage/urlkey"
)

// DeleteOptions say what to delete.
type DeleteOptions struct {
	Targets Targets
	Keys    *Keys // in place of Targets; nil: these
	// Relinked, if not nil, is called with every URL that stays and lost inlinks, in key order: its anchors changed.
	Relinked func(key []byte) error
}

// Deleted counts what Delete removed.
type Deleted struct {
	Records   uint64 // of crawldb
	Documents uint64 // of the index
	Inlinks   uint64 // of linkdb, from deleted pages and to them
	Withheld  uint64 // withheld links to deleted URLs
	Captures  uint64 // of cdx; what they are of stays in the WARC files until these are purged
	Parsed    uint64 // parse records
	// Signatures are those of deleted pages, which may have been the survivors of other pages. nil: too many.
	Signatures []storage.Signature
}

// Delete removes the targets from crawldb, hostdb's counts, linkdb (the links to them and from them), withheld links,
// lowered pages, signatures, fetchlists, cdx, parse records and the index: all in one ingestion. No segment may be
// between states. What no range says is not found again; a page that is fetched later and links to a deleted URL makes
// a new record of it, as of any URL.
//
//	crawldb ─▶ records, host counts, signatures, documents
//	parse   ─▶ of each segment: records; their links, sorted by target ─▶ linkdb without deleted sources
//	others  ─▶ rows of the targets
func (p *Phases) Delete(ctx context.Context, o DeleteOptions) (Deleted, error) {
	chosen := selection(o.Targets)
	if o.Keys != nil {
		chosen = o.Keys
	}
	d := deletion{
		p: p, o: o, chosen: chosen, ctx: ctx, ing: p.env.Store.NewIngestion(),
		signatures: p.env.Sorter(storage.FoldLast), links: p.env.Sorter(nil), touched: map[uint32]bool{},
	}
	p.places.forgets()
	defer d.ing.Abort()
	defer d.signatures.Close()
	defer d.links.Close()
	err := d.run()
	if err == nil {
		err = d.ing.Commit()
	}
	if err != nil {
		return d.result, fmt.Errorf("delete: %w", err)
	}
	return d.result, nil
}

// selection is what Delete deletes: Targets or Keys.
type selection interface {
	// Has reports whether a URL, by its key, is selected.
	Has(key []byte) bool
	// scan calls fn with every key of a range whose URL is selected, in order. url cuts the URL's key out of a key.
	scan(rd storage.Reader, r storage.Range, url func(key []byte) ([]byte, error),
		fn func(url, key, value []byte) error) error
}

// deletion is one run of Delete.
type deletion struct {
	p          *Phases
	o          DeleteOptions
	chosen     selection
	ctx        context.Context
	ing        *storage.Ingestion
	signatures *storage.Sorter
	links      *storage.Sorter // linkdb key → a deleted source; no value: the row goes
	touched    map[uint32]bool // segments that held something of the targets
	result     Deleted
	steps      int
}

func (d *deletion) run() error {
	for _, step := range []func() error{d.records, d.segments, d.captures, d.rows, d.inlinks, d.marks} {
		if err := step(); err != nil {
			return err
		}
	}
	return writeSignatures(d.ctx, d.signatures, d.ing)
}

// canceled is the context's error, looked at now and then.
func (d *deletion) canceled() error {
	d.steps++
	if d.steps%ctxCheckKeys != 1 {
		return nil
	}
	return d.ctx.Err()
}

// records removes the records, and what is bound to them.
func (d *deletion) records() error {
	table, hosts := d.ing.Table(storage.Crawldb()), d.p.newHostTally(d.ing)
	defer hosts.close()
	documents := d.p.env.Deletes(d.ing)
	defer documents.Abort()
	var was storage.Record
	d.result.Signatures = []storage.Signature{}
	err := d.chosen.scan(d.p.env.Store, storage.Crawldb(), wholeKey, func(_, key, old []byte) error {
		if err := d.canceled(); err != nil {
			return err
		}
		if err := storage.DecodeRecord(old, &was); err != nil {
			return fmt.Errorf("crawldb record %s: %w", key, err)
		}
		d.result.Records++
		d.result.Signatures = addSignature(d.result.Signatures, was.Signature)
		return errors.Join(noteSignature(d.signatures, key, &was, &storage.Record{}), hosts.remove(key, &was),
			documents.Delete(urlkey.Key(key)), table.Delete(key))
	})
	if err != nil {
		return err
	}
	if err := hosts.finish(); err != nil {
		return err
	}
	if d.result.Documents, err = documents.Finish(); err != nil {
		return fmt.Errorf("removing documents from the index: %w", err)
	}
	return nil
}

// segments removes parse records and entries of fetchlists, and notes the links of deleted pages.
func (d *deletion) segments() error {
	list, err := d.p.env.Store.SegmentList()
	if err != nil {
		return fmt.Errorf("listing segments: %w", err)
	}
	for _, s := range list {
		if s.State == storage.SegmentOpen {
			if _, err := d.rowsOf(storage.Fetchlist(s.Number), wholeKey); err != nil {
				return err
			}
			continue
		}
		if err := d.parsed(s.Number); err != nil {
			return fmt.Errorf("segment %d: %w", s.Number, err)
		}
	}
	return nil
}

func (d *deletion) parsed(segment uint32) error {
	outcomes, texts := d.ing.Table(storage.ParseLinks(segment)), d.ing.Table(storage.ParseTextRange(segment))
	var o storage.FetchOutcome
	var links storage.OutlinkReader
	var row []byte
	err := d.chosen.scan(d.p.env.Store, storage.ParseLinks(segment), wholeKey, func(_, key, value []byte) error {
		if err := d.canceled(); err != nil {
			return err
		}
		if err := storage.ReadFetchOutcome(value, &o, &links); err != nil {
			return fmt.Errorf("parse record %s: %w", key, err)
		}
		d.touched[segment] = true
		d.result.Parsed++
		for links.Next() {
			row = storage.AppendLinkdbKey(row[:0], links.Key(), segment)
			if err := d.links.Add(row, key); err != nil {
				return fmt.Errorf("sorting links: %w", err)
			}
		}
		return errors.Join(links.Err(), outcomes.Delete(key), texts.Delete(key))
	})
	return errors.Join(err, outcomes.CloseFile(), texts.CloseFile())
}

// captures removes the rows of cdx.
func (d *deletion) captures() error {
	table := d.ing.Table(storage.CDXRange())
	var c storage.CDX
	return d.chosen.scan(d.p.env.Store, storage.CDXRange(), capturedURL, func(_, key, value []byte) error {
		if err := d.canceled(); err != nil {
			return err
		}
		if err := storage.DecodeCDX(value, &c); err != nil {
			return fmt.Errorf("cdx at %q: %w", key, err)
		}
		d.touched[c.Segment] = true
		d.result.Captures++
		return table.Delete(key)
	})
}

// rows removes what waits for the targets.
func (d *deletion) rows() (err error) {
	if d.result.Withheld, err = d.rowsOf(storage.WithheldRange(), linkdbTarget); err == nil {
		_, err = d.rowsOf(storage.LoweredRange(), wholeKey)
	}
	return err
}

// rowsOf removes the targets' rows of a range and returns their number.
func (d *deletion) rowsOf(r storage.Range, url func([]byte) ([]byte, error)) (n uint64, err error) {
	table := d.ing.Table(r)
	return n, d.chosen.scan(d.p.env.Store, r, url, func(_, key, _ []byte) error {
		n++
		return errors.Join(d.canceled(), table.Delete(key))
	})
}

// inlinks removes the links to the targets and from them.
func (d *deletion) inlinks() error {
	store := d.p.env.Store
	err := d.chosen.scan(store, storage.Linkdb(), linkdbTarget, func(_, key, _ []byte) error {
		return errors.Join(d.canceled(), d.links.Add(key, nil))
	})
	if err == nil {
		err = d.foreign()
	}
	if err != nil {
		return err
	}
	run, err := d.links.Sort()
	if err != nil {
		return fmt.Errorf("sorting links: %w", err)
	}
	defer run.Close()
	d.result.Inlinks, err = d.ing.RemoveInlinks(d.ctx, run, func(target []byte) error {
		if d.o.Relinked == nil || d.chosen.Has(target) {
			return nil
		}
		return d.o.Relinked(target)
	})
	return err
}

// foreign notes the links of what is deleted that no parse record tells of.
func (d *deletion) foreign() error {
	some, err := d.p.anyForeign()
	if err != nil || !some {
		return err
	}
	var row []byte
	return d.p.eachLink(d.ctx, func(target, from []byte, segment uint32) error {
		if !d.chosen.Has(from) {
			return nil
		}
		row = storage.AppendLinkdbKey(row[:0], target, segment)
		return d.links.Add(row, from)
	})
}

// marks notes the segments whose WARC files hold what was deleted, for a purge.
func (d *deletion) marks() error {
	table := d.ing.Table(storage.Meta())
	list, err := d.p.env.Store.SegmentList()
	if err != nil {
		return fmt.Errorf("listing segments: %w", err)
	}
	for _, s := range list {
		if d.touched[s.Number] {
			if err := table.Set(storage.AppendDeletedInKey(nil, s.Number), nil); err != nil {
				return err
			}
		}
	}
	return nil
}

// addSignature adds the signature of a page that goes, if it has one; nil: there are too many.
func addSignature(some []storage.Signature, s storage.Signature) []storage.Signature {
	if s.IsZero() {
		return some
	}
	return JoinSignatures(some, []storage.Signature{s})
}

// JoinSignatures returns the signatures of two calls of Delete together, in place of the first; nil: too many.
func JoinSignatures(some, more []storage.Signature) []storage.Signature {
	if some == nil || more == nil || len(some)+len(more) > deletedSignatures {
		return nil
	}
	return append(some, more...)
}
