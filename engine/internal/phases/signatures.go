// SPDX-License-Identifier: Apache-2.0

package phases

import (
	"bytes"
	"context"
	"fmt"
	"sync"

	"github.com/seine-crawler/seine/storage"
)

// The first byte of what noteSignature sorts: a key of the signatures range follows, or one of NearPages.
const (
	notedSignature = 's'
	notedNear      = 'n'
)

// noteSignature adds what must change in the signatures range and in the near ranges, so that they stay equal to what
// the records say: an entry to write has a value of one byte, one to delete has none. A duplicate that was fetched
// again is looked at again, though its fingerprint is the same: it may have been one of near-duplicates.
func noteSignature(sorter *storage.Sorter, key []byte, was, r *storage.Record) error {
	var err error
	note := func(entry, value []byte) {
		if err == nil {
			err = sorter.Add(entry, value)
		}
	}
	if was.Signature != r.Signature {
		if !was.Signature.IsZero() {
			note(storage.AppendSignatureKey([]byte{notedSignature}, was.Signature, key), nil)
		}
		if !r.Signature.IsZero() {
			note(storage.AppendSignatureKey([]byte{notedSignature}, r.Signature, key), []byte{1})
		}
	}
	before, now := was.Near(), r.Near()
	if before != 0 && before != now {
		note(storage.AppendNearPageKey([]byte{notedNear}, before, key), nil)
	}
	if now != 0 && (before != now || unmarked(was, r)) {
		note(storage.AppendNearPageKey([]byte{notedNear}, now, key), []byte{1})
	}
	if err != nil {
		return fmt.Errorf("sorting signatures: %w", err)
	}
	return nil
}

// unmarked reports whether a page was a duplicate.
func unmarked(was, r *storage.Record) bool {
	return was.Status == storage.StatusDuplicate && r.Status != storage.StatusDuplicate
}

// signatureNotes are noted by several goroutines. What is noted of one key must come from one of them.
type signatureNotes struct {
	mu     sync.Mutex
	sorter *storage.Sorter
}

// note is noteSignature, on any goroutine.
func (n *signatureNotes) note(key []byte, was, r *storage.Record) error {
	if was.Signature == r.Signature && was.Near() == r.Near() && !unmarked(was, r) {
		return nil
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	return noteSignature(n.sorter, key, was, r)
}

// writeSignatures writes what was noted as tables of the ingestion.
func writeSignatures(ctx context.Context, sorter *storage.Sorter, ing *storage.Ingestion) error {
	run, err := sorter.Sort()
	if err != nil {
		return fmt.Errorf("sorting signatures: %w", err)
	}
	defer run.Close()
	signatures, pages, changed := ing.Table(storage.Signatures()), ing.Table(storage.NearPages()),
		ing.Table(storage.NearChanged())
	var last []byte // fingerprint that is in changed
	for n := 0; run.Next(); n++ {
		if n%ctxCheckKeys == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		kind, key, w := run.Key()[0], run.Key()[1:], signatures
		if kind == notedNear {
			w = pages
			if s := key[:8]; !bytes.Equal(s, last) {
				last = append(last[:0], s...)
				if err := changed.Set(last, nil); err != nil {
					return err
				}
			}
		}
		if len(run.Value()) == 0 {
			err = w.Delete(key)
		} else {
			err = w.Set(key, nil)
		}
		if err != nil {
			return err
		}
	}
	return run.Err()
}
