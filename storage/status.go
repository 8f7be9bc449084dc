// SPDX-License-Identifier: Apache-2.0

package storage

import "fmt"

// Status is the crawldb status of a URL. Names and meanings are Nutch's, except the last one, which Nutch
// keeps in a separate parse status. The zero Status is invalid; it stands for an unknown URL. The numbers
// are stored: never change one.
type Status uint8

// The statuses of crawldb.
const (
	// StatusUnfetched: never fetched successfully, or due to be fetched again after failures.
	StatusUnfetched Status = iota + 1
	// StatusFetched: fetched; the content differs from that of the previous fetch.
	StatusFetched
	// StatusGone: the server says that it does not exist, or robots.txt forbids it, or it failed too
	// often.
	StatusGone
	// StatusRedirTemp: redirects temporarily.
	StatusRedirTemp
	// StatusRedirPerm: redirects permanently.
	StatusRedirPerm
	// StatusNotModified: fetched again and found unchanged.
	StatusNotModified
	// StatusDuplicate: fetched, but another URL with the same content was kept instead.
	StatusDuplicate
	// StatusOrphan: no page links here any more.
	StatusOrphan
	// StatusParseFailed: fetched, but the content could not be parsed.
	StatusParseFailed

	// StatusCount is one more than the highest status: the length of arrays indexed by Status.
	StatusCount = int(StatusParseFailed) + 1
)

var statusNames = [StatusCount]string{"", "db_unfetched", "db_fetched", "db_gone", "db_redir_temp", "db_redir_perm",
	"db_notmodified", "db_duplicate", "db_orphan", "db_parse_failed"}

// String returns the status's name: "db_unfetched" and so on.
func (s Status) String() string {
	if s.valid() {
		return statusNames[s]
	}
	return fmt.Sprintf("status %d", uint8(s))
}

func (s Status) valid() bool { return s > 0 && int(s) < StatusCount }

// ParseStatus is the inverse of String. The error of an unknown name lists the known ones.
func ParseStatus(name string) (Status, error) {
	for s := 1; s < StatusCount; s++ {
		if statusNames[s] == name {
			return Status(s), nil
		}
	}
	return 0, fmt.Errorf("unknown status %q: use one of %v", name, statusNames[1:])
}

// CanBecome reports whether a record with status s may be written with status next; s is 0 for a new
// URL. Any fetch can have any outcome, so nearly everything is allowed, with two rules:
//
//   - a new URL becomes db_unfetched, whatever its source;
//   - only content can be a duplicate: db_duplicate follows db_fetched, db_notmodified or itself.
func (s Status) CanBecome(next Status) bool {
	switch {
	case !next.valid():
		return false
	case s == 0:
		return next == StatusUnfetched
	case next == StatusDuplicate:
		return s == StatusFetched || s == StatusNotModified || s == StatusDuplicate
	}
	return s.valid()
}

// FetchStatus is the outcome of one fetch, as stored in a segment. The zero FetchStatus is invalid. The
// numbers are stored: never change one.
type FetchStatus uint8

// The outcomes of a fetch, with Nutch's names.
const (
	// FetchSuccess: a complete response with content.
	FetchSuccess FetchStatus = iota + 1
	// FetchRetry: nothing usable; worth another try.
	FetchRetry
	// FetchRedirTemp: a temporary redirect.
	FetchRedirTemp
	// FetchRedirPerm: a permanent redirect.
	FetchRedirPerm
	// FetchGone: does not exist, or the crawler may not fetch it.
	FetchGone
	// FetchNotModified: the server says that our copy is current.
	FetchNotModified
	// FetchParseFailed: content that could not be parsed.
	FetchParseFailed

	fetchStatusCount = int(FetchParseFailed) + 1
)

var fetchStatusNames = [fetchStatusCount]string{"", "fetch_success", "fetch_retry", "fetch_redir_temp",
	"fetch_redir_perm", "fetch_gone", "fetch_notmodified", "fetch_parse_failed"}

// String returns the outcome's name: "fetch_success" and so on.
func (s FetchStatus) String() string {
	if s.valid() {
		return fetchStatusNames[s]
	}
	return fmt.Sprintf("fetch status %d", uint8(s))
}

func (s FetchStatus) valid() bool { return s > 0 && int(s) < fetchStatusCount }

// ParseFetchStatus is the inverse of String. The error of an unknown name lists the known ones.
func ParseFetchStatus(name string) (FetchStatus, error) {
	for s := 1; s < fetchStatusCount; s++ {
		if fetchStatusNames[s] == name {
			return FetchStatus(s), nil
		}
	}
	return 0, fmt.Errorf("unknown fetch status %q: use one of %v", name, fetchStatusNames[1:])
}
