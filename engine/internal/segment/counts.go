// SPDX-License-Identifier: Apache-2.0

package segment

import (
	"fmt"
	"maps"

	"github.com/seine-crawler/seine/storage"
)

// Counts counts the outcomes of fetches. Every attempt is in exactly one of Fetched, NotModified, Redirected,
// RobotsDenied and Failed. Gone is the part of Failed that will not be requested again, such as 404. Bytes are those
// received, heads, framing and TLS included. The zero value is empty; a Counts belongs to one goroutine at a time.
type Counts struct {
	Fetched      uint64
	Failed       uint64
	Gone         uint64
	NotModified  uint64
	Redirected   uint64
	RobotsDenied uint64
	CrawlDelay   uint64 // of RobotsDenied, because of a Crawl-delay that is longer than is accepted
	Bytes        uint64
	Replayed     uint64            // requests that were sent again, which make no outcome of their own
	Failures     map[string]uint64 // by kind: the failure's name, or "http_" and the status
}

// Attempts is the number of outcomes.
func (c *Counts) Attempts() uint64 {
	return c.Fetched + c.Failed + c.NotModified + c.Redirected + c.RobotsDenied
}

// Add counts one outcome.
func (c *Counts) Add(o *storage.FetchOutcome) {
	c.Bytes += uint64(o.Bytes)
	switch {
	case o.Failure == FailureRobots || o.Failure == FailureCrawlDelay:
		c.RobotsDenied++
		if o.Failure == FailureCrawlDelay {
			c.CrawlDelay++
		}
		return
	case o.Status == storage.FetchSuccess:
		c.Fetched++
		return
	case o.Status == storage.FetchNotModified:
		c.NotModified++
		return
	case o.Status == storage.FetchRedirTemp || o.Status == storage.FetchRedirPerm:
		c.Redirected++
		return
	case o.Status == storage.FetchGone:
		c.Gone++
	}
	c.Failed++
	if c.Failures == nil {
		c.Failures = map[string]uint64{}
	}
	name := o.Failure
	if name == "" {
		name = fmt.Sprintf("http_%d", o.HTTPStatus)
	}
	c.Failures[name]++
}

// IsFailed reports whether an outcome counts as failed.
func IsFailed(o *storage.FetchOutcome) bool {
	switch o.Status {
	case storage.FetchSuccess, storage.FetchNotModified, storage.FetchRedirTemp, storage.FetchRedirPerm:
		return false
	}
	return o.Failure != FailureRobots && o.Failure != FailureCrawlDelay
}

// Plus returns the sum of two counts. The result shares no memory with either.
func (c Counts) Plus(d Counts) Counts {
	sum := Counts{c.Fetched + d.Fetched, c.Failed + d.Failed, c.Gone + d.Gone, c.NotModified + d.NotModified,
		c.Redirected + d.Redirected, c.RobotsDenied + d.RobotsDenied, c.CrawlDelay + d.CrawlDelay,
		c.Bytes + d.Bytes, c.Replayed + d.Replayed, maps.Clone(c.Failures)}
	for name, n := range d.Failures {
		if sum.Failures == nil {
			sum.Failures = map[string]uint64{}
		}
		sum.Failures[name] += n
	}
	return sum
}
