// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"math/bits"

	"github.com/seine-crawler/seine/storage"
)

// isRanked reports whether scores of crawldb are ranks.
func isRanked(store *storage.Store) (bool, error) {
	_, ok, err := store.Get(storage.Meta(), []byte(storage.MetaLinkRank), nil)
	return ok, wrapf(err, "looking for ranks")
}

// rankBoost is what the rank of a page adds to its static score. It has steps, whole doublings of the mean rank, for
// the reason that index.StaticBoost has them: a document is indexed again only when its page's rank has doubled. The
// weight is that of the linking domains, which say much the same of few pages.
func rankBoost(score float64) float64 {
	const step, most = 0.03, 10
	return step * float64(min(bits.Len64(uint64(max(score, 0))), most))
}
