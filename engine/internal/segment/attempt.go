// SPDX-License-Identifier: Apache-2.0

package segment

import (
	"errors"
	"sync/atomic"
	"time"

	"github.com/seine-crawler/seine/engine/fetch"
	"github.com/seine-crawler/seine/engine/internal/admission"
	"github.com/seine-crawler/seine/engine/parse"
	"github.com/seine-crawler/seine/storage"
	"github.com/seine-crawler/seine/storage/urlkey"
	"github.com/seine-crawler/seine/storage/warc"
)

// Attempt is the end of one fetch: a response, or the reason why there is none. Store sets its unexported fields.
type Attempt struct {
	URL      urlkey.URL
	At       time.Time       // when it began
	Took     time.Duration   // until its end; stored in milliseconds
	Response *fetch.Response // nil if there is none
	Failure  fetch.Failure   // "" if there is a response
	Received int64           // bytes that came without making a response, see fetch.Response.Received
	// Instead is the URL to fetch in place of this one, which failed: the attempt counts as a temporary redirect. Zero:
	// there is none.
	Instead urlkey.URL
	// Preferences are what robots.txt said about uses of the page, as "name: value" lines. " | " counts as a line end.
	Preferences string
	// Validators is the number of the segment with the content whose validators the request had; 0: it had none.
	Validators uint32

	// Parses, if not nil, is set when the attempt is in the WARC and its page is about to be parsed.
	Parses *atomic.Bool

	dropped  int  // bytes of the body that the WARC does not have
	revisit  bool // the response confirms earlier content, and is stored as a revisit record
	location warc.Location
	digest   [20]byte // SHA-1 of the payload; of a revisit that of the content that it confirms, if the store has it
}

// received returns the bytes that the fetch received.
func (a *Attempt) received() int64 {
	if a.Response != nil {
		return a.Response.Received
	}
	return a.Received
}

// Add adds bytes that the attempt is to be charged for, such as those of the robots.txt that it needed, and returns the
// sum.
func (a *Attempt) Add(bytes int64) (received int64) {
	if a.Response != nil {
		a.Response.Received += bytes
	} else {
		a.Received += bytes
	}
	return a.received()
}

// Scratch is the memory in which one goroutine parses pages one after another. The zero value is ready.
type Scratch struct {
	page    parse.Page
	outcome storage.FetchOutcome
	text    storage.ParseText
	cdx     storage.CDX
	key     []byte
	links   []byte
	body    []byte
	tags    []string
	linked  []string // Link fields
	fields  []warc.Field
	keys    []byte // of the page's links, end to end
	ends    []int  // of each of them
	memo    urlkey.KeyMemo
}

// Page returns the parsed page of the last Store. It is valid until the next one, and filled in only if the outcome
// says that the page was parsed.
func (s *Scratch) Page() *parse.Page { return &s.page }

// Outcome returns the outcome of the last Store, with its links. It is valid until the next one.
func (s *Scratch) Outcome() *storage.FetchOutcome { return &s.outcome }

// Failures that this package decides rather than engine/fetch.
const (
	FailureRobots     = admission.ReasonRobots
	FailureCrawlDelay = "crawl_delay"  // robots.txt demands a longer one than is accepted
	failureLocation   = "bad_location" // a redirect without a usable target
	failureDecode     = "decode_error"
	failureParse      = "parse_failed"

	// Why content is truncated, if not the response was: decoded, it is too long, or its coding is damaged.
	truncatedLength = "length"
	truncatedDecode = "decode"
)

// ErrNoContent is wrapped by the error of Seal for a segment whose pages were stored without content.
var ErrNoContent = errors.New("its pages were stored without content and cannot be parsed again")

// truncatedByUs is the WARC-Truncated of a complete response whose body was left out.
const truncatedByUs = "unspecified"

// Fields of WARC records: of the metadata record of an attempt without a response, and of response records.
const (
	fieldFailure = "seine-failure"
	fieldInstead = "seine-instead"       // Attempt.Instead
	fieldRole    = "WARC-Seine-Role"     // on responses that are not pages
	fieldTook    = "WARC-Seine-Fetch-Ms" // on pages
	fieldDropped = "WARC-Seine-Dropped"  // on pages without their body: its bytes
	fieldTookMS  = "fetchTimeMs"         // on failures, as other crawlers name it
	fieldWire    = "WARC-Seine-Received" // bytes, on pages
	fieldWireLen = "bytesReceived"       // on failures
	roleRobots   = "robots"
)
