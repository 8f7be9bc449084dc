// SPDX-License-Identifier: Apache-2.0

package phases

import (
	"context"
	"slices"
)

// Readmit joins withheld links that came into reach with crawldb, as if they had been admitted when their segments
// were updated. It does nothing while admission.Pending is empty, or no additions are allowed. UpdateDB and Inject do
// the same at their end; what else changes the answer, such as a live filter, is followed by a call of Readmit.
//
//	withheld, below the pending prefixes ─▶ verdict for each target
//	                      admitted: folded, joined with crawldb, deleted
//	          refused for now: stays         refused for good: deleted
//	one ingestion: records, host counts, deletions, the end of what was pending
//
// So each withheld link counts once, whatever happens in between: after a crash, or an error, what is still
// pending is done again from the beginning.
//
// Then it passes on the depths that fell, by that or before; see lower.go.
func (p *Phases) Readmit(ctx context.Context) (result Readmitted, err error) {
	var left []string // pending already when links were last looked at: the next call does it
	for {
		lowered, err := p.lower(ctx)
		result.New += lowered.New
		result.Woken = mergeHosts(result.Woken, lowered.Woken)
		if err != nil || p.env.NoAdditions || slices.Equal(p.env.Admission.Pending(), left) {
			return result, err
		}
		if err := p.readmit(ctx, &result); err != nil {
			return result, err
		}
		left = p.env.Admission.Pending()
	}
}

// Unsettled reports whether Readmit has something to do.
func (p *Phases) Unsettled() (bool, error) {
	if len(p.env.Admission.Pending()) > 0 {
		return true, nil
	}
	return p.anyLowered()
}
