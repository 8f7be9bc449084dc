// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"fmt"
	"io"
	"os"
	"time"

	"github.com/seine-crawler/seine/engine/internal/phases"
)

// InjectOptions say which seeds to inject and what becomes of URLs that are already known.
type InjectOptions struct {
	URLs    []string    // seed lines
	Files   []string    // files of seed lines; "-" is Stdin
	Stdin   io.Reader   // for "-"
	Readers []io.Reader // more seed lines
	// Overwrite replaces a known record; Update changes only its score, interval and metadata. Without either a
	// known record is kept as it is.
	Overwrite, Update bool
}

func (o *InjectOptions) empty() bool { return len(o.URLs)+len(o.Files)+len(o.Readers) == 0 }

// open opens the files. closeAll must be called.
func (o *InjectOptions) open() (sources []phases.Source, closeAll func(), err error) {
	var files []*os.File
	closeAll = func() {
		for _, f := range files {
			f.Close() // only read
		}
	}
	for _, name := range o.Files {
		if name == "-" && o.Stdin != nil {
			sources = append(sources, phases.Source{Reader: o.Stdin})
			continue
		}
		f, err := os.Open(name)
		if err != nil {
			closeAll()
			return nil, func() {}, fmt.Errorf("seed file: %w", err)
		}
		files = append(files, f)
		sources = append(sources, phases.Source{Name: name, Reader: f})
	}
	for _, r := range o.Readers {
		sources = append(sources, phases.Source{Reader: r})
	}
	return sources, closeAll, nil
}

// GenerateOptions bound a fetchlist. Zero means no bound.
type GenerateOptions struct {
	Top          int  // URLs in all; 0 means a million
	MaxPerHost   int  // URLs of one host, or of one domain with PerDomain
	PerDomain    bool // count MaxPerHost by registered domain
	AddDays      int  // choose what will be due that many days from now
	IgnoreMarked bool // also take URLs that wait in an earlier fetchlist
}

// DedupOptions say which pages are compared and which of equal ones stays.
type DedupOptions struct {
	// Segments limits the work to signatures that pages of these segments have; nil means all.
	Segments []uint32
	// Order takes the place of Options.DedupOrder; "" keeps that.
	Order string
}

// IndexOptions say what to index.
type IndexOptions struct {
	// Segments are linked segments whose pages become documents; nil means every linked one.
	Segments []uint32
	// Refresh also walks crawldb and brings every document up to date: pages that gained anchors since they were
	// indexed, pages that are duplicates no longer, pages that are gone. After it the index is a function of crawldb,
	// linkdb and parse records.
	Refresh bool
}

// Limits end a crawl or a fetch early; what else is due stays so. 0 means no bound.
type Limits struct {
	// MaxPages is the number of fetched pages. It is exact.
	MaxPages int64
	// MaxBytes is the number of bytes received, MaxTime the time from the start. Fetches under way when one of
	// them is reached are cut off or may go beyond it.
	MaxBytes int64
	MaxTime  time.Duration
}

func (l Limits) validate() error {
	if l.MaxPages < 0 || l.MaxBytes < 0 || l.MaxTime < 0 {
		return fmt.Errorf("MaxPages %d, MaxBytes %d, MaxTime %s: want 0 (no bound) or more", l.MaxPages, l.MaxBytes, l.MaxTime)
	}
	return nil
}
