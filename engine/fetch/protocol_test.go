// SPDX-License-Identifier: Apache-2.0

package fetch_test

import (
	"context"
	"testing"
	"time"

	"github.com/seine-crawler/seine/engine/fetch"
)

// endless is a transport that answers when its context ends.
type endless struct{}

func (endless) Fetch(ctx context.Context, _ *fetch.Request) *fetch.Response {
	<-ctx.Done()
	return &fetch.Response{Failure: fetch.FailReset, Err: ctx.Err()}
}

// TestCheckedTimeout: the context of a transport ends after the timeout, or after that of the request.
func TestCheckedTimeout(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute) // so that it ends in any case
	defer cancel()
	for _, way := range []struct{ timeout, request time.Duration }{
		{time.Millisecond, 0}, {time.Hour, time.Millisecond},
	} {
		p := fetch.Checked(endless{}, way.timeout, time.Now)
		r := p.Fetch(ctx, &fetch.Request{Timeout: way.request})
		if ctx.Err() != nil || r.Failure != fetch.FailReset {
			t.Errorf("timeout %s, of the request %s: %+v", way.timeout, way.request, r)
		}
		r.Release()
	}
}
