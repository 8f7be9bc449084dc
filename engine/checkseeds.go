// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/seine-crawler/seine/engine/internal/phases"
)

// CheckSeeds reads seed lines as Inject does in a new data directory, up to the first that it would inject, and makes
// none. Where there is no such line the report counts all, and the error wraps ErrNoSeed.
func CheckSeeds(ctx context.Context, o Options, in InjectOptions) (r InjectReport, err error) {
	e, err := openNowhere(o)
	if err != nil {
		return r, err
	}
	defer func() { err = errors.Join(err, e.Close()) }()
	sources, closeAll, err := in.open(ctx)
	if err != nil {
		return r, err
	}
	defer closeAll()
	found, read, err := e.w.phases.AnySeed(ctx, phases.InjectOptions{URLs: in.URLs, Sources: sources})
	switch r = injectReport(read); {
	case err != nil || found:
		return r, err
	case r.Lines == 0:
		return r, fmt.Errorf("%w: no line has one", ErrNoSeed)
	}
	return r, fmt.Errorf("%w: %s", ErrNoSeed, strings.Join(r.Examples, "; "))
}
