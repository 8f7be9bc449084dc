// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"errors"
	"testing"
	"time"
)

// TestMergesEnd: the end of a crawl waits for a merge that ends in its time, cuts a longer one short, which is no
// failure, and does not wait after a crawl that failed. A merge that fails by itself is one.
func TestMergesEnd(t *testing.T) {
	t.Parallel()
	broken := errors.New("broken")
	begun, goOn := make(chan struct{}, 1), make(chan struct{})
	forEver := func(ctx context.Context) error {
		begun <- struct{}{}
		<-ctx.Done()
		return ctx.Err()
	}
	whole := func(ctx context.Context) error {
		begun <- struct{}{}
		time.AfterFunc(time.Millisecond, func() { goOn <- struct{}{} })
		<-goOn
		return ctx.Err()
	}
	fails := func(context.Context) error {
		begun <- struct{}{}
		return broken
	}
	for _, c := range []struct {
		name  string
		merge func(context.Context) error
		well  bool
		most  time.Duration
		err   error
		ends  bool
	}{
		{"a long one", forEver, true, 1, nil, false},
		{"a long one after a crawl that failed", forEver, false, time.Hour, nil, false},
		{"one that ends", whole, true, time.Hour, nil, true},
		{"one that fails", fails, true, time.Hour, broken, false},
	} {
		var m merges
		var failed error
		ended := false
		m.start(context.Background(), func(ctx context.Context) error {
			err := c.merge(ctx)
			ended = err == nil
			return err
		}, func(err error) { failed = err })
		m.begin()
		<-begun
		if m.end(c.well, c.most); failed != c.err || ended != c.ends {
			t.Errorf("%s: failed with %v, ended: %t", c.name, failed, ended)
		}
	}
}
