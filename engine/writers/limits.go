// SPDX-License-Identifier: Apache-2.0

package writers

import "time"

// Bounds of a writer, each with what happens beyond it.
const (
	// requestBytes is where a request is cut, uncompressed; a single document may be longer. OpenSearch takes up to
	// 100 MB, and advises 5 to 15.
	requestBytes = 8 << 20
	// answerBytes bounds an answer: a longer one counts as none. An answer to 500 changes has some 60 KB, errors with
	// their causes some hundreds.
	answerBytes = 16 << 20
	// exchangeTime bounds one request with its answer.
	exchangeTime = 60 * time.Second
	// patience is how long what fails for now is tried again without progress; then Write fails. A pause that a server
	// requests by Retry-After counts too.
	patience = 2 * time.Minute
	// firstPause is the longest pause before the second try; each later one is twice as long, up to longestPause. The
	// pause is drawn between half of it and all of it, so that several clients do not return at once.
	firstPause   = 500 * time.Millisecond
	longestPause = 20 * time.Second
	// reasonBytes is where the reason of a refusal is cut.
	reasonBytes = 500
	// idBytes is the longest id in bytes that OpenSearch takes. Longer URLs are replaced by a hash, in every engine.
	idBytes = 512
)
