// SPDX-License-Identifier: Apache-2.0

package storage

import (
	"encoding/hex"
)

// Signature is an exact hash of a page's content, computed by package parse; pages with equal signatures
// are duplicates. Of a page that must not be indexed it is the complement of the hash. The zero Signature means that
// there is none. The signatures range holds one key per (signature, URL) and no value: what dedup needs for its
// decision is in the crawldb records.
type Signature [16]byte

// IsZero reports whether there is no signature.
func (s Signature) IsZero() bool { return s == Signature{} }

// String returns the signature in hex, "" for none.
func (s Signature) String() string {
	if s.IsZero() {
		return ""
	}
	return hex.EncodeToString(s[:])
}
