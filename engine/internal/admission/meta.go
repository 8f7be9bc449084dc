// SPDX-License-Identifier: Apache-2.0

package admission

import "github.com/seine-crawler/seine/storage"

// The keys of meta that this package writes, but for fingerprintKey each the beginning of many.
const (
	// seedHostPrefix begins the seeds' hosts, which are the scope of every later run, seedURLPrefix the seeds
	// themselves, for scopes narrower than hosts. Both are followed by the key; the values are empty.
	seedHostPrefix = "seed-host/"
	seedURLPrefix  = "seed-url/"
	// seedURLsKey says that each seed has a row of seedURLPrefix: see seedURLs.
	seedURLsKey = "seed-urls"
	// blockedPrefix begins the hosts that the operator has blocked: blockedPrefix, host key → nothing.
	blockedPrefix = "blocked/"
	// splitPrefix begins the parts of the keys that were moved to other directories, partPrefix those that this
	// directory was made of: either, the part's first key → the first one behind it.
	splitPrefix = "split/"
	partPrefix  = "part/"
	// closedPrefix begins closed prefixes: closedPrefix, prefix → nothing.
	closedPrefix = "closed/"
	// referrersPrefix begins the bits of linking domains: referrersPrefix, domain key → 8 bytes, little endian.
	referrersPrefix = "referrers/"
	// widenedPrefix begins the prefixes that came into reach and are not readmitted yet: widenedPrefix, prefix →
	// nothing. The row is written in the ingestion that widens the scope, so that no crash can lose it.
	widenedPrefix = "widened/"
	// fingerprintKey is the fingerprint under which links were withheld: 8 bytes, or none if no single fingerprint
	// holds for all of them.
	fingerprintKey = "admission"
)

// scan calls each with the rest of every meta key that begins with a prefix.
func scan(store storage.Reader, prefix string, each func(rest string) error) error {
	return scanRows(store, prefix, func(rest string, _ []byte) error { return each(rest) })
}

// scanRows is scan with the values.
func scanRows(store storage.Reader, prefix string, each func(rest string, value []byte) error) error {
	from, to := prefixBounds([]byte(prefix))
	sc := store.Scan(storage.Meta(), from, to)
	defer sc.Close()
	for sc.Next() {
		if err := each(string(sc.Key()[len(prefix):]), sc.Value()); err != nil {
			return err
		}
	}
	return sc.Err()
}

// prefixBounds returns the bounds of all keys that begin with a prefix. Keys are ASCII, so the last byte can always be
// raised.
func prefixBounds(prefix []byte) (from, to []byte) {
	if len(prefix) == 0 {
		return nil, nil
	}
	to = append([]byte(nil), prefix...)
	to[len(to)-1]++
	return prefix, to
}
