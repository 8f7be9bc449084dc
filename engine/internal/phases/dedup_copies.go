// SPDX-License-Identifier: Apache-2.0

package phases

import (
	"context"
	"encoding/binary"
	"fmt"

	"github.com/seine-crawler/seine/engine/internal/admission"
	"github.com/seine-crawler/seine/storage"
)

// copies tells the trap watch how many pages below a prefix have the same content, and how many of them are fresh:
// fetched in the segments that dedup looks at. Pages of a group come by rank, so a sorter adds them up:
//
//	group, signature, prefix → pages, fresh ones
type copies struct {
	watch      *admission.Admission
	sorter     *storage.Sorter
	key, value []byte
}

// add notes a page of a group.
func (c *copies) add(group, key []byte, r *storage.Record, fresh bool) error {
	if !c.watch.WatchesTraps() {
		return nil
	}
	c.key = append(append(append(c.key[:0], group...), r.Signature[:]...), admission.TrapPrefix(key)...)
	n := uint64(0)
	if fresh {
		n = 1
	}
	c.value = appendCopies(c.value[:0], 1, n)
	if err := c.sorter.Add(c.key, c.value); err != nil {
		return fmt.Errorf("sorting copies: %w", err)
	}
	return nil
}

// count tells the trap watch of all that was noted.
func (c *copies) count(ctx context.Context) error {
	run, err := c.sorter.Sort()
	if err != nil {
		return fmt.Errorf("sorting copies: %w", err)
	}
	defer run.Close()
	for n := 0; run.Next(); n++ {
		if n%ctxCheckKeys == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		all, fresh := readCopies(run.Value())
		c.watch.Copies(run.Key()[2*len(storage.Signature{}):], int(all), int(fresh))
	}
	return run.Err()
}

func appendCopies(dst []byte, all, fresh uint64) []byte {
	return binary.LittleEndian.AppendUint64(binary.LittleEndian.AppendUint64(dst, all), fresh)
}

func readCopies(value []byte) (all, fresh uint64) {
	return binary.LittleEndian.Uint64(value), binary.LittleEndian.Uint64(value[8:])
}

func foldCopies(dst, a, b []byte) []byte {
	n, fresh := readCopies(a)
	m, more := readCopies(b)
	return appendCopies(dst, n+m, fresh+more)
}
