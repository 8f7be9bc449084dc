// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"html"
	"io"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/blevesearch/bleve/v2"
	"github.com/blevesearch/bleve/v2/analysis/lang/en"
	"github.com/blevesearch/bleve/v2/index/scorch/mergeplan"
	"github.com/blevesearch/bleve/v2/mapping"

	seine "github.com/seine-crawler/seine/engine"
	"github.com/seine-crawler/seine/engine/fetch"
	"github.com/seine-crawler/seine/engine/policy"
)

// passageWeb makes a web of a file of documents: a page each, on hosts of very unequal sizes, with a title, a date and
// links to other pages. The words are those of Debian's manuals: simweb's vocabulary is so small that most of its words
// are on most of its pages, which no log of a search engine looks like. It implements fetch.Protocol, so that a page
// takes the whole way of a crawl, but no socket.
type passageWeb struct {
	file  *os.File
	start []int64 // of each document's line, and the end of the last
	hosts int
}

const (
	passageLinks = 3  // of a page
	titleWords   = 6  // of a passage that are the title of its page
	meanOfHost   = 52 // Common Crawl's mean, see simweb.Params.MeanPages
)

// openPassages reads where the first n documents of a file are.
func openPassages(name string, n int) (w *passageWeb, err error) {
	w = &passageWeb{hosts: max(1, n/meanOfHost)}
	if w.file, err = os.Open(name); err != nil {
		return nil, err
	}
	in, at := bufio.NewReaderSize(w.file, 1<<20), int64(0)
	for len(w.start) <= n {
		w.start = append(w.start, at)
		for {
			part, err := in.ReadSlice('\n')
			if at += int64(len(part)); err == nil {
				break
			}
			if !errors.Is(err, bufio.ErrBufferFull) {
				if len(w.start) <= n {
					return nil, fmt.Errorf("%s has %d documents, want %d", name, len(w.start)-1, n)
				}
				return w, nil
			}
		}
	}
	return w, nil
}

func (w *passageWeb) pages() int { return len(w.start) - 1 }

// passage is a document: its words, and what its page has besides.
type passage struct {
	number      int
	text, title string
	host        string
	date        time.Time
}

// read reads a document.
func (w *passageWeb) read(i int) (p passage, err error) {
	line := make([]byte, w.start[i+1]-w.start[i])
	if _, err := w.file.ReadAt(line, w.start[i]); err != nil {
		return p, err
	}
	f := strings.SplitN(strings.TrimSuffix(string(line), "\n"), "\t", 3)
	if len(f) != 3 {
		return p, fmt.Errorf("document %d: want ID, TITLE and TEXT", i)
	}
	p = passage{number: i, title: f[1], text: f[2]}
	if words := strings.SplitN(p.text, " ", titleWords+1); p.title == "" {
		p.title = strings.Join(words[:min(len(words), titleWords)], " ")
	}
	draw := drawOf(i, 0)
	// Sizes of hosts follow a power law: the first has hundreds of times as many pages as the median.
	p.host = fmt.Sprintf("h%05d.example", int(math.Pow(float64(draw%1e6)/1e6, 3)*float64(w.hosts)))
	p.date = time.Date(2012, 1, 1+int(draw/1e6%5000), 0, 0, 0, 0, time.UTC)
	return p, nil
}

// drawOf is a number that looks drawn, the same on every run.
func drawOf(i, what int) uint64 {
	h := fnv.New64a()
	fmt.Fprintf(h, "%d %d", i, what)
	return h.Sum64() % (1 << 60)
}

func (p *passage) url() string { return fmt.Sprintf("https://%s/manuals/%07d.html", p.host, p.number) }

// page is the HTML of a document.
func (w *passageWeb) page(i int) ([]byte, error) {
	p, err := w.read(i)
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	fmt.Fprintf(&b, `<!DOCTYPE html><html lang="en"><head><meta charset="utf-8"><title>%s</title>
<meta property="article:published_time" content="%s"></head><body><main><h1>%[1]s</h1><p>%[3]s</p></main><ul>`,
		html.EscapeString(p.title), p.date.Format(time.RFC3339), html.EscapeString(p.text))
	for k := range passageLinks {
		to, err := w.read(int(drawOf(i, k+1) % uint64(w.pages())))
		if err != nil {
			return nil, err
		}
		fmt.Fprintf(&b, `<li><a href="%s">%s</a></li>`, to.url(), html.EscapeString(to.title))
	}
	b.WriteString("</ul></body></html>\n")
	return b.Bytes(), nil
}

// Fetch implements fetch.Protocol.
func (w *passageWeb) Fetch(_ context.Context, req *fetch.Request) *fetch.Response {
	status, mediaType, body := "404 Not Found", "text/plain", []byte("no such page\n")
	name := strings.TrimSuffix(filepath.Base(req.URL.String()), ".html")
	if i, err := strconv.Atoi(name); err == nil && i >= 0 && i < w.pages() {
		if text, err := w.page(i); err == nil {
			status, mediaType, body = "200 OK", "text/html; charset=utf-8", text
		}
	}
	start := time.Now()
	head := fmt.Sprintf("HTTP/1.1 %s\r\nContent-Type: %s\r\nContent-Length: %d\r\n\r\n", status, mediaType, len(body))
	r, err := fetch.StoredResponse([]byte(head), body, "")
	if err != nil {
		panic("BUG: a response of our own: " + err.Error())
	}
	r.RequestHead = fmt.Appendf(nil, "GET %s HTTP/1.1\r\n\r\n", req.URL)
	r.Start, r.End, r.Received = start, time.Now(), int64(len(head)+len(body))
	return r
}

// storeMemory is Options.Memory of the stores that are built and served.
const storeMemory = 1 << 30

// buildStore crawls the pages into a data directory, and merges its index as a crawl's end does.
func buildStore(ctx context.Context, w *passageWeb, dir string) error {
	e, err := seine.Open(seine.Options{
		Dir: dir, Memory: storeMemory, Protocol: w, Delay: -1, Scope: policy.ScopeAny, NoAdditions: true,
	})
	if err != nil {
		return err
	}
	seeds := &seedLines{w: w}
	r, err := e.Crawl(ctx, seine.CrawlOptions{Inject: seine.InjectOptions{Readers: []io.Reader{seeds}}})
	if err == nil && r.Fetched < uint64(w.pages()) {
		err = fmt.Errorf("%d of %d pages were fetched", r.Fetched, w.pages())
	}
	return errors.Join(err, e.Close())
}

// seedLines are the URLs of all pages.
type seedLines struct {
	w    *passageWeb
	next int
	rest []byte
}

// Read implements io.Reader.
func (s *seedLines) Read(b []byte) (int, error) {
	for len(s.rest) == 0 {
		if s.next == s.w.pages() {
			return 0, io.EOF
		}
		p, err := s.w.read(s.next)
		if err != nil {
			return 0, err
		}
		s.rest = append([]byte(p.url()), '\n')
		s.next++
	}
	n := copy(b, s.rest)
	s.rest = s.rest[n:]
	return n, nil
}

// bleveLoadMapping is a mapping that can answer as a search page does: text with positions, stored for passages of it;
// and two fields to filter by.
func bleveLoadMapping() *mapping.IndexMappingImpl {
	text := bleve.NewTextFieldMapping()
	text.Analyzer, text.IncludeInAll, text.DocValues = en.AnalyzerName, false, false
	text.Store, text.IncludeTermVectors = true, true
	word := bleve.NewKeywordFieldMapping()
	word.IncludeInAll, word.Store, word.DocValues = false, true, true
	doc := bleve.NewDocumentStaticMapping()
	doc.AddFieldMappingsAt("title", text)
	doc.AddFieldMappingsAt("text", text)
	doc.AddFieldMappingsAt("host", word)
	doc.AddFieldMappingsAt("year", word)
	m := bleve.NewIndexMapping()
	m.DefaultMapping = doc
	return m
}

// buildBleve indexes the same documents, and merges its segments, as the server does seine's.
func buildBleve(w *passageWeb, dir string) error {
	x, err := bleve.New(dir, bleveLoadMapping())
	if err != nil {
		return err
	}
	batch := x.NewBatch()
	for i := range w.pages() {
		p, err := w.read(i)
		if err != nil {
			return err
		}
		if err := batch.Index(p.url(), map[string]string{
			"title": p.title, "text": p.text, "host": p.host, "year": p.date.Format("2006"),
		}); err != nil {
			return err
		}
		if batch.Size() == bleveBatch || i == w.pages()-1 {
			if err := x.Batch(batch); err != nil {
				return err
			}
			batch.Reset()
		}
	}
	inner, err := x.Advanced()
	if err == nil {
		merger, ok := inner.(interface {
			ForceMerge(ctx context.Context, mo *mergeplan.MergePlanOptions) error
		})
		if err = errors.New("this bleve merges no index"); ok {
			err = merger.ForceMerge(context.Background(), &mergeplan.SingleSegmentMergePlanOptions)
		}
	}
	return errors.Join(err, x.Close())
}
