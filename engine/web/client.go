// SPDX-License-Identifier: Apache-2.0

package web

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
	"time"

	"github.com/seine-crawler/seine/engine"
	"github.com/seine-crawler/seine/index"
	"github.com/seine-crawler/seine/storage/urlkey"
)

// Headers by which a Client knows whom it talks to.
const (
	versionHeader  = "Seine-Version"
	processHeader  = "Seine-Process"   // its number
	readOnlyHeader = "Seine-Read-Only" // whether its engine is
)

// Client asks the process that has a data directory open, over the socket there. Its methods are those of an Engine and
// of an Inspector, and return what these would. Any goroutine may use it.
//
// Errors are those of the Engine: errors.Is finds the same ones in them, and their texts are the same. Besides, there
// is ErrGone.
type Client struct {
	dir      string
	ctx      context.Context // of methods that have none of their own
	http     http.Client
	process  string
	readOnly bool

	answered atomic.Bool // a request, after that of Dial
}

// answerTime is how long a process may take to say that it is there, or what its status is: both cost it little. Tests
// shorten it.
var answerTime = 10 * time.Second

// Errors of a Client alone.
var (
	// ErrGone: the process that had the data directory open ended before it answered.
	ErrGone = errors.New("it ended before all was answered; run the command again")
	// ErrNotAsked: that process ended before it answered anything or changed anything. Who opens the directory now has
	// it, or finds the next process that does.
	ErrNotAsked = errors.New("it ended before it was asked")
)

// Dial returns a client of the process that has a data directory open. The error says that there is no such process,
// that it serves no socket, or that it answers nothing, as while it is stopped. When ctx ends, so do calls of methods
// without a context. The caller must call Close.
func Dial(ctx context.Context, dir string) (*Client, error) {
	c := &Client{dir: dir, ctx: ctx}
	c.http.Transport = &http.Transport{
		DialContext:        func(ctx context.Context, _, _ string) (net.Conn, error) { return dialSocket(ctx, dir) },
		DisableCompression: true,
	}
	asked, cancel := context.WithTimeout(ctx, answerTime)
	defer cancel()
	response, err := c.send(asked, http.MethodGet, "/healthz", nil, nil, "")
	if err != nil {
		return nil, c.unheard(asked, err)
	}
	response.Body.Close()
	c.process = response.Header.Get(processHeader)
	c.readOnly = response.Header.Get(readOnlyHeader) == "true"
	if version := response.Header.Get(versionHeader); version != engine.Version {
		return nil, errors.Join(c.Close(), fmt.Errorf("process %s, which has %s open, is seine %s, and this is "+
			"seine %s: use the same", c.process, dir, version, engine.Version))
	}
	return c, nil
}

// unheard is the error of a request that had answerTime, until asked ended.
func (c *Client) unheard(asked context.Context, err error) error {
	if err != nil && asked.Err() != nil && c.ctx.Err() == nil {
		return fmt.Errorf("the process that has %s open does not answer: if it was stopped, as by Ctrl-Z, fg lets it "+
			"go on", c.dir)
	}
	return err
}

// Process is the number of the process that the client asks, as text.
func (c *Client) Process() string { return c.process }

// ReadOnly is Inspector.ReadOnly: that process changes nothing.
func (c *Client) ReadOnly() bool { return c.readOnly }

// Close closes the connections of the client.
func (c *Client) Close() error {
	c.http.CloseIdleConnections()
	return nil
}

// send sends a request. The caller must close the body of the response.
func (c *Client) send(
	ctx context.Context, method, path string, query url.Values, body io.Reader, mediaType string,
) (*http.Response, error) {
	r, err := http.NewRequestWithContext(ctx, method, "http://localhost"+path+"?"+plainQuery(query), body)
	if err != nil {
		return nil, err
	}
	if mediaType != "" {
		r.Header.Set("Content-Type", mediaType)
	}
	if method == http.MethodGet {
		r.Header.Set("Accept", ndjson+", application/json")
	}
	response, err := c.http.Do(r)
	if err != nil {
		return nil, c.unanswered(ctx, method, err)
	}
	if c.process != "" {
		c.answered.Store(true)
	}
	return response, nil
}

// unanswered is the error of a request without an answer.
func (c *Client) unanswered(ctx context.Context, method string, err error) error {
	var dial *net.OpError
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case errors.As(err, &dial) && dial.Op == "dial":
		err = dial
	case method != http.MethodGet:
		return c.failed(ctx, err)
	}
	if c.process == "" || c.answered.Load() {
		return c.failed(ctx, err)
	}
	return fmt.Errorf("asking process %s, which had %s open: %w (%w)", c.process, c.dir, ErrNotAsked, rootOf(err))
}

// failed is the error of a request that had no answer, or not all of it.
func (c *Client) failed(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if c.process == "" { // Dial asks
		return err
	}
	return fmt.Errorf("asking process %s, which had %s open: %w (%w)", c.process, c.dir, ErrGone, rootOf(err))
}

// rootOf is an error without the address that the client does not really have.
func rootOf(err error) error {
	var u *url.Error
	if errors.As(err, &u) {
		return u.Err
	}
	return err
}

// call sends a request and reads its answer, which is JSON.
func (c *Client) call(
	ctx context.Context, method, path string, query url.Values, body io.Reader, mediaType string, answer any,
) error {
	response, err := c.send(ctx, method, apiPath+path, query, body, mediaType)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return c.refused(ctx, response)
	}
	if err := json.NewDecoder(response.Body).Decode(answer); err != nil {
		return c.failed(ctx, err)
	}
	return nil
}

func (c *Client) get(ctx context.Context, path string, query url.Values, answer any) error {
	return c.call(ctx, http.MethodGet, path, query, nil, "", answer)
}

// post sends a value as JSON.
func (c *Client) post(ctx context.Context, path string, v, answer any) error {
	body, err := json.Marshal(v)
	if err != nil {
		return err
	}
	return c.call(ctx, http.MethodPost, path, nil, bytes.NewReader(body), "application/json", answer)
}

// refused is the error of an answer that is no success.
func (c *Client) refused(ctx context.Context, response *http.Response) error {
	var p Problem
	if err := json.NewDecoder(response.Body).Decode(&p); err != nil {
		return c.failed(ctx, err)
	}
	return p.asError()
}

// asError is the error that a problem was made of.
func (p *Problem) asError() error {
	for _, k := range kinds {
		if k.code == p.Code {
			return &remoteError{p.Detail, k.err}
		}
	}
	switch p.Code {
	case "query":
		return &remoteError{p.Detail, &index.QueryError{Column: p.Column, Message: p.Detail}}
	case "url":
		return &remoteError{p.Detail, &urlkey.Error{Reason: p.Detail}}
	case "parameter":
		if p.Parameter == "facets" {
			return &remoteError{p.Detail, &index.FacetError{}}
		}
	}
	return p
}

// remoteError is an error of the engine in another process.
type remoteError struct {
	text string
	is   error
}

func (e *remoteError) Error() string { return e.text }
func (e *remoteError) Unwrap() error { return e.is }

// streamOf streams the answer to a request, as it is read.
func streamOf[T any](ctx context.Context, c *Client, path string, query url.Values) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		var none T
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		response, err := c.send(ctx, http.MethodGet, apiPath+path, query, nil, "")
		if err != nil {
			yield(none, err)
			return
		}
		defer response.Body.Close()
		if response.StatusCode != http.StatusOK {
			yield(none, c.refused(ctx, response))
			return
		}
		dec := json.NewDecoder(response.Body)
		for {
			v, err := nextOf[T](dec)
			if errors.Is(err, io.EOF) {
				return
			}
			var p *remoteError
			if err != nil && !errors.As(err, &p) {
				err = c.failed(ctx, err)
			}
			if !yield(v, err) || err != nil {
				return
			}
		}
	}
}

// nextOf reads a line of a stream: a value, or the problem that ended it.
func nextOf[T any](dec *json.Decoder) (v T, err error) {
	var line json.RawMessage
	if err := dec.Decode(&line); err != nil {
		return v, err
	}
	if bytes.HasPrefix(line, []byte(`{"problem":`)) {
		var last lastLine
		if err := json.Unmarshal(line, &last); err != nil {
			return v, err
		}
		if err = last.Problem.asError(); err != nil {
			return v, &remoteError{err.Error(), errors.Unwrap(err)}
		}
	}
	return v, json.Unmarshal(line, &v)
}

// setText adds a parameter unless it is "".
func setText(q url.Values, name, value string) {
	if value != "" {
		q.Set(name, value)
	}
}

// setNumber adds a parameter unless it is "0".
func setNumber(q url.Values, name, value string) {
	if value != "0" {
		q.Set(name, value)
	}
}

// plainQuery encodes parameters. Bytes that are not UTF-8 become U+FFFD, each of them, as the engine takes those of
// URLs and of queries: a Handler refuses them.
func plainQuery(q url.Values) string {
	plain := url.Values{}
	for name, values := range q {
		for _, v := range values {
			plain.Add(name, string([]rune(v)))
		}
	}
	return plain.Encode()
}

func setAll(q url.Values, name string, values []string) {
	if len(values) > 0 {
		q.Set(name, strings.Join(values, ","))
	}
}
