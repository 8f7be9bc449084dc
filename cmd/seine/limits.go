// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/seine-crawler/seine/engine"
)

// limitFlags are the flags that end a crawl or a fetch early.
type limitFlags struct {
	pages       int64
	bytes, time string
}

func (l *limitFlags) add(cmd *cobra.Command) {
	addCount(cmd.Flags(), &l.pages, "max-pages", 0, 0, "stop after this number of fetched pages (0: no limit)")
	cmd.Flags().StringVar(&l.bytes, "max-bytes", "0",
		"stop after receiving this `size`, such as 500MB or 20GB (0: no limit)")
	cmd.Flags().StringVar(&l.time, "max-time", "0", "stop after this `duration`, such as 90m or 12h (0: no limit)")
}

func (l *limitFlags) limits() (engine.Limits, error) {
	out := engine.Limits{MaxPages: l.pages}
	var err error
	if out.MaxBytes, err = parseBytes(l.bytes); err != nil {
		return out, &usageError{fmt.Errorf("--max-bytes %q: %w", l.bytes, err)}
	}
	if out.MaxTime, err = parseDuration(l.time); err != nil {
		return out, &usageError{fmt.Errorf("--max-time %q: %w", l.time, err)}
	}
	return out, nil
}

// left is what a fetch that took some time leaves of limits. reached says that of one of them nothing is left.
func left(l engine.Limits, r engine.FetchReport, took time.Duration) (rest engine.Limits, reached bool) {
	if rest = l; l.MaxPages > 0 {
		rest.MaxPages -= int64(r.Fetched)
		reached = rest.MaxPages <= 0
	}
	if l.MaxBytes > 0 {
		rest.MaxBytes -= int64(r.Bytes)
		reached = reached || rest.MaxBytes <= 0
	}
	if l.MaxTime > 0 {
		rest.MaxTime -= took
		reached = reached || rest.MaxTime <= 0
	}
	return rest, reached
}
