// SPDX-License-Identifier: Apache-2.0

package visit

import (
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/seine-crawler/seine/storage"
	"github.com/seine-crawler/seine/storage/urlkey"
)

// Deletion is a set of URLs that are deleted while a run may have some of them: in windows of the frontier, in visits
// and in requests.
type Deletion struct {
	has  func(key []byte) bool
	done atomic.Bool // they are deleted: crawldb says which of them exist again
}

// deletions are those of one run. The zero value has none.
type deletions struct {
	mu   sync.Mutex                  // held to replace list
	list atomic.Pointer[[]*Deletion] // replaced, never changed; nil: none
}

func (ds *deletions) add(d *Deletion) {
	ds.mu.Lock()
	defer ds.mu.Unlock()
	var list []*Deletion
	if old := ds.list.Load(); old != nil {
		list = append(list, *old...)
	}
	if len(list) >= deletionsMax { // from now on crawldb is asked about every URL
		all := &Deletion{has: func([]byte) bool { return true }}
		all.done.Store(true)
		list = []*Deletion{all}
	}
	list = append(list, d)
	ds.list.Store(&list)
}

// deleted reports whether a URL that was handed out must not be requested, because it is being deleted, or was deleted
// and has not been found again. Without a deletion in this run it costs one load.
func (ds *deletions) deleted(store *storage.Store, key urlkey.Key) (bool, error) {
	list := ds.list.Load()
	if list == nil {
		return false, nil
	}
	for _, d := range *list {
		if !d.has([]byte(key)) {
			continue
		}
		if !d.done.Load() {
			return true, nil
		}
		var r storage.Record
		known, err := store.Record(key, &r)
		if err != nil {
			return false, fmt.Errorf("looking whether %q was deleted: %w", key, err)
		}
		if !known {
			return true, nil
		}
	}
	return false, nil
}
