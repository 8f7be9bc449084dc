// SPDX-License-Identifier: Apache-2.0

package writers

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"github.com/seine-crawler/seine/engine/policy"
)

// OpenSearch writes to an index of OpenSearch, or of Elasticsearch, by its bulk requests. Make it with Parse.
type OpenSearch struct {
	name string
	s    sender
}

func newOpenSearch(name string, base *url.URL, l login, compress bool) (*OpenSearch, error) {
	if strings.Count(strings.Trim(base.Path, "/"), "/") > 0 && strings.HasSuffix(base.Path, "/_bulk") {
		return nil, errors.New("name the index, without /_bulk")
	}
	if strings.Trim(base.Path, "/") == "" {
		return nil, errors.New("the URL lacks the index: want http://HOST:9200/INDEX")
	}
	o := &OpenSearch{name: name}
	return o, o.s.connect(base, l, compress, o.send)
}

// Name is the kind and the URL of the index.
func (o *OpenSearch) Name() string { return o.name }

// Write makes changes. Each has its version as external_gte.
func (o *OpenSearch) Write(ctx context.Context, changes []policy.IndexChange) ([]policy.IndexRefusal, error) {
	items := make([]item, len(changes))
	for i := range changes {
		items[i] = bulkItem(i, &changes[i])
	}
	return o.s.write(ctx, items)
}

// Commit refreshes the index.
func (o *OpenSearch) Commit(ctx context.Context) error {
	c := o.s.client
	return c.until(ctx, func() error {
		_, _, err := c.post(ctx, "_refresh", "application/json", nil)
		return err
	})
}

// action is the first line of a change in a bulk request.
type action struct {
	ID          string `json:"_id"`
	Version     int64  `json:"version"`
	VersionType string `json:"version_type"`
}

func bulkItem(at int, c *policy.IndexChange) item {
	name := "index"
	if c.Document == nil {
		name = "delete"
	}
	it := item{change: at, id: documentID(c.ID), delete: c.Document == nil}
	it.text = append(appendValue(nil, map[string]action{name: {it.id, c.Version, "external_gte"}}), '\n')
	if c.Document != nil {
		it.text = append(AppendJSON(it.text, c), '\n')
	}
	return it
}

// bulkAnswer is the answer to a bulk request: an item for each change, in order, by the name of its action.
type bulkAnswer struct {
	Items []map[string]struct {
		ID     string          `json:"_id"`
		Status int             `json:"status"`
		Error  json.RawMessage `json:"error"`
	} `json:"items"`
}

// send sends items, and those that are refused for now again. It does not change items.
func (o *OpenSearch) send(ctx context.Context, items []item) error {
	left := items
	return o.s.client.until(ctx, func() error {
		var body []byte
		for i := range left {
			body = append(body, left[i].text...)
		}
		answer, status, err := o.s.client.post(ctx, "_bulk?filter_path=items.*._id,items.*.status,items.*.error",
			"application/x-ndjson", body)
		if err == nil && status == http.StatusConflict {
			err = o.s.client.named(fmt.Errorf("409 %s", shortened(string(answer))))
		}
		if err != nil {
			return err
		}
		again, why, err := o.judge(left, answer)
		if err != nil {
			return &later{err: o.s.client.named(err)}
		}
		if len(again) == 0 {
			return nil
		}
		progress := len(again) < len(left)
		left = again
		return &later{err: o.s.client.named(fmt.Errorf("%d changes: %s", len(left), why)), progress: progress}
	})
}

// judge sorts items by their answers: it returns those to send again, and why the first was not accepted. An error says
// that the answer is none to this request; whether the changes were made is then unknown, and making them again does no
// harm.
func (o *OpenSearch) judge(items []item, answer []byte) (again []item, why string, err error) {
	var a bulkAnswer
	if err := json.Unmarshal(answer, &a); err != nil {
		return nil, "", fmt.Errorf("the answer is no JSON: %w: %s", err, shortened(string(answer)))
	}
	if len(a.Items) != len(items) {
		return nil, "", fmt.Errorf("the answer has %d items for %d changes", len(a.Items), len(items))
	}
	for i := range items {
		name := "index"
		if items[i].delete {
			name = "delete"
		}
		if got, ok := a.Items[i][name]; !ok || got.ID != items[i].id || got.Status == 0 {
			return nil, "", fmt.Errorf("item %d of the answer is not about %s", i, shortened(items[i].id))
		}
	}
	for i := range items {
		it := &items[i]
		for _, got := range a.Items[i] {
			switch s := got.Status; {
			case s < 300, s == http.StatusConflict: // a newer version is there
			case it.delete && s == http.StatusNotFound && len(got.Error) == 0: // there was none
			case s == http.StatusTooManyRequests, s >= 500:
				again = append(again, *it)
				if why == "" {
					why = fmt.Sprintf("%d %s", s, reason(got.Error))
				}
			default:
				o.s.refuse(it, fmt.Sprintf("%d %s", s, reason(got.Error)))
			}
		}
	}
	return again, why, nil
}

// reason is what an error of OpenSearch says: its reason, and that of its cause.
func reason(text json.RawMessage) string {
	var e struct {
		Type, Reason string
		CausedBy     struct{ Reason string } `json:"caused_by"`
	}
	if json.Unmarshal(text, &e) != nil || e.Reason == "" {
		return shortened(string(text))
	}
	if e.CausedBy.Reason != "" {
		e.Reason += ": " + e.CausedBy.Reason
	}
	return shortened(e.Type + ": " + e.Reason)
}
