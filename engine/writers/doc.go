// SPDX-License-Identifier: Apache-2.0

// Package writers brings documents of a crawl into other search engines: OpenSearch and Elasticsearch, Solr, and files
// of JSON Lines.
//
// # What it is
//
// Implementations of policy.IndexWriter. Parse makes one of a text such as "opensearch=https://host:9200/pages"; an
// engine takes them as Options.IndexWriters and decides what is sent (engine/send.go).
//
// # Picture
//
//	policy.IndexChange… ─▶ json.go ─▶ opensearch.go  POST INDEX/_bulk   ┐
//	                                  solr.go        POST CORE/update   ├─▶ client.go: one exchange, bounded;
//	                                  jsonl.go       lines, synced      ┘   retry.go: again, later
//
// # Life
//
// A batch is encoded, sent, and its answer read. What the answer says of each change decides: accepted; superseded,
// because the engine has a newer version; refused for good, which is returned with the reason; or refused for now,
// which is sent again after a pause. A batch that is too large for the server (413) is halved, and later batches keep
// to the size that was accepted.
//
// # Invariants
//
//   - Every change of a batch is acknowledged or refused before Write returns without an error.
//   - OpenSearch: each write has its version as external_gte, so an older one that arrives late is refused by the
//     server. After a deletion this holds for index.gc_deletes (60 s by default), as long as the server remembers it.
//   - Solr: a document replaces the one of its id, a deletion is a query that leaves documents with a higher version
//     alone. One batch is sent at a time, and the next only after the answer, so they arrive in order. What Solr by
//     itself does not refuse is a request that it had received, answered too late, and carries out after the next
//     one for the same page; a DocBasedVersionConstraintsProcessor with versionField=version refuses that too.
//   - JSON Lines: for each id the line with the highest version counts.
//   - Errors, names and logs have no password and no key. These are sent to https, or to loopback, only.
//
// # Who runs it
//
// One goroutine at a time calls a writer. No goroutine outlives a call, but for idle connections.
//
// # Bounds
//
// limits.go: bytes of a request and of an answer, time of an exchange, time of trying again.
//
// # Deliberately absent
//
// Schemas: the other engine's own mapping decides how a field is searched. Redirects are refused, for they would take
// documents and passwords elsewhere.
//
// # Read first
//
// opensearch.go, then retry.go.
package writers
