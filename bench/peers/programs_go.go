// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"runtime/pprof"
	"strconv"
	"strings"
	"time"

	"github.com/blevesearch/bleve/v2"
	"github.com/blevesearch/bleve/v2/analysis/analyzer/custom"
	"github.com/blevesearch/bleve/v2/analysis/lang/en"
	"github.com/blevesearch/bleve/v2/analysis/token/lowercase"
	"github.com/blevesearch/bleve/v2/analysis/token/porter"
	"github.com/blevesearch/bleve/v2/analysis/tokenizer/unicode"
	bleveQuery "github.com/blevesearch/bleve/v2/search/query"

	"github.com/seine-crawler/seine/index"
	"github.com/seine-crawler/seine/storage"
	"github.com/seine-crawler/seine/storage/urlkey"
)

// goProgram is an engine in Go under the protocol of program.
type goProgram interface {
	create(dir string) error
	add(id, title, text string) error
	finish(ctx context.Context) error // the index is durable and closed
	open(dir string) error
	search(ctx context.Context, mode string, k int, query string) (total int, ids []string, err error)
	close() error
}

// programMain is the process of an engine in Go: NAME build|search DIR [PROFILE], with the CPU profile written there.
func programMain(ctx context.Context, args []string) error {
	if len(args) != 3 && len(args) != 4 {
		return errors.New("want NAME build|search DIR [PROFILE]")
	}
	if len(args) == 4 {
		f, err := os.Create(args[3])
		if err != nil {
			return err
		}
		defer f.Close()
		if err := pprof.StartCPUProfile(f); err != nil {
			return err
		}
		defer pprof.StopCPUProfile()
	}
	var p goProgram
	switch args[0] {
	case "seine":
		p = &seineProgram{}
	case "bleve":
		p = &bleveProgram{}
	default:
		return fmt.Errorf("no engine %q in Go", args[0])
	}
	if args[1] == "build" {
		return programBuild(ctx, p, args[2], os.Stdin)
	}
	if err := p.open(args[2]); err != nil {
		return err
	}
	return errors.Join(programSearch(ctx, p, os.Stdin, os.Stdout), p.close())
}

func programBuild(ctx context.Context, p goProgram, dir string, in io.Reader) error {
	if err := p.create(dir); err != nil {
		return err
	}
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, 64<<20)
	for lines.Scan() {
		f := strings.SplitN(lines.Text(), "\t", 3)
		if len(f) != 3 {
			return errors.New("a document: want ID, TITLE and TEXT")
		}
		if err := p.add(f[0], f[1], f[2]); err != nil {
			return err
		}
	}
	if err := lines.Err(); err != nil {
		return err
	}
	return p.finish(ctx)
}

func programSearch(ctx context.Context, p goProgram, in io.Reader, out io.Writer) error {
	lines := bufio.NewScanner(in)
	for lines.Scan() {
		f := strings.SplitN(lines.Text(), "\t", 3)
		if len(f) != 3 {
			return errors.New("a query: want MODE, K and QUERY")
		}
		k, err := strconv.Atoi(f[1])
		if err != nil {
			return err
		}
		start := time.Now()
		total, ids, err := p.search(ctx, f[0], k, f[2])
		if err != nil {
			return fmt.Errorf("%s: %w", f[2], err)
		}
		µs := float64(time.Since(start).Nanoseconds()) / 1000
		if _, err := fmt.Fprintf(out, "%.1f\t%d\t%s\n", µs, total, strings.Join(ids, " ")); err != nil {
			return err
		}
	}
	return lines.Err()
}

// seineProgram is package index. A document's identifier is the path of its URL, so documents must come in the order of
// their identifiers.
type seineProgram struct {
	seineEngine
	in      *storage.Ingestion
	builder *index.Builder
	stamp   uint64
}

func (p *seineProgram) create(dir string) error {
	if err := p.open(dir); err != nil {
		return err
	}
	p.in = p.store.NewIngestion()
	p.builder = p.index.NewBuilder(p.in)
	return nil
}

func (p *seineProgram) add(id, title, text string) error {
	u, err := urlkey.Parse("http://documents.example/" + id)
	if err != nil {
		return err
	}
	p.stamp++
	return p.builder.Add(&index.Document{
		Key: u.Key(), URL: u.String(), Title: title, Text: text, Language: "en", Stamp: p.stamp,
	})
}

func (p *seineProgram) finish(ctx context.Context) error {
	if _, err := p.builder.Finish(); err != nil {
		return err
	}
	if err := p.in.Commit(); err != nil {
		return err
	}
	if err := p.index.Refresh(); err != nil { // else there is nothing to merge
		return err
	}
	if _, err := p.index.MergeTo(ctx, 1); err != nil {
		return err
	}
	return p.close()
}

func (p *seineProgram) search(ctx context.Context, mode string, k int, query string) (int, []string, error) {
	if mode != "typed" && !strings.ContainsAny(query, `"+`) {
		query = strings.Join(strings.Fields(query), " OR ")
	}
	// The other engines relax nothing either.
	o := index.SearchOptions{Limit: k, Deadline: time.Minute, Strict: mode != "typed"}
	if mode == "pruned" {
		o.TotalAtLeast = 1 // counts no more than it must
	}
	r, err := p.index.Search(ctx, query, o)
	if err == nil && r.Partial {
		err = errors.New("it took more than a minute")
	}
	ids := make([]string, len(r.Hits))
	for i, h := range r.Hits {
		u, err := h.Key.URL()
		if err != nil {
			return 0, nil, err
		}
		ids[i] = path.Base(u.String())
	}
	if mode == "pruned" {
		r.Total = -1
	}
	return r.Total, ids, err
}

// bleveProgram is bleve with one field, stemmed by the same algorithm as Lucene's and without stop words.
type bleveProgram struct {
	index bleve.Index
	batch *bleve.Batch
}

func (p *bleveProgram) create(dir string) error {
	m := bleve.NewIndexMapping()
	if err := m.AddCustomAnalyzer("english", map[string]any{
		"type": custom.Name, "tokenizer": unicode.Name,
		"token_filters": []string{en.PossessiveName, lowercase.Name, porter.Name},
	}); err != nil {
		return err
	}
	field := bleve.NewTextFieldMapping()
	field.Analyzer, field.Store, field.IncludeInAll, field.DocValues = "english", false, false, false
	doc := bleve.NewDocumentStaticMapping()
	doc.AddFieldMappingsAt("text", field)
	m.DefaultMapping = doc
	x, err := bleve.New(dir, m)
	if err != nil {
		return err
	}
	p.index, p.batch = x, x.NewBatch()
	return nil
}

func (p *bleveProgram) add(id, title, text string) error {
	if !strings.HasPrefix(text, title) {
		text = title + " " + text
	}
	if err := p.batch.Index(id, map[string]string{"text": text}); err != nil {
		return err
	}
	if p.batch.Size() < bleveBatch {
		return nil
	}
	err := p.index.Batch(p.batch)
	p.batch.Reset()
	return err
}

func (p *bleveProgram) finish(context.Context) error {
	return errors.Join(p.index.Batch(p.batch), p.index.Close())
}

func (p *bleveProgram) open(dir string) (err error) {
	p.index, err = bleve.Open(dir)
	return err
}

func (p *bleveProgram) close() error { return p.index.Close() }

func (p *bleveProgram) search(ctx context.Context, _ string, k int, query string) (int, []string, error) {
	var q bleveQuery.Query
	if strings.HasPrefix(query, `"`) {
		m := bleve.NewMatchPhraseQuery(strings.Trim(query, `"`))
		m.SetField("text")
		q = m
	} else {
		m := bleve.NewMatchQuery(query)
		m.SetField("text")
		if strings.HasPrefix(query, "+") {
			m.SetOperator(bleveQuery.MatchQueryOperatorAnd)
		}
		q = m
	}
	r, err := p.index.SearchInContext(ctx, bleve.NewSearchRequestOptions(q, k, 0, false))
	if err != nil {
		return 0, nil, err
	}
	if r.Status.Failed > 0 {
		return 0, nil, fmt.Errorf("parts of the index failed: %v", r.Status.Errors)
	}
	var ids []string
	for _, h := range r.Hits {
		ids = append(ids, h.ID)
	}
	return int(r.Total), ids, nil
}
