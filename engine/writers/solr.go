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

// Solr writes to a core or collection of Solr by its JSON updates. The schema needs a unique key "id", a string, and a
// field "version", a plong. Make it with Parse.
type Solr struct {
	name string
	s    sender
}

func newSolr(name string, base *url.URL, l login, compress bool) (*Solr, error) {
	if strings.Trim(base.Path, "/") == "" || strings.HasSuffix(strings.TrimRight(base.Path, "/"), "/update") {
		return nil, errors.New("want the URL of a core or collection: http://HOST:8983/solr/NAME")
	}
	w := &Solr{name: name}
	return w, w.s.connect(base, l, compress, w.send)
}

// Name is the kind and the URL of the core.
func (w *Solr) Name() string { return w.name }

// Write makes changes. Deletions leave documents with a higher version alone.
func (w *Solr) Write(ctx context.Context, changes []policy.IndexChange) ([]policy.IndexRefusal, error) {
	items := make([]item, len(changes))
	for i := range changes {
		c := &changes[i]
		it := item{change: i, id: documentID(c.ID), delete: c.Document == nil}
		if it.delete {
			it.clause = fmt.Appendf(nil, "(id:%s AND version:[* TO %d])", quoted(it.id), c.Version)
		} else {
			it.text = AppendJSON([]byte(`"add":{"doc":`), c)
			it.text = append(it.text, '}')
		}
		items[i] = it
	}
	return w.s.write(ctx, items)
}

// quoted is an id as a phrase of Solr's query language.
func quoted(id string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(id) + `"`
}

// Commit commits and opens a new searcher.
func (w *Solr) Commit(ctx context.Context) error {
	return w.s.client.until(ctx, func() error { return w.update(ctx, []byte(`{"commit":{}}`)) })
}

// send sends items. Solr answers for a request as a whole and stops at the first fault, so faulty items, and
// those of which it has a newer version, are found by halving.
func (w *Solr) send(ctx context.Context, items []item) error {
	body := solrBody(items)
	err := w.s.client.until(ctx, func() error { return w.update(ctx, body) })
	var fault *errRequest
	switch newer := errors.Is(err, errNewer); {
	case !newer && !errors.As(err, &fault):
		return err
	case len(items) == 1:
		if !newer {
			w.s.refuse(&items[0], fault.reason)
		}
		return nil
	}
	half := len(items) / 2
	if err := w.send(ctx, items[:half]); err != nil {
		return err
	}
	return w.send(ctx, items[half:])
}

// errNewer says that Solr has a newer version of a document than the request (409).
var errNewer = errors.New("a newer version is there")

// solrBody is an object in which names may repeat: Solr's commands, carried out in order. All deletions are one query,
// because each takes a new searcher.
func solrBody(items []item) []byte {
	var clauses, body []byte
	body = append(body, '{')
	for i := range items {
		switch it := &items[i]; {
		case !it.delete:
			body = append(append(body, it.text...), ",\n"...)
		case len(clauses) == 0:
			clauses = append(clauses, it.clause...)
		default:
			clauses = append(append(clauses, " OR "...), it.clause...)
		}
	}
	if len(clauses) > 0 {
		body = append(body, `"delete":`...)
		body = append(appendValue(body, map[string]string{"query": string(clauses)}), ",\n"...)
	}
	return append(body[:len(body)-2], '}')
}

// update posts commands. An error of several says nothing of each: some may not have been carried out.
func (w *Solr) update(ctx context.Context, body []byte) error {
	c := w.s.client
	answer, status, err := c.post(ctx, "update?wt=json", "application/json", body)
	if err != nil {
		return err
	}
	if status == http.StatusConflict {
		return c.named(fmt.Errorf("%w: %s", errNewer, shortened(string(answer))))
	}
	var a struct {
		Header *struct{ Status int } `json:"responseHeader"`
		Error  struct{ Msg string }  `json:"error"`
	}
	switch err := json.Unmarshal(answer, &a); {
	case err != nil:
		return &later{err: c.named(fmt.Errorf("the answer is no JSON: %w: %s", err, shortened(string(answer))))}
	case a.Header == nil:
		return &later{err: c.named(fmt.Errorf("the answer is not Solr's: %s", shortened(string(answer))))}
	case a.Header.Status != 0:
		return &later{err: c.named(fmt.Errorf("status %d: %s", a.Header.Status, shortened(a.Error.Msg)))}
	}
	return nil
}
