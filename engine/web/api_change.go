// SPDX-License-Identifier: Apache-2.0

package web

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"reflect"
	"slices"
	"strings"

	"github.com/seine-crawler/seine/engine"
)

// seedLines is the JSON body of inject.
type seedLines struct {
	URLs []string `json:"urls"` // seed lines: URLs, with key=value pairs behind TABs
}

// DeleteAnswer is the report of a deletion.
type DeleteAnswer struct {
	engine.DeleteReport
	// Problem says that the rest is done, and an index writer did not take all of it.
	Problem *Problem `json:"problem,omitempty"`
}

// CrawlState says what became of a request to a crawl.
type CrawlState struct {
	Paused   bool `json:"paused"`   // crawls begin no request
	Stopping bool `json:"stopping"` // the crawl brings what it has through its phases, and ends
}

// Rate is how fast a crawl is. What is nil stays as it is.
type Rate struct {
	// DelaySeconds is the pause between two requests to a host; 0 means none.
	DelaySeconds *float64 `json:"delay_seconds,omitempty"`
	Fetchers     *int     `json:"fetchers,omitempty"` // from 1 to 100,000
}

// readJSON reads a JSON body, which must be all of it.
func readJSON(c *call, v any) error {
	if err := c.wantType("application/json"); err != nil {
		return err
	}
	var value json.RawMessage
	dec := json.NewDecoder(c.r.Body)
	err := dec.Decode(&value)
	if err == nil && (len(value) == 0 || value[0] != '{') {
		err = errors.New("it is no JSON object")
	}
	if err == nil {
		err = checkKeys(value, reflect.TypeOf(v).Elem())
	}
	if err == nil {
		err = json.Unmarshal(value, v)
	}
	if err == nil {
		if _, err = dec.Token(); errors.Is(err, io.EOF) {
			return nil
		} else if err == nil {
			err = errors.New("there is more behind the JSON value")
		}
	}
	return bodyProblem(jsonFault(err))
}

// checkKeys returns an error if a JSON object has a key that the description of its type does not have, or one twice:
// encoding/json takes the last of several, and each in any case. No body has objects within.
func checkKeys(text []byte, t reflect.Type) error {
	known, given := map[string]any{}, map[string]bool{}
	(&schemas{}).fields(t, known, new([]string))
	dec := json.NewDecoder(bytes.NewReader(text))
	_, err := dec.Token() // the brace
	for err == nil && dec.More() {
		var key json.Token
		var value json.RawMessage
		if key, err = dec.Token(); err == nil {
			err = dec.Decode(&value)
		}
		name, _ := key.(string)
		switch {
		case err != nil:
		case known[name] == nil:
			err = fmt.Errorf("unknown field %q", name)
		case given[name]:
			err = fmt.Errorf("%s: it is given twice", name)
		}
		given[name] = true
	}
	return err
}

// jsonFault says what is wrong with a JSON body in the words of JSON: errors of encoding/json have those of Go.
func jsonFault(err error) error {
	var syntax *json.SyntaxError
	var mismatch *json.UnmarshalTypeError
	switch {
	case errors.Is(err, io.ErrUnexpectedEOF):
		return errors.New("it ends before the JSON object does")
	case errors.Is(err, io.EOF):
		return errors.New("it is empty: send a JSON object, such as {}")
	case errors.As(err, &syntax):
		return fmt.Errorf("it is no JSON: byte %d: %w", syntax.Offset, err)
	case errors.As(err, &mismatch):
		return fmt.Errorf("%s: want %s, not %s", mismatch.Field, jsonName(mismatch.Type), given(mismatch.Value))
	case err != nil && strings.HasPrefix(err.Error(), "json: "):
		return errors.New(strings.TrimPrefix(err.Error(), "json: "))
	}
	return err
}

// jsonName is a type as people who write JSON call it.
func jsonName(t reflect.Type) string {
	switch t.Kind() {
	case reflect.Bool:
		return "true or false"
	case reflect.String:
		return "a string"
	case reflect.Slice:
		return "an array"
	case reflect.Struct, reflect.Map:
		return "an object"
	case reflect.Float64:
		return "a number"
	}
	return "a whole number"
}

// given is what a body has in the place of a value: "string", or a number with its digits.
func given(value string) string {
	if value == "array" || value == "object" {
		return "an " + value
	}
	return strings.Replace("a "+value, "a number ", "", 1)
}

// wantType returns an error if the body is not of a media type. What needs one is no simple request, which a browser
// sends for a foreign page without a question.
func (c *call) wantType(want ...string) error {
	is, params, _ := mime.ParseMediaType(c.r.Header.Get("Content-Type"))
	if charset := strings.ToLower(params["charset"]); !slices.Contains([]string{"", "utf-8", "us-ascii"}, charset) {
		return problem(http.StatusUnsupportedMediaType, "media_type", "the body must be UTF-8, not "+charset)
	}
	if slices.Contains(want, is) {
		return nil
	}
	return problem(http.StatusUnsupportedMediaType, "media_type", "the body must have the Content-Type "+
		strings.Join(want, " or "))
}

func (h *Handler) inject(c *call) (any, error) {
	o := engine.InjectOptions{Overwrite: c.on("overwrite"), Update: c.on("update")}
	if o.Overwrite && o.Update {
		return nil, wrongParameter("update", "it has no effect beside overwrite")
	}
	is, params, _ := mime.ParseMediaType(c.r.Header.Get("Content-Type"))
	if p := c.needsFiles(is); p != nil {
		return nil, p
	}
	switch is {
	case "multipart/form-data":
		source := newSeedParts(c.r.Body, params)
		if err := source.options(&o, c.texts("file")); err != nil {
			return nil, err
		}
	case "text/plain":
		if err := c.wantType("text/plain"); err != nil {
			return nil, err
		}
		o.Readers = []io.Reader{c.r.Body}
	default:
		var lines seedLines
		if err := c.wantType("application/json", "text/plain", "multipart/form-data"); err != nil {
			return nil, err
		}
		if err := readJSON(c, &lines); err != nil {
			return nil, err
		}
		if len(lines.URLs) == 0 {
			return nil, bodyProblem(errors.New("urls: name at least one seed"))
		}
		o.URLs = lines.URLs
	}
	return h.e.Inject(c.ctx, o)
}

// needsFiles is the problem of the parameter file beside a body of another type than one of files; nil: there is none.
func (c *call) needsFiles(mediaType string) *Problem {
	if mediaType != "multipart/form-data" && c.given("file") {
		return wrongParameter("file", "it names the parts of a body of the type multipart/form-data")
	}
	return nil
}

// readTargets reads the body of recrawl and delete.
func readTargets(c *call) ([]string, error) {
	var t targets
	if err := readJSON(c, &t); err != nil {
		return nil, err
	}
	if len(t.Targets) == 0 {
		return nil, bodyProblem(errors.New("targets: name at least one"))
	}
	return t.Targets, nil
}

func (h *Handler) recrawl(c *call) (any, error) {
	list, err := readTargets(c)
	if err != nil {
		return nil, err
	}
	return h.e.Recrawl(c.ctx, list...)
}

func (h *Handler) delete(c *call) (any, error) {
	list, err := readTargets(c)
	if err != nil {
		return nil, err
	}
	r, err := h.e.Delete(c.ctx, list...)
	if errors.Is(err, engine.ErrNotSent) {
		return DeleteAnswer{r, problemOf(err)}, nil
	}
	return DeleteAnswer{DeleteReport: r}, err
}

func (h *Handler) pause(*call) (any, error) { return h.changeCrawl((*engine.Engine).Pause) }

func (h *Handler) resume(*call) (any, error) { return h.changeCrawl((*engine.Engine).Resume) }

func (h *Handler) stop(*call) (any, error) {
	s, err := h.changeCrawl((*engine.Engine).Stop)
	s.Stopping = true // a crawl with little to do may have ended since
	return s, err
}

// changeCrawl changes what crawls do, and returns what they do then.
func (h *Handler) changeCrawl(change func(*engine.Engine) error) (s CrawlState, err error) {
	if err = change(h.e); err != nil {
		return s, err
	}
	if s.Paused, err = h.e.Inspect().Paused(); err != nil {
		return s, err
	}
	now, err := h.e.Inspect().Status()
	s.Stopping = now.Stopping
	return s, err
}

func (h *Handler) rate(c *call) (any, error) {
	var r Rate
	if err := readJSON(c, &r); err != nil {
		return nil, err
	}
	if d := r.DelaySeconds; d != nil && !(*d >= 0 && *d <= delayMax) {
		return nil, bodyProblem(fmt.Errorf("delay_seconds: want a number from 0 to %.0f", delayMax))
	}
	switch err := r.set(h.e); {
	case errors.Is(err, engine.ErrClosed):
		return nil, err
	case err != nil:
		return nil, bodyProblem(err)
	}
	return r, nil
}

// delayMax bounds the delay that may be set, in seconds.
const delayMax = 1e6

// set sets what r has, if an engine takes all of it. The fetchers come first: an engine refuses some numbers of them,
// and no delay.
func (r *Rate) set(e *engine.Engine) error {
	if r.Fetchers != nil {
		if err := e.SetConcurrency(*r.Fetchers); err != nil {
			return err
		}
	}
	if r.DelaySeconds == nil {
		return nil
	}
	delay := seconds(*r.DelaySeconds)
	if delay == 0 { // it may be less than a nanosecond
		delay = -1 // the engine's 0 means its default
	}
	return e.SetDelay(delay)
}
