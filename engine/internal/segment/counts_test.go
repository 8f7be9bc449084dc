// SPDX-License-Identifier: Apache-2.0

package segment_test

import (
	"testing"

	"github.com/seine-crawler/seine/engine/internal/segment"
	"github.com/seine-crawler/seine/storage"
)

// TestIsFailed: what counts as failed is the same for a host's rate as in all reports.
func TestIsFailed(t *testing.T) {
	seen := map[bool]int{}
	for status := storage.FetchStatus(0); status < 255; status++ {
		for _, failure := range []string{"", "timeout", segment.FailureRobots, segment.FailureCrawlDelay} {
			if failure != "" && status == storage.FetchSuccess {
				continue // no outcome is both
			}
			o := storage.FetchOutcome{Status: status, Failure: failure}
			var c segment.Counts
			c.Add(&o)
			denied := failure == segment.FailureRobots || failure == segment.FailureCrawlDelay
			redirected := status == storage.FetchRedirTemp || status == storage.FetchRedirPerm
			if denied && (redirected || status == storage.FetchNotModified) {
				continue
			}
			failed := segment.IsFailed(&o)
			if seen[failed]++; failed != (c.Failed == 1) {
				t.Errorf("%s, %q: failed is %t, counts are %+v", status, failure, failed, c)
			}
		}
	}
	if seen[true] == 0 || seen[false] == 0 {
		t.Error(seen)
	}
}
