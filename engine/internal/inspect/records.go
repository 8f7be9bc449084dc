// SPDX-License-Identifier: Apache-2.0

package inspect

import (
	"context"
	"fmt"
	"iter"
	"strings"

	"github.com/seine-crawler/seine/engine/internal/admission"
	"github.com/seine-crawler/seine/storage"
	"github.com/seine-crawler/seine/storage/urlkey"
)

// Record is a record of crawldb with its key.
type Record struct {
	Key urlkey.Key
	storage.Record
}

// Record returns the record of a URL. Where there is none, the error wraps ErrNotFound and says why.
func (in *Inspect) Record(u urlkey.URL) (Record, error) {
	r := Record{Key: u.Key()}
	ok, err := in.env.Store.Record(r.Key, &r.Record)
	if err != nil || ok {
		return r, err
	}
	v := in.env.Admission.Explain(u, admission.Facts{})
	why := "no fetched page links to it"
	switch {
	case v.Later:
		why = "it is refused for now: " + v.Reason
	case !v.OK():
		why = "it is refused: " + v.Reason
	}
	if !v.OK() && v.Rule != "" {
		why += " (" + v.Rule + ")"
	}
	return r, fmt.Errorf("looking up %s in crawldb: %w: %s", u, ErrNotFound, why)
}

// Filter chooses records. The zero value chooses all.
type Filter struct {
	// Prefix begins the keys of the records. A prefix without "," and ")" is the name of a host, with its port if
	// that is not the scheme's own.
	Prefix string
	// Status is that of the records; 0: any.
	Status storage.Status
}

// Records streams the chosen records in key order. What a record refers to (Meta) is valid until the next step.
func (in *Inspect) Records(ctx context.Context, f Filter) iter.Seq2[Record, error] {
	return func(yield func(Record, error) bool) {
		prefix := f.Prefix
		if prefix != "" && !strings.ContainsAny(prefix, ",)") {
			h, err := urlkey.ParseHost(prefix)
			if err != nil {
				yield(Record{}, err)
				return
			}
			prefix = string(h)
		}
		for e, err := range crawldb(ctx, in.env.Store, prefix) {
			if err != nil {
				yield(Record{}, err)
				return
			}
			if f.Status != 0 && e.value.Status != f.Status {
				continue
			}
			if !yield(Record{urlkey.Key(e.key), *e.value}, nil) {
				return
			}
		}
	}
}

// crawldb scans the records whose keys begin with a prefix.
func crawldb(ctx context.Context, rd storage.Reader, prefix string) iter.Seq2[entry[storage.Record], error] {
	from, to := prefixBounds([]byte(prefix))
	return scan(ctx, rd, storage.Crawldb(), from, to, storage.DecodeRecord)
}

// TopRecords returns the n records with the highest scores, best first; of equal scores those fewer links from a seed
// come first, then those with the lesser key.
func (in *Inspect) TopRecords(ctx context.Context, n int) ([]Record, error) {
	snapshot := in.env.Store.Snapshot()
	defer snapshot.Close()
	best := best{limit: n}
	for e, err := range crawldb(ctx, snapshot, "") {
		if err != nil {
			return nil, err
		}
		best.offer(e.key, e.value.Score, e.value.Depth)
	}
	var list []Record
	for _, x := range best.sorted() {
		r := Record{Key: urlkey.Key(x.key)}
		if _, err := snapshot.Record(r.Key, &r.Record); err != nil {
			return nil, err
		}
		list = append(list, r)
	}
	return list, nil
}
