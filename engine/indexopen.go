// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"fmt"

	"github.com/seine-crawler/seine/index"
	"github.com/seine-crawler/seine/storage"
)

// settingAnalyzer is the name under which the store keeps the version of the analyzer that cut the index's words.
const settingAnalyzer = "analyzer"

// openIndex opens the index of a store. With RebuildIndex it empties it first. A crash in between leaves an index that
// is empty, or still refused.
func (o *Options) openIndex(s *storage.Store) (*index.Index, error) {
	if o.RebuildIndex {
		if o.ReadOnly {
			return nil, fmt.Errorf("rebuilding the index of %s: %w", o.Dir, ErrReadOnly)
		}
		if err := index.Clear(s); err != nil {
			return nil, fmt.Errorf("emptying the index of %s: %w", o.Dir, err)
		}
		if err := s.PutSettings(map[string]string{settingAnalyzer: index.AnalyzerVersion}); err != nil {
			return nil, err
		}
	}
	stored, ok, err := s.Setting(settingAnalyzer)
	if err != nil {
		return nil, err
	}
	if ok && stored != index.AnalyzerVersion {
		return nil, fmt.Errorf("opening %s: %w: its words are of analyzer %s, this program has analyzer %s; "+
			`run "seine index --rebuild"`, o.Dir, ErrIndexFormat, stored, index.AnalyzerVersion)
	}
	return index.Open(s, index.Options{
		MemoryBytes: o.shares().builder, MergeBytes: o.shares().merge, HeldBytes: -1, // see setIdle
		Builders: min(o.Processors, indexBuilders), Processors: o.Processors,
	})
}
