// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"time"
)

type indexOptions struct {
	peers                string
	pages, runs, queries int
	timeout              time.Duration
}

func compareIndexes(ctx context.Context, o indexOptions) error { return errors.New("none") }
func engineMain(ctx context.Context, args []string) error      { return errors.New("none") }
