// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"fmt"
	"sync"
)

// guard counts the calls that are inside the engine, and admits none after Close. init must be called first.
type guard struct {
	mu     sync.Mutex
	closed bool
	inside sync.WaitGroup
	life   context.Context // ends when Close begins
	finish context.CancelFunc
}

func (g *guard) init() { g.life, g.finish = context.WithCancel(context.Background()) }

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
