// SPDX-License-Identifier: Apache-2.0

package writers

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/seine-crawler/seine/engine/policy"
)

// engine is a server that keeps documents as OpenSearch and Solr do, and fails as a test says.
type engine struct {
	*httptest.Server
	mu       sync.Mutex
	versions map[string]int64  // of each id, of deleted ones too
	docs     map[string]fields // that are there
	requests int
	header   http.Header // of the last request
	largest  int         // bytes of a request that was accepted
	commits  int
	// fail answers request n (from 0) in place of the engine; false: the engine answers.
	fail func(n int, w http.ResponseWriter, r *http.Request, body []byte) bool
	// refuse is the status of one change, 0: it is made.
	refuse func(n int, id string) int
}

func newEngine(t *testing.T) *engine {
	e := &engine{versions: map[string]int64{}, docs: map[string]fields{}}
	e.Server = httptest.NewServer(http.HandlerFunc(e.serve))
	t.Cleanup(e.Close)
	return e
}

func (e *engine) serve(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err == nil && r.Header.Get("Content-Encoding") == "gzip" {
		var z *gzip.Reader
		if z, err = gzip.NewReader(bytes.NewReader(body)); err == nil {
			body, err = io.ReadAll(z)
		}
	}
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	n := e.requests
	e.requests++
	e.header = r.Header.Clone()
	if e.fail != nil && e.fail(n, w, r, body) {
		return
	}
	e.largest = max(e.largest, len(body))
	switch {
	case r.URL.Path == "/pages/_bulk":
		e.bulk(n, w, body)
	case r.URL.Path == "/solr/pages/update":
		e.update(n, w, body)
	case r.URL.Path == "/pages/_refresh":
		e.commits++
		fmt.Fprint(w, `{"_shards":{}}`)
	default:
		http.NotFound(w, r)
	}
}

// bulk answers as OpenSearch does to a bulk request.
func (e *engine) bulk(n int, w http.ResponseWriter, body []byte) {
	var items []any
	lines := bufio.NewScanner(bytes.NewReader(body))
	lines.Buffer(nil, 64<<20)
	for lines.Scan() {
		var head map[string]action
		if err := json.Unmarshal(lines.Bytes(), &head); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		for name, a := range head {
			var doc fields
			if name == "index" {
				lines.Scan()
				if err := json.Unmarshal(lines.Bytes(), &doc); err != nil {
					http.Error(w, err.Error(), http.StatusBadRequest)
					return
				}
			}
			status := e.apply(n, a.ID, a.Version, name == "delete", doc)
			item := map[string]any{"_id": a.ID, "status": status}
			if status >= 400 && status != http.StatusNotFound {
				item["error"] = map[string]string{"type": "some_exception", "reason": fmt.Sprintf("field of %s", a.ID)}
			}
			items = append(items, map[string]any{name: item})
		}
	}
	json.NewEncoder(w).Encode(map[string]any{"items": items})
}

// apply makes a change if its version is not lower than the one there.
func (e *engine) apply(n int, id string, version int64, remove bool, doc fields) int {
	if e.refuse != nil {
		if status := e.refuse(n, id); status != 0 {
			return status
		}
	}
	if version < e.versions[id] {
		return http.StatusConflict
	}
	e.versions[id] = version
	_, there := e.docs[id]
	delete(e.docs, id)
	switch {
	case !remove:
		e.docs[id] = doc
		return http.StatusCreated
	case there:
		return http.StatusOK
	}
	return http.StatusNotFound
}

// update answers as Solr does: commands in order, up to the first fault. Of queries it knows those of Solr.Write.
func (e *engine) update(n int, w http.ResponseWriter, body []byte) {
	answer := func(status int, msg string) {
		w.WriteHeader(status)
		a := map[string]any{"responseHeader": map[string]int{"status": status % 200}}
		if msg != "" {
			a["error"] = map[string]any{"msg": msg, "code": status}
		}
		json.NewEncoder(w).Encode(a)
	}
	d := json.NewDecoder(bytes.NewReader(body))
	d.Token()
	for d.More() {
		name, err := d.Token()
		var command struct {
			Doc   fields
			Query string
		}
		if err == nil {
			err = d.Decode(&command)
		}
		if err != nil {
			answer(http.StatusBadRequest, err.Error())
			return
		}
		switch name {
		case "commit":
			e.commits++
		case "add":
			id := command.Doc.ID
			if e.refuse != nil {
				if status := e.refuse(n, id); status != 0 {
					answer(status, "ERROR: [doc="+id+"] unknown field")
					return
				}
			}
			e.docs[id], e.versions[id] = command.Doc, command.Doc.Version
		case "delete":
			for _, clause := range strings.Split(command.Query, " OR ") {
				id, version := "", int64(0)
				if _, err := fmt.Sscanf(clause, "(id:%q AND version:[* TO %d])", &id, &version); err != nil {
					answer(http.StatusBadRequest, clause+": "+err.Error())
					return
				}
				if e.versions[id] <= version {
					delete(e.docs, id)
				}
			}
		}
	}
	answer(http.StatusOK, "")
}

// ids are those of the documents that are there.
func (e *engine) ids() map[string]int64 {
	e.mu.Lock()
	defer e.mu.Unlock()
	ids := map[string]int64{}
	for id := range e.docs {
		ids[id] = e.versions[id]
	}
	return ids
}

// kinds are the two servers by the text that Parse reads.
var kinds = []string{"opensearch=%s/pages", "solr=%s/solr/pages"}

// writer is a writer to e whose pauses are noted and not waited for.
func (e *engine) writer(
	t *testing.T, kind string, o Options,
) (w policy.IndexWriter, s *sender, pauses *[]time.Duration) {
	t.Helper()
	w, err := Parse(fmt.Sprintf(kind, e.URL), o)
	if err != nil {
		t.Fatal(err)
	}
	switch w := w.(type) {
	case *OpenSearch:
		s = &w.s
	case *Solr:
		s = &w.s
	}
	pauses = &[]time.Duration{}
	s.client.pacing.wait = func(ctx context.Context, d time.Duration) error {
		*pauses = append(*pauses, d)
		return ctx.Err()
	}
	return w, s, pauses
}

// changes are documents of some ids, with a version.
func changes(version int64, ids ...string) (list []policy.IndexChange) {
	for _, id := range ids {
		list = append(list, policy.IndexChange{ID: id, Version: version, Document: &policy.IndexDocument{
			URL: id, Host: "h", Title: "Title of " + id, Text: "text", Content: "text", Boost: 1,
		}})
	}
	return list
}

// deletions delete some ids.
func deletions(version int64, ids ...string) (list []policy.IndexChange) {
	for _, id := range ids {
		list = append(list, policy.IndexChange{ID: id, Version: version})
	}
	return list
}
