// SPDX-License-Identifier: Apache-2.0

package phases

import (
	"errors"
	"fmt"
	"math"
	"sync/atomic"
	"time"

	"github.com/seine-crawler/seine/engine/internal/admission"
	"github.com/seine-crawler/seine/engine/policy"
	"github.com/seine-crawler/seine/storage"
	"github.com/seine-crawler/seine/storage/urlkey"
)

// Errors that callers decide by; compare with errors.Is.
var (
	// ErrNothingDue is returned by Generate when no URL is due.
	ErrNothingDue = errors.New("nothing is due")
	// ErrNoSegment: there is no segment of that number.
	ErrNoSegment = errors.New("there is no such segment")
	// ErrWrongState: the segment is not in a state that the phase takes.
	ErrWrongState = errors.New("the segment is in another state")
)

// Env is what the phases need. All fields but Sitemaps, Busy, GiveWay and Warn are required.
type Env struct {
	Store     *storage.Store
	Admission *admission.Admission
	// Sorter returns a new sorter; at most four are in use at once. combine is as in storage.SorterOptions.
	Sorter func(combine func(dst, a, b []byte) []byte) *storage.Sorter
	// SorterOf returns one with a memory in bytes, where several goroutines share that of some sorters. It may be
	// called from any goroutine.
	SorterOf func(bytes int64, combine func(dst, a, b []byte) []byte) *storage.Sorter
	// TableBytes is the memory of one KeyTable with what is kept beside it.
	TableBytes int64
	// Processors is the number of goroutines that share what processors, and the files that they may have open, alone
	// bound; up to 1: one.
	Processors int
	// Busy measures the goroutine that calls it, which a phase has started, until stop is called there; nil: nobody
	// measures.
	Busy func(of Step) (stop func())
	// GiveWay returns when something that people wait for has had the processors, or soon. Loops call it again and
	// again with the time that they worked, on any goroutine, as those over sorters do; nil: they give way to nothing.
	GiveWay func(worked time.Duration)
	Now     func() time.Time
	// Normalizers are applied to seeds.
	Normalizers policy.URLNormalizers
	Scorer      policy.Scorer
	Schedule    policy.FetchSchedule
	// TypeRules change the schedule by media type. Hints makes UpdateDB take what sitemaps and feeds say of their links
	// into account.
	TypeRules policy.TypeRules
	Hints     bool
	// Interval is the time between two fetches of a new URL; whole seconds count. SeedScore is the score of a seed
	// line that has none, before Scorer.Inject, and that of sitemaps.
	Interval  time.Duration
	SeedScore float64
	// Links says which links count. NoAdditions makes UpdateDB and Readmit make no records of URLs that crawldb does
	// not have.
	Links       policy.LinkRule
	NoAdditions bool
	// ChooseRedirectURL makes UpdateDB note by which URL a page behind a redirect is shown.
	ChooseRedirectURL bool
	// NoFollowLinks makes InvertLinks keep links that must not be followed. MaxInlinks is the number of inlinks of
	// one target whose texts it keeps of a segment, AnchorLength that of the characters of an anchor.
	NoFollowLinks bool
	MaxInlinks    int
	AnchorLength  int
	// MaxInterval is the longest time between two fetches of a URL; whole seconds count.
	MaxInterval time.Duration
	// Sitemaps returns the sitemaps that were found and in no update yet, or those of a segment's hosts; nil: there are
	// none. UpdateDB calls it, and calls done once crawldb has them.
	Sitemaps func(segment uint32) (keys []urlkey.Key, done func())
	// Deletes begins to remove documents from the search index, within an ingestion. Dedup calls it, and
	// one of Finish and Abort before the ingestion ends.
	Deletes func(ing *storage.Ingestion) Deletes
	// Warn reports what stops nothing; nil drops it.
	Warn func(error)
}

// Deletes removes documents from the search index. One goroutine.
type Deletes interface {
	// Delete removes a document; one that is not in the index is no error. Keys come in order.
	Delete(key urlkey.Key) error
	// Finish writes the removals into the ingestion and returns their number.
	Finish() (deleted uint64, err error)
	// Abort drops the removals. After Finish it does nothing.
	Abort()
}

// Phases runs the phases over one store. Which of them may run at the same time says the package's documentation.
type Phases struct {
	env         Env
	maxInterval uint32 // seconds
	interval    uint32 // seconds, of a new URL
	collectors  spare  // *collector
	inversions  spare  // *inversion
	places      places

	nearScanKeys int          // as in limits.go, but in tests
	captureSteps uint64       // likewise
	rowBytes     int          // likewise
	share        share        // likewise
	nearStored   atomic.Int64 // about how many fingerprints a table has, or more than which; 0: not known
}

// New returns the phases over a store. Admission.Load must have been called.
func New(env Env) *Phases {
	if env.Warn == nil {
		env.Warn = func(error) {}
	}
	seconds := func(d time.Duration) uint32 { return uint32(min(d/time.Second, math.MaxUint32)) }
	return &Phases{
		env: env, maxInterval: seconds(env.MaxInterval), interval: seconds(env.Interval), nearScanKeys: nearScanKeys,
		captureSteps: captureSteps, rowBytes: rowBytesMax, share: share{sharePages, shareBytes, env.Store.PartsOf},
	}
}

// seedScore is the score of a seed that is given none, and of a sitemap.
func (p *Phases) seedScore() float64 { return finite(p.env.Scorer.Inject(p.env.SeedScore)) }

func (p *Phases) now() int64 { return p.env.Now().UnixMilli() }

// SegmentIn returns a segment that must be in one of the states. phase begins the message of an error, which
// is ErrNoSegment or ErrWrongState by errors.Is, or one of the store.
func SegmentIn(
	store *storage.Store, number uint32, phase string, states ...storage.SegmentState,
) (storage.Segment, error) {
	seg, ok, err := store.Segment(number)
	if err != nil {
		return seg, fmt.Errorf("%s: reading segment %d: %w", phase, number, err)
	}
	if !ok {
		return seg, &segmentError{fmt.Sprintf("%s: there is no segment %d", phase, number), ErrNoSegment}
	}
	for _, state := range states {
		if seg.State == state {
			return seg, nil
		}
	}
	return seg, &segmentError{
		fmt.Sprintf("%s: segment %d is %s, want %s", phase, number, seg.State, states[0]), ErrWrongState,
	}
}

// segmentError has a text of its own and is a sentinel by errors.Is.
type segmentError struct {
	text string
	kind error
}

// Error returns the text.
func (e *segmentError) Error() string { return e.text }

// Unwrap returns the sentinel.
func (e *segmentError) Unwrap() error { return e.kind }

// WithText returns an error with a text of its own that is kind by errors.Is.
func WithText(kind error, format string, args ...any) error {
	return &segmentError{fmt.Sprintf(format, args...), kind}
}

// scoreMax is the greatest score of a record: above it there is no better class (storage.ScoreClass), and the scores of
// all records still have a sum.
const scoreMax = 0x1p127

// finite makes what a Scorer returned a finite number, as its law wants it: a NaN would stay in its record, and go from
// there to all that its page links to, and JSON has no form for it.
func finite(score float64) float64 {
	if math.IsNaN(score) {
		return 0
	}
	return max(-scoreMax, min(score, scoreMax))
}
