// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/seine-crawler/seine/engine"
)

// limitFlags are the flags that end a crawl or a fetch early.
type limitFlags struct {
	pages       int64
	bytes, time string
}

func (l *limitFlags) add(cmd *cobra.Command) {
	cmd.Flags().Int64Var(&l.pages, "max-pages", 0, "stop after this number of fetched pages (0: no limit)")
	cmd.Flags().StringVar(&l.bytes, "max-bytes", "0",
		"stop after receiving this much, such as 500MB or 20GB (0: no limit)")
	cmd.Flags().StringVar(&l.time, "max-time", "0", "stop after this time, such as 90m or 12h (0: no limit)")
}

func (l *limitFlags) limits() (engine.Limits, error) {
	out := engine.Limits{MaxPages: l.pages}
	if l.pages < 0 {
		return out, &usageError{fmt.Errorf("--max-pages %d: want 0 (no limit) or more", l.pages)}
	}
	var err error
	if out.MaxBytes, err = parseBytes(l.bytes); err != nil {
		return out, &usageError{fmt.Errorf("--max-bytes %q: %w", l.bytes, err)}
	}
	if out.MaxTime, err = parseDuration(l.time); err != nil {
		return out, &usageError{fmt.Errorf("--max-time %q: %w", l.time, err)}
	}
	return out, nil
}
