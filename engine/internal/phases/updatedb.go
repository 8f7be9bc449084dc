// SPDX-License-Identifier: Apache-2.0

package phases

import (
	"context"
	"fmt"

	"github.com/seine-crawler/seine/storage"
)

// UpdateDB brings the outcomes and links of a sealed segment into crawldb.
//
//	parse records, in key order ─▶ for each page: outcome under its own key,
//	                               a contribution under each distinct target's key
//	fetchlist                   ─▶ URLs that are not known: due if they have no outcome
//	sort by key, folding the contributions of a target into one
//	merge-join with crawldb     ─▶ new records, host counts, signatures
//	what is refused for now     ─▶ withheld, without a join
//	pages whose depth fell      ─▶ lowered
//	one ingestion: all of these, the segment's state, the end of its fetchlist
//	at last                     ─▶ withheld links that came into reach are readmitted, depths that fell passed on
//
// Of a large segment several goroutines read a part of the parse records each (collector), and then join a part of
// crawldb (joining).
//
// The sum of a target's contributions does not depend on their order (see policy.VoteScorer), so
// neither do scores. Nor do they depend on when the scope widened: a link that is refused for now counts among the
// links of its page, and so does one below a prefix that dedup closed.
//
// If that fails the segment is updated all the same, and the next call of UpdateDB, Inject or Readmit
// does what is left.
func (p *Phases) UpdateDB(ctx context.Context, segment uint32) (Updated, error) {
	result := Updated{Segment: segment, Filtered: map[string]uint64{}}
	seg, err := SegmentIn(p.env.Store, segment, "updatedb", storage.SegmentSealed)
	if err != nil {
		return result, err
	}
	left, err := p.lower(ctx) // by a crash, or an error
	if err != nil {
		return result, fmt.Errorf("updatedb of segment %d: %w", segment, err)
	}
	u := p.newUpdate(segment, &result)
	if u.recrawls, err = p.recrawls(); err == nil {
		err = u.collect(ctx, seg.Counts.Attempts())
	}
	if err == nil {
		err = u.apply(ctx, seg)
	}
	if cerr := u.close(); cerr != nil {
		p.env.Warn(fmt.Errorf("updatedb of segment %d: removing temporary files: %w", segment, cerr))
	}
	if err == nil {
		result.Readmitted, err = p.Readmit(ctx)
		result.New += left.New + result.Readmitted.New
		result.Linked += result.Readmitted.Linked
		result.Woken = mergeHosts(mergeHosts(result.Woken, result.Readmitted.Woken), left.Woken)
	}
	if err != nil {
		return result, fmt.Errorf("updatedb of segment %d: %w", segment, err)
	}
	return result, nil
}
