// SPDX-License-Identifier: Apache-2.0

package phases

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/seine-crawler/seine/storage"
)

// URLLists are lines of URLs to sort into those that crawldb has, new ones and duplicates, and where these go. A nil
// writer drops its list.
type URLLists struct {
	Lines   []string   // read first
	Sources []SeedFile // then these
	// Known gets the first line of each URL that crawldb has, New that of each other URL, Duplicates every later line
	// of a URL. They come in key order, as they were given, without white space around them. Refused gets lines that
	// Inject would not take, in no order, each after its reason and a TAB; of one that is too long its beginning, after
	// a reason that says that it is cut.
	Known, New, Duplicates, Refused io.Writer
}

// Classified counts lines. Lines is the sum of the others.
type Classified struct {
	Lines, Known, New, Duplicates uint64
	Filtered, Malformed           uint64
	Examples                      []string // the first of these two, as in Injected
}

// Classify sorts lines into lists. URLs are parsed, normalized and filtered as those of seeds, so a line is new
// exactly if Inject would make a record of it. It changes nothing, and any goroutine may call it at any time.
//
//	lines ─▶ parse, normalize, filter ─▶ sort by (key, place) ─┐
//	                                            crawldb ──────▶ join ─▶ batches ─▶ known, new, duplicates
//
// Each line is sorted once, with a text only if that differs from the canonical URL, and crawldb is read once, in
// order. (Neo and others patented a join of MD5 sums of URLs for this; keys in the order of crawldb need no second
// order.)
func (p *Phases) Classify(ctx context.Context, o URLLists) (Classified, error) {
	var refused *refusedLines
	if o.Refused != nil {
		refused = &refusedLines{w: bufio.NewWriterSize(o.Refused, listBufferBytes)}
	}
	lines := p.newSeedRun(p.env.TableBytes*classifySorters, nil)
	defer lines.close()
	lines.refused = refused
	err := lines.read(ctx, o.Lines, o.Sources, addClassified)
	c := lines.counts()
	result := Classified{
		Lines: c.lines, Filtered: c.filtered, Malformed: c.broken, Examples: c.quoted(),
	}
	if err == nil {
		err = refused.flush()
	}
	if err == nil {
		err = p.classify(ctx, lines, &o, &result)
	}
	if err != nil {
		return result, fmt.Errorf("sorting URLs into lists: %w", err)
	}
	return result, nil
}

// addClassified adds a line under key, 0, place. Its value is its text, empty if that is the canonical URL.
func addClassified(r *seedReader, line *seedLine) error {
	if !r.takes(line, new(storage.Record), new(float64)) {
		return nil
	}
	r.key = append(r.memo.AppendKey(r.key[:0], line.url), 0)
	r.key = appendPlace(r.key, line.place)
	r.value = r.value[:0]
	if line.text != line.url.String() {
		r.value = append(r.value, line.text...)
	}
	return r.add()
}

// classify joins the sorted lines with crawldb, while another goroutine writes the lists.
func (p *Phases) classify(ctx context.Context, lines *seedRun, o *URLLists, result *Classified) (err error) {
	run, _, err := lines.sort()
	if err != nil {
		return err
	}
	defer run.Close()
	ctx, fail := context.WithCancelCause(ctx)
	defer fail(nil)
	w := newListWriter([listCount]io.Writer{listKnown: o.Known, listNew: o.New, listDuplicates: o.Duplicates}, fail)
	err = p.classifyEach(ctx, run, w, result)
	return errors.Join(err, w.close(err == nil))
}

// classifyEach counts each line of a run, and gives it to its list.
func (p *Phases) classifyEach(ctx context.Context, run *storage.Run, w *listWriter, result *Classified) (err error) {
	known := storage.NewFinder(p.env.Store, storage.Crawldb())
	defer func() { err = errors.Join(err, known.Close()) }()
	var last []byte
	for n := 0; run.Next(); n++ {
		if n%ctxCheckKeys == 0 && ctx.Err() != nil {
			return context.Cause(ctx)
		}
		key := run.Key()[:len(run.Key())-placeBytes-1]
		list, count := listDuplicates, &result.Duplicates
		if !bytes.Equal(key, last) {
			last = append(last[:0], key...)
			record, err := known.Find(key)
			if err != nil {
				return err
			}
			if list, count = listNew, &result.New; record != nil {
				list, count = listKnown, &result.Known
			}
		}
		*count++
		w.add(list, key, run.Value())
	}
	return run.Err()
}
