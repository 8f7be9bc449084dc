// SPDX-License-Identifier: Apache-2.0

package inspect

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/seine-crawler/seine/engine/internal/admission"
	"github.com/seine-crawler/seine/storage"
	"github.com/seine-crawler/seine/storage/urlkey"
)

// HostStory is what the store has of one host.
type HostStory struct {
	Host
	// Failures counts, by kind, the URLs whose last fetch brought no page; Newest are those that were fetched last, at
	// most hostFailuresMax, newest first. With Partial set the host has more than hostRecordsMax records, and those
	// beyond do not count.
	Failures map[string]uint64
	Newest   []Record
	Partial  bool
	// Own and Domain are the budgets of the host and of its registered domain.
	Own, Domain admission.Budget
	// Closed are the prefixes of the host's URLs that are closed as traps.
	Closed []string
}

// HostStory collects everything about a host. Where hostdb does not have it, the error wraps ErrNotFound.
func (in *Inspect) HostStory(ctx context.Context, key urlkey.HostKey) (s HostStory, err error) {
	if s.Host, err = in.Host(key); err != nil {
		return s, err
	}
	if s.Own, err = in.env.Admission.HostBudget(key); err != nil {
		return s, err
	}
	if s.Domain, err = in.env.Admission.DomainBudgetNow(key.DomainKey()); err != nil {
		return s, fmt.Errorf("budget of %s: %w", key.Domain(), err)
	}
	for _, c := range in.env.Admission.Closed() {
		if strings.HasPrefix(c.Prefix, string(key)) {
			s.Closed = append(s.Closed, c.URL)
		}
	}
	return s, in.hostFailures(ctx, &s)
}

// hostFailures reads the records of a host.
func (in *Inspect) hostFailures(ctx context.Context, s *HostStory) (err error) {
	snapshot := in.env.Store.Snapshot()
	defer func() { err = errors.Join(err, snapshot.Close()) }()
	list, err := snapshot.SegmentList()
	if err != nil {
		return err
	}
	s.Failures = map[string]uint64{}
	failed := recordBatch{newest: newOutcomes(snapshot, list), size: recordsBatchMin}
	count := func(r Record, _ error) bool {
		if name := failedWith(&r); name != "" {
			s.Failures[name]++
			s.keepNewest(r)
		}
		return true
	}
	from, to := storage.HostBounds(s.Key)
	read := 0
	for e, err := range scan(ctx, snapshot, storage.Crawldb(), from, to, storage.DecodeRecord) {
		if err != nil {
			return err
		}
		if read++; read > hostRecordsMax {
			s.Partial = true
			break
		}
		if mayHaveFailed(e.value) && failed.add(e.key, e.value) {
			if _, err := failed.flush(count); err != nil {
				return err
			}
		}
	}
	_, err = failed.flush(count)
	return err
}

// keepNewest keeps a record among those that were fetched last.
func (s *HostStory) keepNewest(r Record) {
	at, _ := slices.BinarySearchFunc(s.Newest, r, func(a, b Record) int {
		return cmp.Or(cmp.Compare(b.LastFetch, a.LastFetch), cmp.Compare(a.Key, b.Key))
	})
	if at == hostFailuresMax {
		return
	}
	s.Newest = slices.Insert(s.Newest, at, r)
	s.Newest = s.Newest[:min(len(s.Newest), hostFailuresMax)]
}
