// SPDX-License-Identifier: Apache-2.0

package inspect

import (
	"context"
	"errors"
	"strings"

	"github.com/seine-crawler/seine/storage"
)

// Verify reads all that the directory holds: the store, every byte of every WARC file, and the index; and compares what
// one says of the other. Damage is a problem in the report. An error means that Verify could not finish, because of the
// context or of an error of the machine; the report is then of what it did.
//
// It may run beside a crawl, deletions and a purge: the store is checked as of one moment, and compared with the files
// as of a later one. Without Env.Store it reads the WARC files alone. unopened is the error because of which the
// directory does not open, if it does not.
func (in *Inspect) Verify(ctx context.Context, unopened error) (v Verified, err error) {
	start := in.env.Now()
	defer func() { v.Took = in.env.Now().Sub(start) }()
	if in.env.Store == nil {
		v.Problem(kindStore, "%v", unopened)
		return v, in.verifyFiles(ctx, &v)
	}
	defer func() {
		if unopened != nil {
			v.Problem(kindStore, "%v", unopened)
		}
	}()
	if v.Store, err = in.env.Store.Verify(ctx); err != nil {
		return v, err
	}
	for where, n := range v.Store.ByRange {
		v.kind(where).Count += n
	}
	for _, p := range v.Store.Problems {
		k := v.kind(p.Where)
		k.Found = append(k.Found, strings.TrimPrefix(p.Key+": "+p.What, ": "))
	}
	v.Problems = v.Store.Found
	if err := in.verifyFiles(ctx, &v); err != nil || in.env.Index == nil {
		return v, err
	}
	v.Documents = in.env.Index.Stats().Documents
	if _, err := in.env.Index.Digest(ctx); ctx.Err() != nil {
		return v, ctx.Err()
	} else if errors.Is(err, storage.ErrCorrupt) {
		v.Problem(kindIndex, "%v", err)
	} else if err != nil {
		return v, err
	}
	return v, nil
}
