// SPDX-License-Identifier: Apache-2.0

package phases

import (
	"context"
	"fmt"

	"github.com/seine-crawler/seine/storage"
)

// noteSignature adds what must change in the signatures range, so that it stays equal to what the records say:
// an entry to write has a value of one byte, one to delete has none.
func noteSignature(sorter *storage.Sorter, key []byte, was, r *storage.Record) error {
	if was.Signature == r.Signature {
		return nil
	}
	var err error
	if !was.Signature.IsZero() {
		err = sorter.Add(storage.AppendSignatureKey(nil, was.Signature, key), nil)
	}
	if err == nil && !r.Signature.IsZero() {
		err = sorter.Add(storage.AppendSignatureKey(nil, r.Signature, key), []byte{1})
	}
	if err != nil {
		return fmt.Errorf("sorting signatures: %w", err)
	}
	return nil
}

// writeSignatures writes what was noted as a table of the ingestion.
func writeSignatures(ctx context.Context, sorter *storage.Sorter, ing *storage.Ingestion) error {
	run, err := sorter.Sort()
	if err != nil {
		return fmt.Errorf("sorting signatures: %w", err)
	}
	defer run.Close()
	w := ing.Table(storage.Signatures())
	for n := 0; run.Next(); n++ {
		if n%ctxCheckKeys == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		if len(run.Value()) == 0 {
			err = w.Delete(run.Key())
		} else {
			err = w.Set(run.Key(), nil)
		}
		if err != nil {
			return err
		}
	}
	return run.Err()
}
