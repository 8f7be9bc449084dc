// SPDX-License-Identifier: Apache-2.0

package storage

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/cockroachdb/pebble/v2/sstable"
)

// tables compares every block of every table with its checksum: filters and indexes too, and what newer tables hide,
// neither of which a walk through the ranges reads.
func (v *verifier) tables() error {
	names, err := v.s.tableNames()
	if err = classified(err); errors.Is(err, ErrCorrupt) { // one is missing: of the others all files are read
		v.report.add(Problem{Where: "tables", What: err.Error()})
		names, err = v.s.fs.List(v.s.dir)
		names = slices.DeleteFunc(names, func(name string) bool { return filepath.Ext(name) != tableSuffix })
	}
	if err != nil {
		return err
	}
	for _, name := range names {
		if err := v.ctx.Err(); err != nil {
			return err
		}
		err := v.s.checkTable(name)
		switch {
		case errors.Is(err, os.ErrNotExist) && v.s.compacted(name):
			// A compaction replaced it since.
		case errors.Is(err, ErrCorrupt), errors.Is(err, os.ErrNotExist):
			// The reader was given no number of the file.
			what := strings.ReplaceAll(strings.TrimPrefix(err.Error(), ErrCorrupt.Error()+": "), "file 000000: ", "")
			v.report.add(Problem{Where: "tables", Key: name, What: what})
		case err != nil:
			return fmt.Errorf("reading table %s: %w", name, err)
		}
	}
	return nil
}

// tableNames are the names of the tables' files. One file may back several tables.
func (s *Store) tableNames() (names []string, err error) {
	levels, err := s.db.SSTables()
	for _, level := range levels {
		for _, t := range level {
			names = append(names, fmt.Sprintf("%06d%s", uint64(t.BackingSSTNum), tableSuffix))
		}
	}
	slices.Sort(names)
	return slices.Compact(names), err
}

// compacted reports whether a table is not part of the store any more.
func (s *Store) compacted(name string) bool {
	names, err := s.tableNames()
	return err == nil && !slices.Contains(names, name)
}

// checkTable reads a table file from its first to its last block.
func (s *Store) checkTable(name string) (err error) {
	f, err := s.fs.Open(s.fs.PathJoin(s.dir, name))
	if err != nil {
		return err
	}
	readable, err := sstable.NewSimpleReadable(f)
	if err != nil {
		return errors.Join(err, f.Close())
	}
	r, err := sstable.NewReader(context.Background(), readable, s.popts.MakeReaderOptions())
	if err != nil {
		return errors.Join(classified(err), readable.Close())
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	if err := r.ValidateBlockChecksums(); err != nil {
		return classified(err)
	}
	return nil
}
