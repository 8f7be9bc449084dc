// SPDX-License-Identifier: Apache-2.0

package writers

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"
)

// later is an error that may go away by itself.
type later struct {
	err      error
	after    time.Duration // that the server requested; 0: nothing
	progress bool          // a part of the work was done
}

func (l *later) Error() string { return l.err.Error() }
func (l *later) Unwrap() error { return l.err }

// errTooLarge says that a server takes no request of that size (413).
var errTooLarge = errors.New("the server takes no request of that size (413)")

// errRequest says that a server found fault with the request (400).
type errRequest struct{ reason string }

func (e *errRequest) Error() string { return e.reason }

// pacing is how a client waits between tries.
type pacing struct {
	patience time.Duration
	first    time.Duration
	longest  time.Duration
	wait     func(ctx context.Context, d time.Duration) error
	now      func() time.Time
}

func defaultPacing() pacing { return pacing{patience, firstPause, longestPause, sleep, time.Now} }

// sleep waits for d, or until ctx ends.
func sleep(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// until calls attempt until it returns nil or an error that is no *later, or until patience ends, of which the attempts
// take their part, too: a server that hangs is as away as one that refuses. Pauses double and are
// drawn at random from the upper half (AWS, "Exponential Backoff and Jitter", 2015: equal jitter), and are at least as
// long as the server requested.
func (p *pacing) until(ctx context.Context, attempt func() error) error {
	pause, waited := p.first, time.Duration(0)
	for {
		began := p.now()
		err := attempt()
		waited += p.now().Sub(began)
		var l *later
		if !errors.As(err, &l) || ctx.Err() != nil {
			return err
		}
		if l.progress {
			pause, waited = p.first, 0
		}
		d := max(pause/2+rand.N(pause/2+1), l.after)
		if waited += d; waited > p.patience {
			if l.after > p.patience {
				return fmt.Errorf("%w (it requested a pause of %s)", l.err, l.after)
			}
			return fmt.Errorf("%w (given up after %s without progress)", l.err, p.patience)
		}
		if err := p.wait(ctx, d); err != nil {
			return errors.Join(err, l.err)
		}
		pause = min(2*pause, p.longest)
	}
}
