// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/blevesearch/bleve/v2"
	"github.com/blevesearch/bleve/v2/analysis/lang/en"
	"github.com/blevesearch/bleve/v2/mapping"
	bleveQuery "github.com/blevesearch/bleve/v2/search/query"

	"github.com/seine-crawler/seine/index"
	"github.com/seine-crawler/seine/storage"
)

// engine builds and searches an index in a folder.
type engine interface {
	build(ctx context.Context, dir string, docs []document) error // durable when it returns
	open(dir string) error
	search(ctx context.Context, q *query) (hits int, err error) // the best ten are fetched, all are counted
	close() error
}

// engines are the engines that can be compared, and what they do less, or differently.
var engines = []struct {
	name, remark string
	new          func() engine
}{
	{"seine", "title and text, positions, stems; one goroutine builds", func() engine { return &seineEngine{} }},
	{
		"bleve",
		"title and text, positions, stems (analyzer en); text not stored, no doc values, no composite field; " +
			"several goroutines build",
		func() engine { return &bleveEngine{} },
	},
}

type seineEngine struct {
	store *storage.Store
	index *index.Index
}

// heldBytes is what seine may hold of words that queries use again: as much as `seine serve --memory 2560MB` does.
// tantivy, Lucene and bleve map their files, and the page cache holds these whole.
const heldBytes = 512 << 20

func (e *seineEngine) open(dir string) (err error) {
	if e.store, err = storage.Open(dir, storage.Options{}); err != nil {
		return err
	}
	if e.index, err = index.Open(e.store, index.Options{HeldBytes: heldBytes}); err != nil {
		return errors.Join(err, e.store.Close())
	}
	return nil
}

func (e *seineEngine) close() error { return errors.Join(e.index.Close(), e.store.Close()) }

func (e *seineEngine) build(ctx context.Context, dir string, docs []document) (err error) {
	if err := e.open(dir); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, e.close()) }()
	in := e.store.NewIngestion()
	defer in.Abort()
	b := e.index.NewBuilder(in)
	defer b.Abort()
	for i, d := range docs {
		if err := b.Add(&index.Document{
			Key: d.key, URL: d.url, Title: d.title, Text: d.text, Language: d.language, Stamp: uint64(i),
		}); err != nil {
			return err
		}
	}
	if _, err := b.Finish(); err != nil {
		return err
	}
	if err := in.Commit(); err != nil {
		return err
	}
	_, err = e.index.Merge(ctx)
	return err
}

func (e *seineEngine) search(ctx context.Context, q *query) (int, error) {
	r, err := e.index.Search(ctx, q.text(), index.SearchOptions{Limit: 10, Deadline: time.Minute})
	if err == nil && r.Partial {
		err = errors.New("it took more than a minute")
	}
	return r.Total, err
}

type bleveEngine struct{ index bleve.Index }

// bleveBatch is the number of documents in a batch for bleve.
const bleveBatch = 500

// bleveMapping indexes the same as seine: two fields with positions, stemmed, nothing stored.
func bleveMapping() mapping.IndexMapping {
	field := bleve.NewTextFieldMapping()
	field.Analyzer = en.AnalyzerName
	field.Store, field.IncludeInAll, field.DocValues = false, false, false
	doc := bleve.NewDocumentStaticMapping()
	doc.AddFieldMappingsAt("title", field)
	doc.AddFieldMappingsAt("text", field)
	m := bleve.NewIndexMapping()
	m.DefaultMapping = doc
	return m
}

func (e *bleveEngine) build(_ context.Context, dir string, docs []document) error {
	x, err := bleve.New(dir, bleveMapping())
	if err != nil {
		return err
	}
	type fields struct {
		Title string `json:"title"`
		Text  string `json:"text"`
	}
	for len(docs) > 0 && err == nil {
		n := min(bleveBatch, len(docs))
		batch := x.NewBatch()
		for _, d := range docs[:n] {
			err = errors.Join(err, batch.Index(d.url, fields{d.title, d.text}))
		}
		err = errors.Join(err, x.Batch(batch))
		docs = docs[n:]
	}
	return errors.Join(err, x.Close())
}

func (e *bleveEngine) open(dir string) (err error) {
	e.index, err = bleve.Open(dir)
	return err
}

func (e *bleveEngine) close() error { return e.index.Close() }

func (e *bleveEngine) search(ctx context.Context, q *query) (int, error) {
	r, err := e.index.SearchInContext(ctx, bleve.NewSearchRequestOptions(bleveOf(q), 10, 0, false))
	if err != nil {
		return 0, err
	}
	if r.Status.Failed > 0 {
		return 0, fmt.Errorf("parts of the index failed: %v", r.Status.Errors)
	}
	return int(r.Total), nil
}

// bleveOf makes a query over both fields.
func bleveOf(q *query) bleveQuery.Query {
	either := func(of func(field string) bleveQuery.Query) bleveQuery.Query {
		return bleve.NewDisjunctionQuery(of("title"), of("text"))
	}
	if q.class == "phrase" {
		return either(func(field string) bleveQuery.Query {
			m := bleve.NewMatchPhraseQuery(q.words[0] + " " + q.words[1])
			m.SetField(field)
			return m
		})
	}
	var words []bleveQuery.Query
	for _, w := range q.words {
		words = append(words, either(func(field string) bleveQuery.Query {
			m := bleve.NewMatchQuery(w)
			m.SetField(field)
			return m
		}))
	}
	if q.class == "or" {
		return bleve.NewDisjunctionQuery(words...)
	}
	return bleve.NewConjunctionQuery(words...)
}
