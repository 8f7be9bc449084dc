// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"time"

	"github.com/seine-crawler/seine/storage"
	"github.com/seine-crawler/seine/storage/urlkey"
)

// nextDue returns when something of the first dueHostsRead hosts is due, zero if nothing is, and whether crawldb is
// empty.
func nextDue(store *storage.Store) (at time.Time, empty bool) {
	sc := store.Scan(storage.HostCountsRange(), nil, nil)
	defer sc.Close()
	var counts storage.HostCounts
	empty = true
	for n := 0; n < dueHostsRead && sc.Next(); n++ {
		empty = false
		if storage.DecodeHostCounts(sc.Value(), &counts) != nil || counts.NextDue == 0 {
			continue
		}
		if due := time.UnixMilli(counts.NextDue); at.IsZero() || due.Before(at) {
			at = due
		}
	}
	return at, empty
}

// dueURLs returns how many URLs of a host were not fetched yet, as of the last updatedb.
func dueURLs(store *storage.Store, host urlkey.HostKey) uint64 {
	var c storage.HostCounts
	if ok, err := store.HostCounts(host, &c); err != nil || !ok {
		return 0
	}
	return uint64(c.ByStatus[storage.StatusUnfetched])
}
