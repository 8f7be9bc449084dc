// SPDX-License-Identifier: Apache-2.0

package phases

import (
	"context"
	"sync/atomic"

	"golang.org/x/sync/errgroup"

	"github.com/seine-crawler/seine/storage"
	"github.com/seine-crawler/seine/storage/urlkey"
)

// partsOf returns where the parts of a segment's range begin that are worth a goroutine each.
func (p *Phases) partsOf(r storage.Range, pages uint64) (from [][]byte, err error) {
	return p.share.partsOf(r, p.sharers(pages))
}

// sharers is how many goroutines share the work that so many pages are.
func (p *Phases) sharers(pages uint64) int {
	return int(min(uint64(max(p.env.Processors, 1)), 1+pages/p.share.pages))
}

// sortParts sorts what sorters hold, by URL, into parts that are worth a goroutine each. A host is in one part.
func (p *Phases) sortParts(sorters []*storage.Sorter) ([]storage.Part, error) {
	bytes := int64(0)
	for _, s := range sorters {
		bytes += s.Bytes()
	}
	n := int(min(int64(max(p.env.Processors, 1)), 1+bytes/p.share.bytes))
	return storage.SortParts(n, func(key []byte) int { return len(urlkey.HostKeyOf(key)) }, sorters...)
}

// sorterOf returns a sorter of one of n goroutines, which share the memory of one sorter.
func (p *Phases) sorterOf(n int, combine func(dst, a, b []byte) []byte) *storage.Sorter {
	if n == 1 {
		return p.env.Sorter(combine)
	}
	return p.env.SorterOf(p.env.TableBytes/int64(n), combine)
}

// together calls work for each number below n, at the same time, and waits for all. The first error cancels the
// context of the others, and is returned.
func (p *Phases) together(ctx context.Context, of Step, n int, work func(ctx context.Context, i int) error) error {
	if n == 1 {
		return work(ctx, 0)
	}
	group, ctx := errgroup.WithContext(ctx)
	for i := range n {
		group.Go(func() error {
			if p.env.Busy != nil {
				defer p.env.Busy(of)()
			}
			return work(ctx, i)
		})
	}
	return group.Wait()
}

// commit commits an ingestion of a phase. Its goroutines share the tables.
func (p *Phases) commit(of Step, ing *storage.Ingestion) error {
	return ing.CommitBy(func(n int, finish func(i int) error) error {
		var next atomic.Int64
		// No caller's context: a commit that has begun ends.
		return p.together(context.Background(), of, min(n, max(p.env.Processors, 1)), func(context.Context, int) error {
			for i := int(next.Add(1)) - 1; i < n; i = int(next.Add(1)) - 1 {
				if err := finish(i); err != nil {
					return err
				}
			}
			return nil
		})
	})
}
