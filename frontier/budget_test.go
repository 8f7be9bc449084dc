// SPDX-License-Identifier: Apache-2.0

package frontier

import (
	"sync"
	"sync/atomic"
	"testing"
)

// TestDomainLearns: hosts of a domain on several shards spend no more than its budget, whoever of them learns first
// what earlier processes have spent.
func TestDomainLearns(t *testing.T) {
	const limit, before, shards = 100, 90, 4
	for range 50_000 {
		var d domain
		var spent atomic.Int64
		var start, done sync.WaitGroup
		start.Add(1)
		for range shards {
			done.Go(func() {
				start.Wait()
				d.learn(Cost{URLs: before}, &Cost{URLs: limit})
				spent.Add(int64(d.spend(limit)))
			})
		}
		start.Done()
		done.Wait()
		if n := spent.Load(); n != limit-before {
			t.Fatalf("%d URLs were handed out, want %d", n, limit-before)
		}
	}
}
