// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"context"
	"time"

	"github.com/seine-crawler/seine/storage"
)

// IndexWriter brings documents into another search engine or a file. Package engine/writers has those for OpenSearch,
// Solr and JSON Lines. (Nutch: IndexWriter.)
//
// The engine compares its index with what each writer has acknowledged, and hands over the difference: documents that
// are new or changed, and deletions of those that are gone, whatever the reason. It notes a batch as sent once Write
// has returned. After a crash it hands over that batch again, with a higher version and perhaps newer documents.
//
// Law: a change with a lower version never replaces one of the same ID with a higher version, as far as the other
// engine can promise this. Writing a change twice has the same result as writing it once. When Write returns nil as its
// error, each change is durable or among the refusals. One goroutine at a time calls the methods. Write must not
// keep changes.
type IndexWriter interface {
	// Name identifies where documents go: the engine keeps what was sent under it. It has no secrets and does not
	// change, at most 1,024 bytes.
	Name() string
	// Write makes changes, at most IndexChangesMax, each ID once. Changes that will never succeed are returned as
	// refusals: they are reported and not sent again until they change. What may succeed later is tried again here,
	// for as long as the writer thinks fit and ctx lets it; the error says that it did not succeed until then. ctx ends
	// with the call that sends. At the end of a crawl it also ends after ten minutes, and when the engine is closed.
	Write(ctx context.Context, changes []IndexChange) (refused []IndexRefusal, err error)
	// Commit makes what was written visible to searches. The engine calls it after the last of several writes. ctx ends
	// as that of Write.
	Commit(ctx context.Context) error
}

// IndexChangesMax is the number of changes of one IndexWriter.Write.
const IndexChangesMax = 500

// IndexChange is a new version of a document, or its deletion.
type IndexChange struct {
	// ID is the URL of the page, which identifies the document. Unlike IndexDocument.URL it never changes.
	ID string
	// Version is higher than those of all earlier writes to the same writer: it is the time of the write in Unix
	// milliseconds, or one more than the version before. It is not the time of the fetch, because a document changes,
	// goes and comes back without a fetch: new links bring new anchors, and a duplicate stays when the other page is
	// gone.
	Version  int64
	Document *IndexDocument // nil: delete it
}

// IndexDocument is a document as it is in the index, after the index filters.
type IndexDocument struct {
	URL       string // by which people are shown the page
	Host      string // with its port, if that is not the scheme's
	Title     string
	Text      string   // of the whole page
	Content   string   // the main content; parts of Text
	Anchors   []string // texts of links to the page
	Language  string   // BCP 47, "": unknown
	Type      string   // media type, "": unknown
	Date      time.Time
	FetchTime time.Time // of the fetch that brought the text, as index.Hit.Fetched
	Segment   uint32    // of the last fetch that got the text
	Digest    string    // the page's signature in hexadecimal, "": it has none
	Boost     float64   // 1: none
	Stored    []storage.Field
}

// IndexRefusal is a change that will never succeed as it is.
type IndexRefusal struct {
	Change int    // its place in the changes of the write
	Reason string // for people
}
