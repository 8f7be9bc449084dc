// SPDX-License-Identifier: Apache-2.0

package index

import (
	"context"
	"errors"
	"testing"
	"time"
)

// TestBudgetOfContext: a search ends at its context's deadline by the clock, before the context's timer has run.
func TestBudgetOfContext(t *testing.T) {
	at := time.Now().Add(time.Hour)
	ctx, cancel := context.WithDeadline(context.Background(), at)
	defer cancel()
	b := newBudget(ctx, at.Add(time.Hour))
	b.now = func() time.Time { return at.Add(-1) }
	if !b.spend(clockUnits+1) || b.ended() != nil {
		t.Error("it ended before the deadline")
	}
	b.now = func() time.Time { return at.Add(1) }
	if b.spend(clockUnits + 1); !b.over || !errors.Is(b.ended(), context.DeadlineExceeded) {
		t.Errorf("over %v, %v after the deadline", b.over, b.ended())
	}
	own := newBudget(ctx, at.Add(-time.Minute))
	if own.now = func() time.Time { return at.Add(-time.Second) }; own.spend(clockUnits+1) || own.ended() != nil {
		t.Error("the search's own deadline, which is sooner, did not end it alone")
	}
}
