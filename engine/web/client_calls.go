// SPDX-License-Identifier: Apache-2.0

package web

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"iter"
	"mime/multipart"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/seine-crawler/seine/engine"
	"github.com/seine-crawler/seine/index"
)

func inSeconds(d time.Duration) string { return strconv.FormatFloat(d.Seconds(), 'f', -1, 64) }

// Search is Engine.Search. A hit has no SnippetText and no Matches.
func (c *Client) Search(ctx context.Context, query string, o engine.SearchOptions) (engine.SearchResult, error) {
	q := url.Values{"q": {query}, "collapse": {strconv.FormatBool(o.Collapse)}}
	setNumber(q, "limit", strconv.Itoa(min(max(o.Limit, 0), hitsMax)))
	setNumber(q, "offset", strconv.Itoa(min(max(o.Offset, 0), hitsMax)))
	setNumber(q, "per_host", strconv.Itoa(min(max(o.PerHost, 0), hitsMax)))
	setNumber(q, "facet_values", strconv.Itoa(o.FacetValues))
	setNumber(q, "count", strconv.Itoa(min(max(o.TotalAtLeast, 0), countMax)))
	setNumber(q, "freshness_seconds", inSeconds(o.Freshness))
	setNumber(q, "deadline_seconds", inSeconds(o.Deadline))
	setText(q, "mark_start", o.MarkStart)
	setText(q, "mark_end", o.MarkEnd)
	setText(q, "sort", o.Order.String())
	setAll(q, "facets", o.Facets)
	for name, on := range map[string]bool{"strict": o.Strict, "explain": o.Explain, "html": o.HTML} {
		if on {
			q.Set(name, "true")
		}
	}
	var a SearchAnswer
	err := c.get(ctx, "/search", q, &a)
	a.SearchResult.Doubtful = a.Doubtful
	for _, f := range a.Facets {
		values := []index.FacetValue{}
		for _, v := range f.Values {
			values = append(values, v.FacetValue)
		}
		facet := index.Facet{Name: f.Name, Values: values, Distinct: f.Distinct}
		a.SearchResult.Facets = append(a.SearchResult.Facets, facet)
	}
	return a.SearchResult, err
}

// Suggest is Engine.Suggest.
func (c *Client) Suggest(ctx context.Context, query string, deadline time.Duration) (s index.Suggestion, err error) {
	q := url.Values{"q": {query}}
	setNumber(q, "deadline_seconds", inSeconds(deadline))
	return s, c.get(ctx, "/suggest", q, &s)
}

// Complete is Engine.Complete.
func (c *Client) Complete(ctx context.Context, text string, limit int) ([]index.Completion, error) {
	q := url.Values{"q": {text}}
	setNumber(q, "limit", strconv.Itoa(limit))
	var a Completions
	err := c.get(ctx, "/complete", q, &a)
	return a.Completions, err
}

// Record is Inspector.Record.
func (c *Client) Record(u string) (r engine.RecordView, err error) {
	return r, c.get(c.ctx, "/record", url.Values{"url": {u}}, &r)
}

// Records is Inspector.Records.
func (c *Client) Records(ctx context.Context, f engine.RecordFilter) iter.Seq2[engine.RecordView, error] {
	q := url.Values{}
	setText(q, "prefix", f.Prefix)
	setNumber(q, "sample", strconv.Itoa(f.Sample))
	if f.URL != nil {
		q.Set("regex", f.URL.String())
	}
	var names []string
	for _, s := range f.Statuses {
		names = append(names, s.String())
	}
	setAll(q, "status", names)
	return streamOf[engine.RecordView](ctx, c, "/records", q)
}

// TopRecords is Inspector.TopRecords.
func (c *Client) TopRecords(ctx context.Context, n int) (list []engine.RecordView, err error) {
	for r, err := range streamOf[engine.RecordView](ctx, c, "/records", url.Values{"top": {strconv.Itoa(n)}}) {
		if err != nil {
			return nil, err
		}
		list = append(list, r)
	}
	return list, nil
}

// Stats is Inspector.Stats.
func (c *Client) Stats(ctx context.Context, perHost bool) (s engine.CrawldbStats, err error) {
	return s, c.get(ctx, "/stats", url.Values{"hosts": {strconv.FormatBool(perHost)}}, &s)
}

// Hosts is Inspector.Hosts.
func (c *Client) Hosts(ctx context.Context, f engine.HostFilter) iter.Seq2[engine.HostView, error] {
	if f.Host == "" {
		q := url.Values{}
		if f.Top > 0 {
			q.Set("top", strconv.Itoa(f.Top))
			setText(q, "by", string(f.By))
		}
		return streamOf[engine.HostView](ctx, c, "/hosts", q)
	}
	return func(yield func(engine.HostView, error) bool) {
		var v engine.HostView
		err := c.get(ctx, "/host", url.Values{"host": {f.Host}}, &v)
		yield(v, err)
	}
}

// Inlinks is Inspector.Inlinks.
func (c *Client) Inlinks(ctx context.Context, u string, limit int) iter.Seq2[engine.InlinkView, error] {
	q := url.Values{"url": {u}}
	setNumber(q, "limit", strconv.Itoa(max(limit, 0)))
	return streamOf[engine.InlinkView](ctx, c, "/links", q)
}

// Links is Inspector.Links.
func (c *Client) Links(ctx context.Context) iter.Seq2[engine.InlinkView, error] {
	return streamOf[engine.InlinkView](ctx, c, "/links", nil)
}

// Segments is Inspector.Segments.
func (c *Client) Segments(ctx context.Context) iter.Seq2[engine.SegmentView, error] {
	return streamOf[engine.SegmentView](ctx, c, "/segments", nil)
}

// Segment is Inspector.Segment.
func (c *Client) Segment(number uint32) (s engine.SegmentView, err error) {
	return s, c.get(c.ctx, "/segments/"+strconv.FormatUint(uint64(number), 10), nil, &s)
}

// ParseRecords is Inspector.ParseRecords.
func (c *Client) ParseRecords(ctx context.Context, segment uint32, u string) iter.Seq2[engine.ParseView, error] {
	q := url.Values{}
	setNumber(q, "segment", strconv.FormatUint(uint64(segment), 10))
	setText(q, "url", u)
	return streamOf[engine.ParseView](ctx, c, "/parses", q)
}

// Check is Inspector.Check, with the name of a scope.
func (c *Client) Check(u, scope string) (v engine.URLCheck, err error) {
	return v, c.get(c.ctx, "/check", url.Values{"url": {u}, "scope": {scope}}, &v)
}

// Inject is Engine.Inject. Files are read here.
func (c *Client) Inject(ctx context.Context, o engine.InjectOptions) (r engine.InjectReport, err error) {
	q := fileNames(&o)
	if o.Overwrite {
		q.Set("overwrite", "true")
	}
	if o.Update {
		q.Set("update", "true")
	}
	err = sendSeeds(o, func(body io.Reader, mediaType string) error {
		return c.call(ctx, http.MethodPost, "/seeds", q, body, mediaType, &r)
	})
	return r, err
}

// DedupURLs is Engine.DedupURLs.
func (c *Client) DedupURLs(ctx context.Context, o engine.DedupURLsOptions) (r engine.DedupURLsReport, err error) {
	in := engine.InjectOptions{URLs: o.URLs, Files: o.Files, Stdin: o.Stdin}
	q := fileNames(&in)
	for _, list := range urlLists {
		if *into(&o, list) != nil {
			q.Add("lists", list)
		}
	}
	err = sendSeeds(in, func(body io.Reader, mediaType string) error {
		response, err := c.send(ctx, http.MethodPost, apiPath+"/dedup-urls", q, body, mediaType)
		if err != nil {
			return err
		}
		defer response.Body.Close()
		if response.StatusCode != http.StatusOK {
			return c.refused(ctx, response)
		}
		r, err = readListed(response.Body, &o)
		var problem *remoteError
		var list *writeError
		if err != nil && !errors.As(err, &problem) && !errors.As(err, &list) {
			err = c.failed(ctx, err)
		}
		return err
	})
	return r, err
}

// fileNames are the parameter file of requests with seeds.
func fileNames(o *engine.InjectOptions) url.Values {
	q := url.Values{"file": slices.Clone(o.Files)}
	for i, name := range o.Files {
		if name == "-" && o.Stdin != nil {
			q["file"][i] = "" // as in messages
		}
	}
	return q
}

// sendSeeds calls send with a body of the seeds that the options name. An error of a file comes before that of send.
func sendSeeds(o engine.InjectOptions, send func(body io.Reader, mediaType string) error) error {
	body, to := io.Pipe()
	form := multipart.NewWriter(to)
	sent := make(chan error, 1)
	go func() {
		err := errors.Join(writeSeeds(form, o), form.Close())
		sent <- err
		to.CloseWithError(err)
	}()
	err := send(body, form.FormDataContentType())
	body.Close() // ends the goroutine, unless it reads standard input
	select {
	case fault := <-sent:
		if fault != nil && !errors.Is(fault, io.ErrClosedPipe) {
			return fault
		}
	default:
	}
	return err
}

// writeSeeds writes the parts that seedParts reads.
func writeSeeds(form *multipart.Writer, o engine.InjectOptions) error {
	part, err := form.CreateFormField(urlsPart)
	if err == nil {
		_, err = io.WriteString(part, strings.Join(o.URLs, "\n"))
	}
	if err != nil {
		return err
	}
	for _, name := range o.Files {
		if err := writeSeedFile(form, name, o.Stdin); err != nil {
			return err
		}
	}
	return nil
}

func writeSeedFile(form *multipart.Writer, name string, stdin io.Reader) error {
	part, err := form.CreateFormField("file")
	if err != nil {
		return err
	}
	if name == "-" && stdin != nil {
		_, err = io.Copy(part, stdin)
		return err
	}
	file, err := os.Open(name)
	if err != nil {
		return err
	}
	defer file.Close()
	_, err = io.Copy(part, file)
	return err
}

// Recrawl is Engine.Recrawl.
func (c *Client) Recrawl(ctx context.Context, list ...string) (r engine.RecrawlReport, err error) {
	return r, c.post(ctx, "/recrawl", targets{list}, &r)
}

// Delete is Engine.Delete.
func (c *Client) Delete(ctx context.Context, list ...string) (engine.DeleteReport, error) {
	var a DeleteAnswer
	err := c.post(ctx, "/delete", targets{list}, &a)
	if err == nil && a.Problem != nil {
		err = a.Problem.asError()
	}
	return a.DeleteReport, err
}

// Report is Inspector.Report.
func (c *Client) Report(ctx context.Context, kind engine.ReportKind, limit int) iter.Seq2[engine.ReportRow, error] {
	q := url.Values{}
	setNumber(q, "top", strconv.Itoa(max(limit, 0)))
	lines := streamOf[json.RawMessage](ctx, c, "/report/"+string(kind), q)
	return func(yield func(engine.ReportRow, error) bool) {
		for line, err := range lines {
			var row engine.ReportRow
			if err == nil {
				row, err = reportRow(kind, line)
			}
			if !yield(row, err) || err != nil {
				return
			}
		}
	}
}

// URLStory is Inspector.URLStory.
func (c *Client) URLStory(ctx context.Context, u string) (s engine.URLStory, err error) {
	return s, c.get(ctx, "/url", url.Values{"url": {u}}, &s)
}

// HostStory is Inspector.HostStory.
func (c *Client) HostStory(ctx context.Context, host string) (s engine.HostStory, err error) {
	return s, c.get(ctx, "/host/story", url.Values{"host": {host}}, &s)
}

// Status is Inspector.Status.
func (c *Client) Status() (s engine.Status, err error) {
	asked, cancel := context.WithTimeout(c.ctx, answerTime)
	defer cancel()
	return s, c.unheard(asked, c.get(asked, "/status", nil, &s))
}

// Stop is Engine.Stop. It returns what the crawl does then, as Pause and Resume do.
func (c *Client) Stop() (CrawlState, error) { return c.changeCrawl("stop") }

// Pause is Engine.Pause.
func (c *Client) Pause() (CrawlState, error) { return c.changeCrawl("pause") }

// Resume is Engine.Resume.
func (c *Client) Resume() (CrawlState, error) { return c.changeCrawl("resume") }

func (c *Client) changeCrawl(how string) (s CrawlState, err error) {
	return s, c.post(c.ctx, "/crawl/"+how, struct{}{}, &s)
}
