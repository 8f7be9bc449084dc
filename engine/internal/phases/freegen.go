// SPDX-License-Identifier: Apache-2.0

package phases

import (
	"context"
	"fmt"

	"github.com/seine-crawler/seine/storage"
)

// FreeList names lines of URLs for a fetchlist.
type FreeList struct {
	Lines   []string   // read first
	Sources []SeedFile // then these
}

// Freed says what FreeGenerate made of lines.
type Freed struct {
	Segment                                      uint32
	Lines, Selected, Merged, Filtered, Malformed uint64
	Examples                                     []string // as in Injected
}

// FreeGenerate writes the fetchlist of a new open segment from lines of URLs, whatever crawldb knows of them and
// whether they are due (Nutch: freegen). Lines are those of seeds, normalized and filtered as these, any number of
// them; what follows a TAB must be well-formed, and changes nothing. Without a URL the error is ErrNothingDue.
func (p *Phases) FreeGenerate(ctx context.Context, o FreeList) (result Freed, err error) {
	lines := p.newSeedRun(p.env.TableBytes*classifySorters, storage.FoldLast)
	defer lines.close()
	err = lines.read(ctx, o.Lines, o.Sources, func(r *seedReader, line *seedLine) error {
		if !r.takes(line, new(storage.Record), new(float64)) {
			return nil
		}
		r.key, r.value = r.memo.AppendKey(r.key[:0], line.url), r.value[:0]
		return r.add()
	})
	c := lines.counts()
	result = Freed{Lines: c.lines, Filtered: c.filtered, Malformed: c.broken, Examples: c.quoted()}
	if err == nil {
		err = p.writeFree(ctx, lines, &result)
	}
	if err != nil {
		return result, fmt.Errorf("freegen: %w", err)
	}
	return result, nil
}

func (p *Phases) writeFree(ctx context.Context, lines *seedRun, result *Freed) error {
	run, added, err := lines.sort()
	if err != nil {
		return err
	}
	defer run.Close()
	if added == 0 {
		return ErrNothingDue
	}
	number, err := p.env.Store.NextSegmentNumber()
	if err != nil {
		return fmt.Errorf("numbering the segment: %w", err)
	}
	ing := p.env.Store.NewIngestion()
	defer ing.Abort()
	w := ing.Table(storage.Fetchlist(number))
	var value []byte
	err = storage.MergeJoin(ctx, p.env.Store, storage.Crawldb(), run, func(key []byte, _ [][]byte, old []byte) error {
		entry := storage.FetchlistEntry{Score: p.seedScore()}
		if old != nil {
			var r storage.Record
			if err := storage.DecodeRecord(old, &r); err != nil {
				return fmt.Errorf("crawldb record %s: %w", key, err)
			}
			entry = storage.FetchlistEntry{Score: r.Score, Depth: r.Depth}
		}
		value = storage.AppendFetchlistEntry(value[:0], entry)
		return w.Set(key, value)
	})
	if err != nil {
		return err
	}
	result.Segment, result.Selected = number, w.Count()
	result.Merged = added - result.Selected
	if err := p.putFetchlist(ing, number, int(result.Selected)); err != nil {
		return err
	}
	return ing.Commit()
}
