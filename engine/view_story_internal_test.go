// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"strings"
	"testing"

	"github.com/seine-crawler/seine/engine/internal/inspect"
	"github.com/seine-crawler/seine/storage"
)

// TestNotIndexedFeed: of a feed, which no one forbids to index, a story does not say that it forbids it.
func TestNotIndexedFeed(t *testing.T) {
	const page, data = "the page forbids it", "only the links of feeds and sitemaps are read"
	for mediaType, want := range map[string]string{
		"text/html": page, "application/xhtml+xml": page, "application/pdf": page, "": page,
		"application/rss+xml": data, "text/xml": data, "application/feed+json": data,
	} {
		v := &URLStory{
			Record: &RecordView{Status: storage.StatusFetched, MediaType: mediaType}, Check: URLCheck{Accepted: true},
		}
		if got := notIndexed(v, &inspect.URLStory{Flags: storage.FlagNoIndex}); !strings.HasPrefix(got, want) {
			t.Errorf("%s: %q, want %q", mediaType, got, want)
		}
	}
}
