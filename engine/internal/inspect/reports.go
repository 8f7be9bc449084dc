// SPDX-License-Identifier: Apache-2.0

package inspect

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"

	"github.com/seine-crawler/seine/engine/internal/admission"
	"github.com/seine-crawler/seine/storage"
	"github.com/seine-crawler/seine/storage/urlkey"
)

// Seeds streams the records of seeds in key order.
func (in *Inspect) Seeds(ctx context.Context) iter.Seq2[Record, error] {
	return func(yield func(Record, error) bool) {
		err := in.withOutcomes(ctx, (*storage.Record).IsSeed, func(r Record) bool { return yield(r, nil) })
		if err != nil {
			yield(Record{}, err)
		}
	}
}

// withOutcomes calls fn with the records that are chosen, in key order with their outcomes, until it returns false.
func (in *Inspect) withOutcomes(
	ctx context.Context, chosen func(*storage.Record) bool, fn func(Record) bool,
) (err error) {
	snapshot := in.env.Store.Snapshot()
	defer func() { err = errors.Join(err, snapshot.Close()) }()
	list, err := snapshot.SegmentList()
	if err != nil {
		return err
	}
	batch := recordBatch{newest: newOutcomes(snapshot, list), size: recordsBatchMin}
	each := func(r Record, _ error) bool { return fn(r) }
	for e, err := range crawldb(ctx, snapshot, "", "") {
		if err != nil {
			return err
		}
		if chosen(e.value) && batch.add(e.key, e.value) {
			if more, err := batch.flush(each); err != nil || !more {
				return err
			}
		}
	}
	_, err = batch.flush(each)
	return err
}

// MediaType counts what was captured of a media type.
type MediaType struct {
	Name           string // "": unknown
	URLs, Captures uint64 // with content: neither redirects nor errors
	Bytes          uint64 // of their records in the WARC files, compressed
}

// MediaTypes counts captures with content by media type, most URLs first. A URL counts with its newest type.
func (in *Inspect) MediaTypes(ctx context.Context) ([]MediaType, error) {
	by := map[string]*MediaType{}
	count := func(name string) *MediaType {
		if by[name] == nil {
			by[name] = &MediaType{Name: name}
		}
		return by[name]
	}
	var url []byte // the one before, with the type of its newest capture
	var newest *MediaType
	for c, err := range in.Captures(ctx) {
		if err != nil {
			return nil, err
		}
		if !c.HasContent() {
			continue
		}
		t := count(c.MediaType)
		if newest != nil && string(url) != string(c.Key) {
			newest.URLs++
		}
		url, newest = append(url[:0], c.Key...), t
		t.Captures++
		t.Bytes += uint64(c.Location.Length)
	}
	if newest != nil {
		newest.URLs++
	}
	return sortedBy(by, func(a, b *MediaType) int {
		return cmp.Or(cmp.Compare(b.URLs, a.URLs), cmp.Compare(a.Name, b.Name))
	}), nil
}

// sortedBy returns the values of a map in an order.
func sortedBy[T any](by map[string]*T, compare func(a, b *T) int) []T {
	var pointers []*T
	for _, v := range by {
		pointers = append(pointers, v)
	}
	slices.SortFunc(pointers, compare)
	list := make([]T, len(pointers))
	for i, p := range pointers {
		list[i] = *p
	}
	return list
}

// Answer counts the URLs whose last fetch had an answer: "http_200", or a failure such as "robots_denied".
type Answer struct {
	Name string
	URLs uint64
}

// Answers counts the URLs that were fetched by the answer to the newest fetch, most URLs first.
func (in *Inspect) Answers(ctx context.Context) ([]Answer, error) {
	by := map[string]*Answer{}
	count := func(name string) {
		if by[name] == nil {
			by[name] = &Answer{Name: name}
		}
		by[name].URLs++
	}
	var statuses [1000]uint64
	lookUp := func(r *storage.Record) bool {
		switch {
		case r.LastFetch == 0:
		case mayHaveFailed(r) || r.HTTPStatus == 0 || int(r.HTTPStatus) >= len(statuses):
			return true
		default:
			statuses[r.HTTPStatus]++
		}
		return false
	}
	err := in.withOutcomes(ctx, lookUp, func(r Record) bool {
		count(cmp.Or(failureName(&r), "unknown"))
		return true
	})
	for status, n := range statuses {
		if n > 0 {
			count(fmt.Sprintf("http_%d", status))
			by[fmt.Sprintf("http_%d", status)].URLs += n - 1
		}
	}
	return sortedBy(by, func(a, b *Answer) int {
		return cmp.Or(cmp.Compare(b.URLs, a.URLs), cmp.Compare(a.Name, b.Name))
	}), err
}

// FailureKind are the URLs whose last fetch brought no page, for one reason.
type FailureKind struct {
	Name          string
	URLs, Hosts   uint64
	Retried, Gone uint64 // of the URLs: requested again soon; given up, until they are due again
	Newest        Record // the URL that failed last
	host          urlkey.HostKey
}

// FailureKinds counts failures by kind, most URLs first.
func (in *Inspect) FailureKinds(ctx context.Context) ([]FailureKind, error) {
	by := map[string]*FailureKind{}
	err := in.withOutcomes(ctx, mayHaveFailed, func(r Record) bool {
		name := failedWith(&r)
		if name == "" {
			return true
		}
		k := by[name]
		if k == nil {
			k = &FailureKind{Name: name}
			by[name] = k
		}
		k.URLs++
		if r.Status == storage.StatusUnfetched {
			k.Retried++
		} else {
			k.Gone++
		}
		if host := urlkey.HostKeyOf([]byte(r.Key)); string(host) != string(k.host) { // keys come in order
			k.host = urlkey.HostKey(host)
			k.Hosts++
		}
		if r.LastFetch > k.Newest.LastFetch {
			k.Newest = r
		}
		return true
	})
	return sortedBy(by, func(a, b *FailureKind) int {
		return cmp.Or(cmp.Compare(b.URLs, a.URLs), cmp.Compare(a.Name, b.Name))
	}), err
}

// Trap is a place that shows the same pages under many URLs.
type Trap struct {
	Prefix                    string // of URLs, without scheme; a host ends with a slash
	Closed                    bool   // its other URLs are refused; else it is a host that looks like a trap
	URLs, Fetched, Duplicates uint64
}

// Traps returns the closed prefixes, then the hosts without one of which at least trapPages pages were fetched and at
// least half are copies, most copies first.
func (in *Inspect) Traps(ctx context.Context) (list []Trap, err error) {
	closed := in.env.Admission.Closed()
	for _, c := range closed {
		t := Trap{Prefix: c.URL, Closed: true}
		for e, err := range crawldb(ctx, in.env.Store, c.Prefix, "") {
			if err != nil {
				return nil, err
			}
			t.count(e.value.Status, 1)
		}
		list = append(list, t)
	}
	certain := len(list)
	for e, err := range in.hostCounts(ctx, "") {
		if err != nil {
			return nil, err
		}
		host := urlkey.HostKey(e.key)
		t := Trap{Prefix: host.String() + "/"}
		for s, n := range e.value.ByStatus {
			t.count(storage.Status(s), uint64(n))
		}
		if t.Fetched < trapPages || 2*t.Duplicates < t.Fetched {
			continue
		}
		if !slices.ContainsFunc(closed, func(c admission.Closed) bool {
			return strings.HasPrefix(c.Prefix, string(host))
		}) {
			list = append(list, t)
		}
	}
	slices.SortStableFunc(list[certain:], func(a, b Trap) int { return cmp.Compare(b.Duplicates, a.Duplicates) })
	return list, nil
}

func (t *Trap) count(s storage.Status, n uint64) {
	t.URLs += n
	switch s {
	case storage.StatusDuplicate:
		t.Duplicates += n
		t.Fetched += n
	case storage.StatusFetched, storage.StatusNotModified:
		t.Fetched += n
	}
}
