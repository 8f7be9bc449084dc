// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"errors"
	"testing"
	"time"
)

// TestMergesEnd: the end of a crawl waits for a merge that ends in its time, and cuts a longer one short, which is no
// failure, unless it is of what the crawl before left. It waits for none after a crawl that failed. A merge that fails
// by itself is a failure.
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
		time.AfterFunc(5*time.Millisecond, func() { goOn <- struct{}{} })
		<-goOn
		return ctx.Err()
	}
	fails := func(context.Context) error {
		begun <- struct{}{}
		return broken
	}
	for _, c := range []struct {
		name  string
		left  bool // by the crawl before
		merge func(context.Context) error
		well  bool
		most  time.Duration
		err   error
		ends  bool
	}{
		{"a long one", false, forEver, true, 1, nil, false},
		{"a long one after a crawl that failed", false, forEver, false, time.Hour, nil, false},
		{"one that ends", false, whole, true, time.Hour, nil, true},
		{"one that fails", false, fails, true, time.Hour, broken, false},
		{"what was left", true, whole, true, 1, nil, true},
		{"what was left after a crawl that failed", true, forEver, false, time.Hour, nil, false},
	} {
		var m merges
		var failed error
		calls, ended, first := 0, false, make(chan struct{})
		m.start(context.Background(), mergeWork{merge: func(ctx context.Context) error {
			if calls++; !c.left && calls == 1 {
				close(first)
				return nil
			}
			err := c.merge(ctx)
			ended = err == nil
			return err
		}, settleEvery: time.Hour, fail: func(err error) { failed = err }})
		if m.begin(); !c.left {
			<-first
			m.begin()
		}
		<-begun
		if m.end(c.well, c.most); failed != c.err || ended != c.ends {
			t.Errorf("%s: failed with %v, ended: %t", c.name, failed, ended)
		}
	}
}

// TestSettlesEnd: what settles beside a crawl comes again and again, and the end of the crawl waits for none of it.
func TestSettlesEnd(t *testing.T) {
	t.Parallel()
	broken := errors.New("broken")
	for _, c := range []struct {
		name string
		last error // of the third; nil: it goes on until it is cut short
	}{{"cut short", nil}, {"one that fails", broken}} {
		var m merges
		var failed error
		calls, third := 0, make(chan struct{})
		m.start(context.Background(), mergeWork{
			merge: func(context.Context) error { return nil }, settleEvery: 1,
			settle: func(ctx context.Context) error {
				if calls++; calls < 3 {
					return nil
				}
				close(third)
				if c.last == nil {
					<-ctx.Done()
					return ctx.Err()
				}
				return c.last
			},
			fail: func(err error) { failed = err },
		})
		<-third
		if m.end(true, time.Hour); failed != c.last || calls != 3 {
			t.Errorf("%s: failed with %v, %d calls", c.name, failed, calls)
		}
	}
}
