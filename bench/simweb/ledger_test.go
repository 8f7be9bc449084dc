// SPDX-License-Identifier: Apache-2.0

package simweb

import "testing"

// TestManyURLs: beyond the URLs that are counted one by one, a robots.txt that is requested each day is no page that
// was requested twice, and a page still is.
func TestManyURLs(t *testing.T) {
	c := newURLCounts()
	key := make([]byte, 4)
	for i := range exactURLs {
		key[0], key[1], key[2], key[3] = byte(i), byte(i>>8), byte(i>>16), byte(i>>24)
		c.add(key)
	}
	var before, after Report
	c.sum(&before)
	for range 2 {
		c.add([]byte("http://late.example/robots.txt"))
		c.add([]byte("http://late.example/"))
	}
	c.sum(&after)
	if before.URLs != exactURLs || !before.Exact || before.Twice != 0 {
		t.Errorf("%+v", before)
	}
	if after.URLs != exactURLs+1 || after.Exact || after.Twice != 1 {
		t.Errorf("%d URLs, want %d; %d requested twice, want 1", after.URLs, exactURLs+1, after.Twice)
	}
}
