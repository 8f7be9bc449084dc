// SPDX-License-Identifier: Apache-2.0

package phases

import (
	"context"
	"errors"
	"fmt"

	"github.com/seine-crawler/seine/storage"
)

// Links of pages that another directory has fetched have no parse record here: those that ImportLinks brought, and
// those of pages that Excise took out. Only linkdb knows them, by target, so who looks for the links of such a page
// reads all of it. They are in merged rows, with importedSegment.

// metaForeign is the row of Meta which says that there are such links, or were.
const metaForeign = "linkdb/foreign"

// anyForeign reports whether there may be links of pages that another directory has fetched.
func (p *Phases) anyForeign() (bool, error) {
	_, some, err := p.env.Store.Get(storage.Meta(), []byte(metaForeign), nil)
	return some, err
}

// eachLink calls fn with each link of linkdb, by target. What it is given is valid until it returns.
func (p *Phases) eachLink(ctx context.Context, fn func(target, from []byte, segment uint32) error) (err error) {
	rows := p.env.Store.Scan(storage.Linkdb(), nil, nil)
	defer func() { err = errors.Join(err, rows.Close()) }()
	way := storage.NewPacer(p.env.GiveWay)
	for n := 0; rows.Next(); n++ {
		way.Step()
		if n%ctxCheckKeys == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		target, under, err := storage.SplitLinkdbKey(rows.Key())
		if err != nil {
			return err
		}
		var failed error
		err = storage.VisitLinks(rows.Value(), under, func(from, _ []byte, segment uint32) bool {
			failed = fn(target, from, segment)
			return failed == nil
		})
		if err = errors.Join(err, failed); err != nil {
			return fmt.Errorf("inlinks of %s: %w", target, err)
		}
	}
	return rows.Err()
}
