// SPDX-License-Identifier: Apache-2.0

package phases

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/seine-crawler/seine/engine/internal/admission"
	"github.com/seine-crawler/seine/storage"
	"github.com/seine-crawler/seine/storage/urlkey"
)

// SeedFile is a reader of seed lines. Name, if there is one, is part of errors.
type SeedFile struct {
	Name   string
	Reader io.Reader
}

// seedRun reads seed lines and sorts what is made of them. One goroutine cuts the sources into blocks of lines; each
// of the others parses, normalizes and filters blocks, and adds to a sorter of its own, which spills on its
// goroutine:
//
//	sources ─▶ blocks ─┬▶ seedReader, sorter ─┬▶ one run
//	                   └▶ seedReader, sorter ─┘
//
// Which block a reader gets depends on chance. So what depends on the order of lines goes by their places.
type seedRun struct {
	p       *Phases
	now     int64 // ms
	readers []*seedReader
	refused *refusedLines // gets lines that are not taken; nil: nobody asks
}

// refusedLines writes lines that are not taken. Any goroutine may add one.
type refusedLines struct {
	mu  sync.Mutex
	w   *bufio.Writer
	err error
}

func (l *refusedLines) add(why, line string) {
	if l == nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.err == nil {
		_, l.err = fmt.Fprintf(l.w, "%s\t%s\n", why, line)
	}
}

// flush returns the first error.
func (l *refusedLines) flush() error {
	if l == nil {
		return nil
	}
	return errors.Join(l.err, l.w.Flush())
}

// newSeedRun returns a run whose sorters take memory bytes together and fold equal keys by combine; nil: they do not.
func (p *Phases) newSeedRun(memory int64, combine func(dst, a, b []byte) []byte) *seedRun {
	run := &seedRun{p: p, now: p.now(), readers: make([]*seedReader, min(max(p.env.Processors, 1), seedReadersMax))}
	for i := range run.readers {
		sorter := p.env.SorterOf(memory/int64(len(run.readers)), combine)
		run.readers[i] = &seedReader{run: run, sorter: sorter}
	}
	return run
}

// seedPlace is where a line is: the number of its block, then of its line in the block. Lines that come later have
// greater ones.
type seedPlace uint64

// placeBytes is the length of an encoded seedPlace, which compares as its bytes do.
const placeBytes = 8

func appendPlace(dst []byte, p seedPlace) []byte {
	return binary.BigEndian.AppendUint64(dst, uint64(p))
}

// foldLatest keeps the value of the later line.
func foldLatest(dst, a, b []byte) []byte {
	if bytes.Compare(a[:placeBytes], b[:placeBytes]) > 0 {
		return append(dst, a...)
	}
	return append(dst, b...)
}

// seedBlock is a block of lines.
type seedBlock struct {
	name   string // of the source; "": it has none
	listed bool   // the source is a list of the caller
	number int    // of the first line in its source, from 1
	block  uint32
	text   string // lines with their line feeds; the last one may have none
	cut    bool   // text is the beginning of one line that is too long
}

// seedLine is one line.
type seedLine struct {
	place   seedPlace
	text    string // without white space around it
	raw     string // the URL as it is given
	fields  string // what follows its TAB
	url     urlkey.URL
	assumed bool // the URL was given without a scheme
}

// seedReader makes of lines what handle adds. One goroutine.
type seedReader struct {
	run    *seedRun
	sorter *storage.Sorter
	block  *seedBlock
	line   int // of the current one in the block
	parsed seedLine
	seedCounts
	urls  urlkey.Resolver
	memo  urlkey.KeyMemo
	key   []byte
	value []byte
}

// seedCounts are counts of lines.
type seedCounts struct {
	lines, filtered, broken, assumed uint64
	examples                         []seedExample // the first lines that were refused
}

// seedExample is a line that was refused, and why.
type seedExample struct {
	place seedPlace
	text  string
}

// quoted are the texts of the examples.
func (c *seedCounts) quoted() (texts []string) {
	for _, e := range c.examples {
		texts = append(texts, e.text)
	}
	return texts
}

// counts adds up the counts of all readers.
func (s *seedRun) counts() (sum seedCounts) {
	for _, r := range s.readers {
		sum.lines, sum.filtered = sum.lines+r.lines, sum.filtered+r.filtered
		sum.broken, sum.assumed = sum.broken+r.broken, sum.assumed+r.assumed
		sum.examples = append(sum.examples, r.examples...)
	}
	slices.SortFunc(sum.examples, func(a, b seedExample) int { return cmp.Compare(a.place, b.place) })
	sum.examples = sum.examples[:min(len(sum.examples), seedExamples)]
	return sum
}

// seedHandler adds to the sorter of a reader what it makes of a line, whose URL is parsed.
type seedHandler func(r *seedReader, line *seedLine) error

// read reads all lines of a list, then of sources, and gives each with a URL to handle, on several goroutines.
func (s *seedRun) read(ctx context.Context, list []string, sources []SeedFile, handle seedHandler) error {
	inner, cancel := context.WithCancel(ctx)
	defer cancel()
	blocks := make(chan *seedBlock, len(s.readers))
	errs := make([]error, len(s.readers))
	var wg sync.WaitGroup
	for i, r := range s.readers {
		wg.Go(func() {
			for b := range blocks {
				if errs[i] == nil && inner.Err() == nil {
					errs[i] = r.read(b, handle)
				}
				if errs[i] != nil {
					cancel()
				}
			}
		})
	}
	err := cutAll(inner, list, sources, blocks)
	close(blocks)
	wg.Wait()
	if ctx.Err() != nil {
		return ctx.Err()
	}
	for _, failed := range errs {
		if failed != nil { // and by that cutAll
			return failed
		}
	}
	return err
}

// cutAll sends the lines of all sources as blocks.
func cutAll(ctx context.Context, list []string, sources []SeedFile, to chan<- *seedBlock) error {
	c := seedCutter{ctx: ctx, to: to}
	for i, line := range list {
		c.send(seedBlock{listed: true, number: i + 1, text: line})
	}
	for _, source := range sources {
		err := c.cut(source)
		if err != nil && source.Name != "" && ctx.Err() == nil {
			err = fmt.Errorf("seed file %s: %w", source.Name, err)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// seedCutter cuts sources into blocks.
type seedCutter struct {
	ctx  context.Context
	to   chan<- *seedBlock
	next uint32
}

// send numbers a block and sends it, unless the context has ended.
func (c *seedCutter) send(b seedBlock) {
	b.block = c.next
	c.next++
	select {
	case c.to <- &b:
	case <-c.ctx.Done():
	}
}

// cut cuts one source.
func (c *seedCutter) cut(source SeedFile) error {
	br := bufio.NewReaderSize(source.Reader, seedBlockBytes)
	number := 1
	for c.ctx.Err() == nil {
		_, err := br.Peek(seedBlockBytes)
		have, _ := br.Peek(br.Buffered())
		end := bytes.LastIndexByte(have, '\n') + 1
		switch {
		case len(have) == 0 && err == io.EOF:
			return nil
		case err != nil && err != io.EOF:
			return err
		case err == io.EOF: // all that is left
			end = len(have)
		case end == 0: // a line longer than a block
			c.send(seedBlock{name: source.Name, number: number, text: string(have[:seedLineQuoted]), cut: true})
			number++
			if err := skipLine(br); err != nil {
				return err
			}
			continue
		}
		text := string(have[:end])
		c.send(seedBlock{name: source.Name, number: number, text: text})
		number += strings.Count(text, "\n")
		if _, err := br.Discard(end); err != nil {
			return err
		}
	}
	return c.ctx.Err()
}

// skipLine reads to the end of a line.
func skipLine(br *bufio.Reader) error {
	for {
		_, err := br.ReadSlice('\n')
		if err == nil || err == io.EOF {
			return nil
		} else if !errors.Is(err, bufio.ErrBufferFull) {
			return err
		}
	}
}

// read handles the lines of a block.
func (r *seedReader) read(b *seedBlock, handle seedHandler) error {
	r.block, r.line = b, -1
	if b.listed {
		r.line++
		return r.handle(b.text, handle)
	}
	for line := range strings.Lines(b.text) {
		r.line++
		if b.cut || len(line) > seedLineMax {
			r.broke(reasonCut, line[:seedLineQuoted], line[:seedLineQuoted], errLineTooLong)
			continue
		}
		if err := r.handle(line, handle); err != nil {
			return err
		}
	}
	return nil
}

// handle parses one line. Empty lines and comments are nothing.
func (r *seedReader) handle(text string, handle seedHandler) error {
	r.parsed = seedLine{text: strings.TrimSpace(strings.TrimPrefix(text, "\ufeff")), place: r.place()}
	line := &r.parsed // a line of its own would be an allocation
	if line.text == "" || line.text[0] == '#' {
		return nil
	}
	var fields bool
	if line.raw, line.fields, fields = strings.Cut(line.text, "\t"); !fields && spaceForTab(line.text) {
		r.malformed(line, line.text, errSpaceForTab)
		return nil
	}
	var err error
	if line.url, line.assumed, err = r.parse(line.raw); err != nil {
		r.malformed(line, line.raw, err)
		return nil
	}
	return handle(r, line)
}

// seedBase is the base of URLs that need none.
var seedBase, _ = urlkey.Parse("https://base/")

// parse is ParseSeed, faster. A URL with its scheme does not depend on the base by which a Resolver resolves it.
func (r *seedReader) parse(raw string) (u urlkey.URL, assumed bool, err error) {
	if strings.HasPrefix(raw, "http://") || strings.HasPrefix(raw, "https://") {
		if u, err = r.urls.Resolve(&seedBase, raw); err == nil {
			return u, false, nil
		}
	}
	return ParseSeed(raw)
}

// takes reports whether Inject makes a record of a line: its fields are well-formed, and its URL may be crawled. If not
// it is counted. All that read seed lines ask here, so that they agree on which are good. record and score get what the
// fields say.
func (r *seedReader) takes(line *seedLine, record *storage.Record, score *float64) bool {
	if err := seedFields(line.fields, record, score); err != nil {
		r.malformed(line, line.text, err)
		return false
	}
	return r.admits(line)
}

// admits normalizes the URL of a line and reports whether it may be crawled. If not it is counted.
func (r *seedReader) admits(line *seedLine) bool {
	r.lines++
	u, err := r.run.p.env.Normalizers.Normalize(line.url)
	if err != nil {
		r.refused(line, err.Error(), "")
		return false
	}
	line.url = u
	a := r.run.p.env.Admission
	if v := a.Verdict(u, admission.Facts{Seed: true}); !v.OK() {
		v = a.Explain(u, admission.Facts{Seed: true})
		r.refused(line, v.Reason, v.Rule)
		return false
	}
	return true
}

// add adds the reader's key and value to its sorter.
func (r *seedReader) add() error {
	if err := r.sorter.Add(r.key, r.value); err != nil {
		return fmt.Errorf("sorting seeds: %w", err)
	}
	return nil
}

// place is that of the current line.
func (r *seedReader) place() seedPlace { return seedPlace(r.block.block)<<32 | seedPlace(r.line) }

// reasonCut is the reason of a line of which the list of refused lines has only the beginning.
const reasonCut = admission.ReasonMalformed + ", cut"

var errLineTooLong = fmt.Errorf("line longer than %d bytes", seedLineMax)

// malformed notes a line that is no seed. quoted is what is wrong of it.
func (r *seedReader) malformed(line *seedLine, quoted string, err error) {
	r.broke(admission.ReasonMalformed, line.text, quoted, err)
}

func (r *seedReader) broke(reason, text, quoted string, err error) {
	r.lines++
	r.broken++
	r.run.refused.add(reason, text)
	r.example(quoted, err.Error())
}

// refused notes a line whose URL may not be crawled.
func (r *seedReader) refused(line *seedLine, reason, rule string) {
	r.filtered++
	r.run.refused.add(reason, line.text)
	if rule != "" {
		reason += " (" + rule + ")"
	}
	if more := refusals[reason]; more != "" {
		reason += ": " + more
	}
	r.example(line.raw, "refused: "+reason)
}

// refusals say more of the reasons that are words.
var refusals = map[string]string{
	"suffix": "URLs that end so are not taken for pages",
	"length": "it is longer than the setting url-length permits",
	"prefix": "it has none of the prefixes that are permitted",
}

// example keeps the first lines that are not taken. A reader gets blocks in order.
func (r *seedReader) example(line, why string) {
	if len(r.examples) >= seedExamples {
		return
	}
	where := placeOf(r.block.name, r.block.number+r.line, r.block.listed)
	r.examples = append(r.examples, seedExample{r.place(), fmt.Sprintf("%s: %.80q: %s", where, line, why)})
}

// placeOf says where a seed line is: "seeds.txt:12", "seed 3" of a list, or "line 12" of a reader without a name.
func placeOf(name string, line int, listed bool) string {
	switch {
	case listed:
		return fmt.Sprintf("seed %d", line)
	case name == "":
		return fmt.Sprintf("line %d", line)
	}
	return fmt.Sprintf("%s:%d", name, line)
}

// sorters are those of all readers.
func (s *seedRun) sorters() []*storage.Sorter {
	all := make([]*storage.Sorter, len(s.readers))
	for i, r := range s.readers {
		all[i] = r.sorter
	}
	return all
}

// sort returns what was added as one run, and the number of pairs that were added. Close the run before s.
func (s *seedRun) sort() (run *storage.Run, added uint64, err error) {
	runs, errs := make([]*storage.Run, len(s.readers)), make([]error, len(s.readers))
	var wg sync.WaitGroup
	for i, r := range s.readers {
		added += uint64(r.sorter.Len())
		wg.Go(func() { runs[i], errs[i] = r.sorter.Sort() })
	}
	wg.Wait()
	if err := errors.Join(errs...); err != nil {
		for _, run := range runs {
			if run != nil {
				err = errors.Join(err, run.Close())
			}
		}
		return nil, 0, err
	}
	return storage.MergeRuns(runs...), added, nil
}

// close removes the sorters; nil has none.
func (s *seedRun) close() {
	if s == nil {
		return
	}
	for _, r := range s.readers {
		if err := r.sorter.Close(); err != nil {
			s.p.env.Warn(fmt.Errorf("removing temporary files: %w", err))
		}
	}
}

// spaceForTab reports whether a line has a space before key=value or another URL. No URL that people mean has such a
// space.
func spaceForTab(line string) bool {
	return strings.IndexByte(line, ' ') > 0 && spaceForTabPattern.MatchString(line)
}

var (
	spaceForTabPattern = regexp.MustCompile(`^\S+ +([A-Za-z_][A-Za-z0-9_.-]*=|https?://)`)
	errSpaceForTab     = errors.New("want one URL on a line, and a TAB, not a space, before each key=value")
)
