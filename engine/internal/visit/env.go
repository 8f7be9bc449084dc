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

// ErrDiskLow is wrapped by the error of a run that ended because its disk is nearly full. Everything fetched is kept.
// With more space, the next run goes on.
var ErrDiskLow = errors.New("disk is nearly full")

// Disk is the space of the file system of a directory, in bytes. Total 0 means that it is not known.
type Disk struct {
	Dir         string
	Free, Total uint64
	Pending     uint64 // that what was fetched takes until it is searchable, about
	Storing     bool   // what is pending becomes less while fetchers wait
}

// Env is what the package needs. Every field is required, except where it says otherwise. Functions may be called from
// any goroutine, except where it says otherwise.
type Env struct {
	Store     *storage.Store
	Admission *admission.Admission
	// Client makes exchanges. Resolver finds the addresses of hosts before their visits, so that hosts with the same
	// address take turns; nil: the client resolves, and the frontier learns addresses from responses.
	Client   fetch.Protocol
	Resolver fetch.Resolver
	// Slots is the number of responses that are decoded, parsed and packed at the same time, by all runs; 0 means
	// two.
	Slots int
	// Refills is the number of refills of one run that read the store at the same time, however many wait for
	// addresses; 0 means two.
	Refills int
	// GiveWay returns when something that people wait for has had the processors, or soon. It is called after each
	// response is stored, with the time that this took, while the response's slot is still taken, and likewise after
	// each refill. nil: nothing does.
	GiveWay func(worked time.Duration)
	// FactsBytes bounds the facts of hosts in memory, in bytes: mostly robots.txt files and their rules. Beyond it,
	// those used least recently are written to hostdb and forgotten. 0 means 64 MiB.
	FactsBytes int64
	// Agent is the product token that selects the group of robots.txt. AgentOf is that of a host with settings of its
	// own; nil: there are none.
	Agent   string
	AgentOf func(urlkey.HostKey) string
	Now     func() time.Time
	// Delay returns the crawl's current delay between two requests to a host; negative: none.
	Delay func() time.Duration
	// MaxCrawlDelay is the longest Crawl-delay of a host that is visited; 0: any.
	MaxCrawlDelay time.Duration
	// DiskFree returns the space of the file system that the crawl fills; of several, that which is full first.
	DiskFree func() (Disk, error)
	// Links normalizes the sitemaps that robots.txt files name; nil: sitemaps are ignored.
	Links policy.URLNormalizers
	// Busy, if not nil, is called when a refill begins. What it returns is called when the refill ends, on the same
	// goroutine.
	Busy func() (stop func())
	// Warn reports what stops nothing. Stored, if not nil, is called with each outcome once it is durable, on one
	// goroutine at a time. Outcomes of one segment come in the order in which they were stored.
	Warn   func(error)
	Stored func(u urlkey.URL, o *storage.FetchOutcome)
	// Page, if not nil, is called with each stored attempt and its parsed page, on the fetcher's goroutine, before the
	// attempt is durable. The arguments are valid during the call.
	Page func(a *segment.Attempt, s *segment.Scratch)
}

// Choice is a URL that a Supply offers.
type Choice struct {
	Key   urlkey.Key
	Score float64
	Depth uint16
	Known bool // crawldb may hold validators of an earlier fetch
	// Counted: it was requested before, so it takes nothing of a budget of pages.
	Counted bool
}

// Chosen is what a Supply has of one host.
type Chosen struct {
	URLs    []Choice // the best, best first
	More    bool     // the host has more that is due
	NextDue int64    // Unix ms: earliest fetch time of what is not due yet; 0: none
	Spent   bool     // Wanted.Again left something out that is due
}

// Wanted is what a refill wants of a host.
type Wanted struct {
	Host  urlkey.HostKey
	Limit int                   // URLs
	Taken func(key []byte) bool // those that are not wanted
	Mark  uint64                // what Supply.Mark returned before the snapshot was made
	// Pages: a budget counts the pages of the host or of its domain, so Choice.Counted must be told.
	Pages bool
	// Again: of Pages nothing is left, so only URLs are wanted that were requested before.
	Again bool
}

// Supply is where URLs come from: crawldb, or a fetchlist. Any goroutine may call its functions, Choose for one host at
// most once at a time.
type Supply struct {
	// Choose returns due URLs of a host. It reads only rd, a snapshot.
	Choose func(rd storage.Reader, w *Wanted) (Chosen, error)
	// Mark, if not nil, is called before each snapshot. Reoffer, if not nil, is called when taken has become false for
	// some URLs of a host; "": for those of any whose outcomes are committed.
	Mark    func() uint64
	Reoffer func(host urlkey.HostKey)
	// Hosts returns up to limit hosts that may have due URLs, in key order, from a key on.
	Hosts func(ctx context.Context, from urlkey.HostKey, limit int) ([]urlkey.HostKey, error)
}

// cost converts what admission counts to what the frontier counts.
func cost(c admission.Cost) frontier.Cost {
	return frontier.Cost{URLs: c.URLs, Bytes: c.Bytes, Time: c.Time}
}
