// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"fmt"
	"slices"

	"github.com/seine-crawler/seine/engine/policy"
	"github.com/seine-crawler/seine/storage"
	"github.com/seine-crawler/seine/storage/urlkey"
)

// apply joins the sorted inputs with crawldb and ingests what comes of it.
func (u *update) apply(ctx context.Context, seg storage.Segment) error {
	run, err := u.inputs.Sort()
	if err != nil {
		return err
	}
	defer run.Close()
	ing := u.e.store.NewIngestion()
	defer ing.Abort()
	records, hosts := ing.Table(storage.Crawldb()), newHostTally(u.e)
	defer hosts.close()
	hosts.due = func(host []byte) { u.woken = append(u.woken, urlkey.HostKey(host)) }
	err = storage.MergeJoin(ctx, u.e.store, storage.Crawldb(), run, func(key []byte, values [][]byte, old []byte) error {
		return u.one(records, hosts, key, readInput(values[0]), old)
	})
	if err != nil {
		return err
	}
	if err := hosts.writeTo(ctx, ing); err != nil {
		return err
	}
	if err := u.writeSignatures(ing); err != nil {
		return err
	}
	slices.Sort(u.seedHosts)
	if len(u.seedHosts)+len(u.seedURLs)+len(u.referral.bits) > 0 {
		meta := ing.Table(storage.Meta())
		if err := u.referral.writeTo(u.e, meta); err != nil {
			return err
		}
		if err := u.e.writeSeeds(meta, slices.Compact(u.seedHosts), slices.Compact(slices.Sorted(slices.Values(u.seedURLs)))); err != nil {
			return err
		}
	}
	if seg.Batch {
		if err := ing.DeleteRange(storage.Fetchlist(u.segment)); err != nil {
			return err
		}
	}
	seg.State = storage.SegmentUpdated
	if err := ing.PutSegment(seg); err != nil {
		return err
	}
	return ing.Commit()
}

// one computes a URL's new record.
func (u *update) one(w *storage.TableWriter, hosts *hostTally, key []byte, in input, old []byte) error {
	var was, r storage.Record
	if old != nil {
		if err := storage.DecodeRecord(old, &was); err != nil {
			return fmt.Errorf("crawldb record %s: %w", key, err)
		}
		r = was
	} else {
		r = storage.Record{Status: storage.StatusUnfetched, FetchTime: u.now, Interval: policy.DefaultInterval, Depth: in.depth, Hops: in.hops}
	}
	switch {
	case old == nil:
		u.report.New++
	case !in.outcome:
		u.report.Linked++
	}
	if in.outcome {
		if err := storage.DecodeFetchOutcome(in.encoded, &u.page); err != nil {
			return fmt.Errorf("outcome of %s: %w", key, err)
		}
		transition(&r, &u.page, u.segment, u.e.o.Schedule, u.e.o.MaxInterval)
	}
	if in.link {
		r.Score = u.e.o.Scorer.Update(r.Score, in.score)
		r.Depth, r.Hops = min(r.Depth, in.depth), min(r.Hops, in.hops)
	}
	if err := u.noteSignature(key, &was, &r); err != nil {
		return err
	}
	if err := hosts.change(key, old != nil, &was, &r); err != nil {
		return err
	}
	if in.outcome {
		hosts.spent(&u.page)
	}
	u.value = storage.AppendRecord(u.value[:0], &r)
	return w.Set(key, u.value)
}

// noteSignature keeps the signatures range equal to what the records say. A value of one byte 0
// marks the deletion of an entry.
func (u *update) noteSignature(key []byte, was, r *storage.Record) error {
	if was.Signature == r.Signature {
		return nil
	}
	if was.Signature != (storage.Signature{}) {
		if err := u.signatures.Add(storage.AppendSignatureKey(nil, was.Signature, key), nil); err != nil {
			return err
		}
	}
	if r.Signature != (storage.Signature{}) {
		return u.signatures.Add(storage.AppendSignatureKey(nil, r.Signature, key), []byte{1})
	}
	return nil
}

func (u *update) writeSignatures(ing *storage.Ingestion) error {
	run, err := u.signatures.Sort()
	if err != nil {
		return err
	}
	defer run.Close()
	w := ing.Table(storage.Signatures())
	for run.Next() {
		set := w.Set
		if len(run.Value()) == 0 {
			set = func(key, _ []byte) error { return w.Delete(key) }
		}
		if err := set(run.Key(), nil); err != nil {
			return err
		}
	}
	return run.Err()
}
