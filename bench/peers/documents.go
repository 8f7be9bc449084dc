// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/seine-crawler/seine/bench/simweb"
	"github.com/seine-crawler/seine/engine/parse"
	"github.com/seine-crawler/seine/storage/urlkey"
)

// htmlPage is a page as a server sends it.
type htmlPage struct {
	url  string
	body []byte
}

const (
	pagesPerHost  = 100
	maxFolderSize = 512 << 20 // bytes of pages that are read from a folder
)

// syntheticPages returns the first pages of the synthetic web in the shape for benchmarks.
func syntheticPages(n int) ([]htmlPage, error) {
	hosts := (n + pagesPerHost - 1) / pagesPerHost
	w, err := simweb.New(simweb.Bench(hosts, pagesPerHost), 80)
	if err != nil {
		return nil, err
	}
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	pages := make([]htmlPage, n)
	for i := range pages {
		host, number := i/pagesPerHost, i%pagesPerHost
		pages[i] = htmlPage{w.URL(host, number), w.AppendHTML(nil, host, number, now)}
	}
	return pages, nil
}

// folderPages returns at most n of the *.html files below a folder, in the order of their names.
func folderPages(folder string, n int) (pages []htmlPage, err error) {
	size := 0
	err = filepath.WalkDir(folder, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".html") {
			return err
		}
		if len(pages) == n || size >= maxFolderSize {
			return fs.SkipAll
		}
		body, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(folder, path)
		if err != nil {
			return err
		}
		size += len(body)
		pages = append(pages, htmlPage{"http://pages.example/" + filepath.ToSlash(rel), body})
		return nil
	})
	if err == nil && len(pages) == 0 {
		err = errors.New("no *.html file")
	}
	if err != nil {
		return nil, fmt.Errorf("pages of the folder %s: %w", folder, err)
	}
	return pages, nil
}

// document is a document for the engines.
type document struct {
	key              urlkey.Key
	url, title, text string
	language         string
}

// documents parses pages and returns the documents to index, in the order of keys.
func documents(pages []htmlPage) (docs []document, err error) {
	parsers := parse.New(parse.Options{})
	var page parse.Page
	for _, p := range pages {
		u, err := urlkey.Parse(p.url)
		if err != nil {
			return nil, err
		}
		if err := parsers.Parse(&parse.Input{URL: u, ContentType: "text/html", Body: p.body}, &page); err != nil {
			return nil, fmt.Errorf("parsing %s: %w", p.url, err)
		}
		if len(page.Text) > 0 {
			docs = append(docs, document{u.Key(), u.String(), page.Title, string(page.Text), page.Language})
		}
	}
	if len(docs) == 0 {
		return nil, errors.New("none of the pages has text")
	}
	slices.SortFunc(docs, func(a, b document) int { return strings.Compare(string(a.key), string(b.key)) })
	return docs, nil
}
