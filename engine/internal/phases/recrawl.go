// SPDX-License-Identifier: Apache-2.0

package phases

import (
	"context"
	"fmt"

	"github.com/seine-crawler/seine/storage"
	"github.com/seine-crawler/seine/storage/urlkey"
)

// Recrawled counts what Recrawl changed.
type Recrawled struct {
	Records uint64           // of the targets
	Due     uint64           // of these, that were not due yet
	Woken   []urlkey.HostKey // hosts of changed records that have something due, in key order
}

// Recrawl makes the records of targets due now, whatever their status, with at most one failure counted. Score, depth,
// interval, validators and content stay as they are.
func (p *Phases) Recrawl(ctx context.Context, targets Targets) (result Recrawled, err error) {
	ing := p.env.Store.NewIngestion()
	defer ing.Abort()
	records, hosts, now := ing.Table(storage.Crawldb()), p.newHostTally(ing), p.now()
	defer hosts.close()
	if err := hosts.keepRefreshed(ing); err != nil {
		return result, fmt.Errorf("recrawl: %w", err)
	}
	var was, r storage.Record
	var value []byte
	err = targets.scan(p.env.Store, storage.Crawldb(), wholeKey, func(_, key, old []byte) error {
		if result.Records%ctxCheckKeys == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		result.Records++
		if err := storage.DecodeRecord(old, &was); err != nil {
			return fmt.Errorf("crawldb record %s: %w", key, err)
		}
		r = was
		if r.FetchTime > now {
			r.FetchTime = now
			result.Due++
		}
		r.Retries = min(r.Retries, 1) // one that failed stays one that did: see lost
		if err := hosts.change(key, true, &was, &r); err != nil {
			return err
		}
		value = storage.AppendRecord(value[:0], &r)
		return records.Set(key, value)
	})
	if err == nil {
		err = hosts.finish()
	}
	if err == nil {
		err = ing.Commit()
	}
	if err != nil {
		return result, fmt.Errorf("recrawl: %w", err)
	}
	result.Woken = hosts.woken
	return result, nil
}
