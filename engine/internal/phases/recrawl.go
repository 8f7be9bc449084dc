// SPDX-License-Identifier: Apache-2.0

package phases

import (
	"context"
	"encoding/binary"
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
// interval, validators and content stay as they are. What was fetched of them before, and updatedb has not seen, does
// not count: see update.askedSince.
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
			result.Due++
		}
		r.FetchTime = now
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
		err = p.noteRecrawl(ing, now)
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

// metaRecrawls is the row of meta that has the times of Recrawl, oldest first, each in eight bytes.
const metaRecrawls = "recrawls"

// recrawls returns these times, in ms.
func (p *Phases) recrawls() (times []int64, err error) {
	row, _, err := p.env.Store.Get(storage.Meta(), []byte(metaRecrawls), nil)
	for ; len(row) >= 8; row = row[8:] {
		times = append(times, int64(binary.BigEndian.Uint64(row)))
	}
	if err != nil {
		return nil, fmt.Errorf("reading when recrawls came: %w", err)
	}
	return times, nil
}

// noteRecrawl adds a time to them.
func (p *Phases) noteRecrawl(ing *storage.Ingestion, now int64) error {
	times, err := p.recrawls()
	if err != nil {
		return err
	}
	var row []byte
	for _, at := range append(times[max(0, len(times)-recrawlsMax+1):], now) {
		row = binary.BigEndian.AppendUint64(row, uint64(at))
	}
	return ing.Table(storage.Meta()).Set([]byte(metaRecrawls), row)
}
