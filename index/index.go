// SPDX-License-Identifier: Apache-2.0

package index

import (
	"encoding/binary"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/seine-crawler/seine/index/analysis"
	"github.com/seine-crawler/seine/storage"
)

// AnalyzerVersion names the terms of the index; the engine stores it with the data.
const AnalyzerVersion = analysis.Version

// ErrClosed is the error of every method that is called after Close. Compare with errors.Is.
var ErrClosed = errors.New("index is closed")

// The ranges of the index. Kinds are on disk: never change one.
const (
	kindSegments = 'g' // index segment → segmentInfo
	kindLocated  = 'l' // URL key → Location
	kindDeletes  = 'x' // index segment → roaring bitmap

	kindTerms     = 't' // in an index segment: term → row (listwriter.go)
	kindPostings  = 'p' // list, chunk → blocks of a long list (block.go)
	kindPositions = 'q' // list, chunk → positions of a long list (positions.go)
	kindDocs      = 'd' // block of documents → URL keys, stamps (dockeys.go)
	kindNorms     = 'n' // block of documents → field lengths (norm.go)
	kindForms     = 'm' // language, stem, 0 → words with that stem (forms.go)
	kindColumns   = 'v' // block of documents, column → values (columns.go)
	kindStored    = 's' // document → what its hits show (stored.go); only of documents that have some, and long ones
	kindBoosts    = 'b' // block of documents → factors of scores (boost.go); only of blocks that have some
	kindFilter    = 'f' // nothing → the segment's keyFilter; only of small ones (keyfilter.go)
)

// segmentKinds are those in an index segment.
var segmentKinds = []byte{
	kindTerms, kindPostings, kindPositions, kindDocs, kindNorms, kindForms, kindColumns, kindStored, kindBoosts,
	kindFilter,
}

// format is the format of index segments that this version writes, and the only one that it reads. Before segments
// stated it, it was 1.
const format = 4

// ErrFormat is the error of Open on an index whose segments have another format: it must be made again from the pages.
// Compare with errors.Is.
var ErrFormat = errors.New("index has another format")

// Located returns the range that says where each URL is indexed, for merge-joins; DecodeLocated decodes its values. It
// is current as soon as an ingestion commits, before Refresh.
func Located() storage.Range { return storage.IndexRange(kindLocated) }

// Location says where a URL is indexed.
type Location struct {
	Segment uint32 // index segment
	Doc     uint32 // its number there
	Stamp   uint64 // Document.Stamp as it was indexed
}

// DecodeLocated decodes a value of Located. Bytes that are no such value are a storage.ErrCorrupt.
func DecodeLocated(b []byte) (l Location, err error) {
	if len(b) != 16 {
		return l, fmt.Errorf("%w: index directory entry of %d bytes", storage.ErrCorrupt, len(b))
	}
	return Location{binary.BigEndian.Uint32(b), binary.BigEndian.Uint32(b[4:]), binary.BigEndian.Uint64(b[8:])}, nil
}

func appendLocated(dst []byte, l Location) []byte {
	dst = binary.BigEndian.AppendUint32(dst, l.Segment)
	dst = binary.BigEndian.AppendUint32(dst, l.Doc)
	return binary.BigEndian.AppendUint64(dst, l.Stamp)
}

// segmentInfo is what is known of an index segment without reading it.
type segmentInfo struct {
	Format    int                 `json:"format"`
	Docs      uint32              `json:"docs"`
	Terms     uint64              `json:"terms"`
	Totals    [fieldCount]uint64  `json:"totals"`                // words per field, as coded lengths say
	Averages  [fieldCount]float64 `json:"averages"`              // lengths that impacts refer to
	Weights   uint64              `json:"weights"`               // weightsHash of the impacts
	Stored    uint32              `json:"stored,omitempty"`      // documents with stored values
	StepsOnly uint32              `json:"steps_only,omitempty"`  // of these, documents with no others than wordSteps
	Boosts    uint32              `json:"boosts,omitempty"`      // documents with a boost
	Languages map[string]uint32   `json:"languages,omitempty"`   // documents by language
	Fields    []string            `json:"field_names,omitempty"` // names of stored fields, sorted
	// From are the index segments that were merged into this one, while Located may still name them.
	From []uint32 `json:"from,omitempty"`
}

// Options of an Index.
type Options struct {
	// MemoryBytes is what a Builder may take; 0 means 128 MiB. Beside it, the words that completions need may take a
	// fourth of it, and what searches read by key an eighth.
	MemoryBytes int64
	// MergeBytes is what a merge may take beside buffers of some MiB; 0 means 16 MiB. It bounds the documents of index
	// segments that merges make, at one a byte: larger indexes have several of that size.
	MergeBytes int64
	// HeldBytes is what words, filters, and values that facets count, may take that searches hold in memory because
	// they are used again and again; 0 means 64 MiB, less than 0 that none are held. See Hold.
	HeldBytes int64
	// Builders is the number of goroutines that a Builder inverts on, at most, and of its Parts; up to 1: that of its
	// caller.
	Builders int
	// Processors is the number of goroutines that searches keep busy side by side; 0 means GOMAXPROCS.
	Processors int
	FS         storage.FS // the store's; nil means the disk
}

// SearchBytes returns how many bytes searches of an index keep at most between them, beside what Options.MemoryBytes
// bounds: the rows and keys that they read, the words that completions need, the forms of queries' words.
func SearchBytes(memoryBytes int64) int64 {
	return memoryBytes/recentShare + memoryBytes/lexiconShare + 2*formsBytes
}

// Index is the index of one store. All methods are safe for concurrent use, but there must be at most one Builder at a
// time; see Writing.
type Index struct {
	s *storage.Store
	o Options

	alone     int64         // bytes of text that a Builder's first goroutine gets alone; tests lower it
	completes time.Duration // after which a completion ends; tests raise it

	writers   sync.Mutex    // see Writing
	merging   sync.Mutex    // held by merges: they take turns. Taken before writers
	reserved  atomic.Uint32 // the last number of an index segment that a Builder or merge has
	searching atomic.Int64  // searches that run
	answering atomic.Int64  // see Answering
	gaveWay   atomic.Int64  // steps of waits for them, see Pace
	clock     clock         // of these waits
	yielding  atomic.Bool   // see Yield

	refreshing sync.Mutex              // held by Refresh and Close while they work: they take turns
	loading    func() error            // tests: called by Refresh at each index segment
	onMerge    func(step string) error // tests: see merged
	behind     atomic.Bool             // a merge committed what no Refresh has shown yet

	mu    sync.Mutex // guards state; held for a few instructions, never during I/O
	state *state     // nil after Close
	held  sync.WaitGroup

	holder     holder
	heldBytes  atomic.Int64  // see Hold
	generation atomic.Uint64 // states that there were; see Generation
}

// Open opens the index of a store. Close it before the store. Errors: ErrFormat, storage.ErrCorrupt, and those of the
// store.
func Open(s *storage.Store, o Options) (*Index, error) {
	if o.MemoryBytes == 0 {
		o.MemoryBytes = defaultMem
	}
	if o.MergeBytes == 0 {
		o.MergeBytes = defaultMergeBytes
	}
	if o.HeldBytes == 0 {
		o.HeldBytes = defaultHeldBytes
	}
	if o.Processors <= 0 {
		o.Processors = runtime.GOMAXPROCS(0)
	}
	x := &Index{s: s, o: o, alone: aloneBytes, completes: vocabularyDeadline, clock: clock{time.Now, time.Sleep}}
	x.heldBytes.Store(max(o.HeldBytes, 0))
	st, err := x.load(nil)
	if err != nil {
		return nil, err
	}
	if n := len(st.segments); n > 0 {
		x.reserved.Store(st.segments[n-1].number)
	}
	x.swap(st)
	return x, nil
}

// Hold sets what Options.HeldBytes says, 0 for none, from now on. Words that have no room any more are dropped at once;
// searches that use them keep them to their end, as do those on a state that a Refresh has replaced. Any goroutine may
// call it.
func (x *Index) Hold(bytes int64) {
	x.heldBytes.Store(max(bytes, 0))
	st, err := x.acquire()
	if err != nil { // closed
		return
	}
	for _, seg := range st.segments {
		seg.held.trim()
	}
	_ = x.release(st) // it fails if a Close has come meanwhile, which returns it
}

// Writing is the lock under which the index is written. Who runs merges beside Builders holds it from NewBuilder to the
// Refresh after the ingestion's Commit; merges take it themselves for short steps, of some 100 ms. No merge may be
// called while it is held.
func (x *Index) Writing() *sync.Mutex { return &x.writers }

// reserve returns the first of n numbers for index segments, above all that there are.
func (x *Index) reserve(n uint32) uint32 { return x.reserved.Add(n) - n + 1 }

// Clear removes the index of a store, of whatever format, so that all pages can be indexed again. The index must not be
// open.
func Clear(s *storage.Store) error {
	ing := s.NewIngestion()
	defer ing.Abort()
	sc := s.Scan(storage.IndexRange(kindSegments), nil, nil)
	defer sc.Close()
	for sc.Next() {
		if len(sc.Key()) != 4 {
			continue // no name of an index segment
		}
		if err := ing.DeleteRange(storage.IndexSegmentAll(binary.BigEndian.Uint32(sc.Key()))); err != nil {
			return err
		}
	}
	if err := sc.Close(); err != nil {
		return err
	}
	for _, kind := range []byte{kindSegments, kindLocated, kindDeletes} {
		if err := ing.DeleteRange(storage.IndexRange(kind)); err != nil {
			return err
		}
	}
	return ing.Commit()
}

// Close ends the index; the store stays open. It waits for the Refresh, searches, digests and merges that are running;
// what is called later returns ErrClosed. Closing twice is harmless.
func (x *Index) Close() error {
	err := x.end()
	x.held.Wait() // without the lock of refreshes: a merge that runs comes to its own, which finds the index closed
	return err
}

// end takes the state from the index, once a Refresh that runs has ended: nobody acquires one any more.
func (x *Index) end() error {
	x.refreshing.Lock()
	defer x.refreshing.Unlock()
	if old := x.swap(nil); old != nil {
		return x.release(old)
	}
	return nil
}

// Generation is another number whenever searches find something else: after a Refresh, and so after whatever was added,
// changed or deleted and refreshed. A search that begins after a call sees that generation or a later one.
func (x *Index) Generation() uint64 { return x.generation.Load() }

// Refresh makes searchable what was committed before the call. Searches go on meanwhile: those that began before it
// returned may still see the index as it was. On error the index stays as it was.
func (x *Index) Refresh() error {
	x.refreshing.Lock()
	defer x.refreshing.Unlock()
	old, err := x.acquire()
	if err != nil {
		return err
	}
	behind := x.behind.Swap(false)
	st, err := x.load(old.segments)
	if err == nil {
		err = x.release(x.swap(st))
	} else if behind {
		x.behind.Store(true)
	}
	return errors.Join(err, x.release(old))
}

func numberKey(n uint32) []byte { return binary.BigEndian.AppendUint32(nil, n) }

// Stats are the numbers of the index.
type Stats struct {
	Segments  int    `json:"segments"`
	Documents uint64 `json:"documents"` // not deleted
	Deleted   uint64 `json:"deleted"`   // until a merge leaves them out
	Terms     uint64 `json:"terms"`     // summed over index segments
	Words     uint64 `json:"words"`     // about; with those of deleted documents
}

// Stats returns the numbers of the index as it was at the last Refresh, zeros after Close.
func (x *Index) Stats() Stats {
	var s Stats
	st, err := x.acquire()
	if err != nil {
		return s
	}
	defer x.release(st)
	for _, seg := range st.segments {
		s.Segments++
		s.Documents += uint64(seg.info.Docs)
		s.Terms += seg.info.Terms
		if seg.deleted != nil {
			s.Deleted += seg.deleted.GetCardinality()
		}
		for _, n := range seg.info.Totals {
			s.Words += n
		}
	}
	s.Documents -= s.Deleted
	return s
}
