// SPDX-License-Identifier: Apache-2.0

package visit

import (
	"context"
	"errors"
	"time"

	"github.com/seine-crawler/seine/engine/fetch"
	"github.com/seine-crawler/seine/engine/internal/admission"
	"github.com/seine-crawler/seine/engine/internal/segment"
	"github.com/seine-crawler/seine/engine/policy"
	"github.com/seine-crawler/seine/frontier"
	"github.com/seine-crawler/seine/storage"
	"github.com/seine-crawler/seine/storage/urlkey"
)

// ErrDiskLow is wrapped by the error of a run that ended because its disk filled up. Everything fetched is
// kept; the crawl goes on when it is run again with more space.
var ErrDiskLow = errors.New("disk is nearly full")

// Env is what the room needs. Every field is required but where it says otherwise.
type Env struct {
	Store     *storage.Store
	Dir       string // data directory, for messages
	Admission *admission.Admission
	// Client makes exchanges. Resolver finds hosts' addresses ahead of their visits, so that hosts that share one
	// take turns; nil: that is left to the client.
	Client   fetch.Protocol
	Resolver fetch.Resolver
	// Agent is the product token that selects the group of robots.txt.
	Agent string
	Now   func() time.Time
	// Delay is the crawl's own delay between two requests to a host as it is now; negative: none.
	Delay func() time.Duration
	// DiskFree returns the free and total bytes of the file system that the crawl is on, 0 in total where that is not
	// known; nil: that of the store.
	DiskFree func() (free, total uint64, err error)
	// Links normalises the sitemaps that robots.txt files name; nil: they are ignored.
	Links policy.URLNormalizers
	// Busy, if not nil, measures a piece of work of the source: it is called when a refill begins, and what it
	// returns when the refill ends, on the same goroutine.
	Busy func() (stop func())
	// Warn reports what stops nothing, on any goroutine. Stored, if not nil, is called with each outcome once it is
	// durable, on one goroutine at a time: those of one segment in the order in which they were stored.
	Warn   func(error)
	Stored func(u urlkey.URL, o *storage.FetchOutcome)
	// Page, if not nil, is called with each attempt that was stored and what the parser made of it, on the fetcher's
	// goroutine. Its arguments are only valid during the call.
	Page func(a *segment.Attempt, s *segment.Scratch)
}

// Choice is one URL chosen to be fetched.
type Choice struct {
	Key   urlkey.Key
	Score float64
	Depth uint16
	Known bool // crawldb holds an outcome of an earlier fetch
}

// Chosen is what a look at one host finds.
type Chosen struct {
	URLs    []Choice // the best, best first
	More    bool     // the host has more that is due
	NextDue int64    // earliest fetch time of what is not due yet, in ms; 0: none
}

// Supply is where URLs come from: crawldb, or a fetchlist.
type Supply struct {
	// Choose returns up to limit due URLs of a host that are not taken. What it chooses comes from rd.
	Choose func(rd storage.Reader, host urlkey.HostKey, limit int, taken func(key []byte) bool) (Chosen, error)
	// Hosts names up to limit hosts that may have due URLs, in key order, from a key on.
	Hosts func(ctx context.Context, from urlkey.HostKey, limit int) ([]urlkey.HostKey, error)
}

// cost converts what admission counts to what the frontier counts.
func cost(c admission.Cost) frontier.Cost {
	return frontier.Cost{URLs: c.URLs, Bytes: c.Bytes, Time: c.Time}
}
