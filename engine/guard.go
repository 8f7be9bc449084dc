// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"errors"
	"fmt"
	"sync"
)

// guard counts the calls that are inside the engine, and admits none after Close. init must be called first.
type guard struct {
	reads  bool // the engine is open for reading only
	mu     sync.Mutex
	closed bool
	inside sync.WaitGroup
	life   context.Context // ends when Close begins
	finish context.CancelFunc
}

func (g *guard) init(reads bool) {
	g.reads = reads
	g.life, g.finish = context.WithCancel(context.Background())
}

// enter admits a call, which must call leave at its end. After Close the error is ErrClosed.
func (g *guard) enter() (leave func(), err error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closed {
		return nil, fmt.Errorf("%w: the engine was closed", ErrClosed)
	}
	g.inside.Add(1)
	return g.inside.Done, nil
}

// enterToWrite is enter for a call that writes, before it does anything: ErrReadOnly if the engine only reads, with
// what was to be done, as the call's other errors say it.
func (g *guard) enterToWrite(doing string) (leave func(), err error) {
	leave, err = g.enter()
	if err == nil && g.reads {
		leave()
		return nil, wrapf(ErrReadOnly, "%s", doing)
	}
	return leave, err
}

// begin is enter for a phase. One whose context has ended does nothing: it returns the context's error.
func (g *guard) begin(ctx context.Context, doing string, writes bool) (leave func(), err error) {
	if writes {
		leave, err = g.enterToWrite(doing)
	} else {
		leave, err = g.enter()
	}
	if err == nil && ctx.Err() != nil {
		leave()
		return nil, ctx.Err()
	}
	return leave, err
}

// end closes the guard and waits until all calls have left.
func (g *guard) end() error {
	g.mu.Lock()
	if g.closed {
		g.mu.Unlock()
		return fmt.Errorf("%w: the engine was closed before", ErrClosed)
	}
	g.closed = true
	g.mu.Unlock()
	g.finish()
	g.inside.Wait()
	return nil
}

// within returns a context that ends with ctx or with Close.
func (g *guard) within(ctx context.Context) (context.Context, context.CancelFunc) {
	return either(ctx, g.life)
}

// either is a context that ends with a or b.
func either(a, b context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(a)
	stop := context.AfterFunc(b, cancel)
	return ctx, func() {
		stop()
		cancel()
	}
}

// ended is the error of a call whose context was ctx. It is ErrClosed if Close ended the call. While the engine is open
// it is what the call found, which may be the end of a context of the caller's own function, reader or writer.
func (g *guard) ended(ctx context.Context, err error) error {
	if g.life.Err() != nil && ctx.Err() == nil && errors.Is(err, context.Canceled) {
		return fmt.Errorf("%w: the engine was closed", ErrClosed)
	}
	return err
}
