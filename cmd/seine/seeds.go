// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/seine-crawler/seine/engine"
)

// seedsToCrawl are the seeds of a crawl that is given URLs. If none can be used, the crawl fails before it makes a data
// directory.
func (f *flags) seedsToCrawl(
	cmd *cobra.Command, c *console, o *engine.Options, urls []string,
) (*engine.InjectOptions, error) {
	urls, files := standardInput(urls, f.seedFiles())
	seeds := &engine.InjectOptions{URLs: urls, Files: files, Stdin: c.input(cmd.Context())}
	f.before = func() error {
		_, err := trySeeds(cmd.Context(), *o, seeds)
		if err != nil {
			err = fmt.Errorf("crawling: %w", err)
		}
		return err
	}
	return seeds, requireSeeds(o.Dir, urls, files)
}

// standardInput makes the argument "-" a file of seeds, as inject has it.
func standardInput(urls, files []string) (others, all []string) {
	for _, u := range urls {
		if u == "-" && !slices.Contains(files, "-") {
			files = append(files, u)
		} else if u != "-" {
			others = append(others, u)
		}
	}
	return others, files
}

// requireSeeds returns an error if there is nothing to crawl from, and if a seed is the name of a file.
func requireSeeds(dir string, urls, files []string) error {
	for _, u := range urls {
		if isFile(u) {
			return &usageError{fmt.Errorf("%s is a file: give --seeds %s", u, u)}
		}
	}
	if len(urls)+len(files) > 0 || !isNew(dir) {
		return nil
	}
	return &usageError{fmt.Errorf("no seeds: give URLs, or --seeds FILE; %s holds no crawl to continue", dir)}
}

// isNew reports whether there is nothing of a crawl in a data directory, or no directory. Of a lost store, WARC files
// without one say what helps.
func isNew(dir string) bool {
	return !slices.ContainsFunc([]string{"store", "warc"}, func(part string) bool {
		_, err := os.Stat(filepath.Join(dir, part))
		return !errors.Is(err, fs.ErrNotExist)
	})
}

// triedMax is how much of standard input trySeeds reads.
const triedMax = 1 << 20

// trySeeds returns an error that wraps ErrNoSeed if no seed for a new data directory can be used: then none is made.
// What it reads of standard input is there to be read again. A pipe that is a file cannot be read twice, so it does not
// look at one.
func trySeeds(ctx context.Context, o engine.Options, in *engine.InjectOptions) (engine.InjectReport, error) {
	pipe := func(name string) bool { return name != "-" && !isFile(name) }
	if !isNew(o.Dir) || slices.ContainsFunc(in.Files, pipe) {
		return engine.InjectReport{}, nil
	}
	var read bytes.Buffer
	try := *in
	try.Stdin = io.TeeReader(io.LimitReader(in.Stdin, triedMax), &read)
	o.Events = engine.EventListener{}
	r, err := engine.CheckSeeds(ctx, o, try)
	in.Stdin = io.MultiReader(&read, in.Stdin)
	if read.Len() == triedMax && errors.Is(err, engine.ErrNoSeed) {
		return r, nil // one may follow
	}
	return r, err
}

// isFile reports whether what stands in place of a URL is the name of a file.
func isFile(u string) bool {
	info, err := os.Stat(u)
	return err == nil && info.Mode().IsRegular() && !strings.Contains(u, "://")
}
