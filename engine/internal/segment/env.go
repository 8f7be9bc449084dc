// SPDX-License-Identifier: Apache-2.0

package segment

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/seine-crawler/seine/engine/parse"
	"github.com/seine-crawler/seine/engine/policy"
	"github.com/seine-crawler/seine/storage"
	"github.com/seine-crawler/seine/storage/urlkey"
	"github.com/seine-crawler/seine/storage/warc"
)

// Env is what the package needs. Every field is required, except where it says otherwise.
type Env struct {
	Store *storage.Store
	// FS holds the WARC files in the directory Dir, which exists. Info are the fields of their warcinfo records; nil:
	// none.
	FS   warc.FS
	Dir  string
	Info []warc.Field
	// FileBytes and FileAge are the size, in bytes, and the age beyond which the next page begins the next WARC file.
	// 0: warc.DefaultMaxFileBytes, and any age.
	FileBytes int64
	FileAge   time.Duration
	// Sorter returns a sorter with its share of memory. It may be called from any goroutine.
	Sorter func(combine func(dst, a, b []byte) []byte) *storage.Sorter
	Now    func() time.Time
	// Processors is the number of goroutines that parse what is read back; up to 1: one.
	Processors int
	// Parsers parse pages, with the robots directives for Agent; nil: the default parsers. Links and Redirects
	// normalize links and the targets of redirects and refreshes; empty: as they are.
	Parsers *parse.Parsers
	Agent   string
	// AgentOf is the agent of a host with settings of its own; nil: there are none.
	AgentOf          func(urlkey.HostKey) string
	Links, Redirects policy.URLNormalizers
	// ParseLater makes fetches leave pages unparsed until their segment is sealed, which reads its WARC back. NoContent
	// leaves bodies out of the WARC: what was stored in a segment that was not sealed cannot be read back then. Not
	// both may be set.
	ParseLater, NoContent bool
	// Spent reports processor time by step, on the goroutine that spent it; nil drops it.
	Spent func(step Step, d time.Duration)
	// Warn reports what stops nothing, on any goroutine; nil drops it.
	Warn func(error)
	// Log, if not nil, gets the outcomes of a segment that have just become durable, on any goroutine. again says that
	// they were read back from the WARC of a segment that is not sealed: who stored them may have passed them on
	// before. Flush comes before the segment is sealed.
	Log   func(seg *storage.Segment, stored []Stored, again bool)
	Flush func()
	// Replacing, if not nil, is held while parse records of a sealed segment are replaced: who holds it can read them
	// and then change the segment's state.
	Replacing sync.Locker
}

// agentOf is the agent for whom a page's robots directives are read.
func (e *Env) agentOf(u urlkey.URL) string {
	if e.AgentOf == nil {
		return e.Agent
	}
	return e.AgentOf(u.HostKey())
}

// Segments creates, resumes and seals segments. It is safe for concurrent use, for different segments.
type Segments struct {
	env      Env
	clock    pageClock
	parts    parts
	createMu sync.Mutex   // from choosing a number to storing it
	cut      atomic.Int64 // sitemaps that were cut
}

// New returns the segments of a store.
func New(env Env) *Segments {
	if env.Warn == nil {
		env.Warn = func(error) {}
	}
	if env.Spent == nil {
		env.Spent = func(Step, time.Duration) {}
	}
	if env.Parsers == nil {
		env.Parsers = parse.New(parse.Options{})
	}
	env.FS = &firmFS{FS: env.FS}
	return &Segments{env: env}
}

// filePrefix begins the names of the WARC files that a segment begins.
func filePrefix(number uint32) string { return fmt.Sprintf("seine-%08d", number) }

// FileName is the name of a WARC file that a segment begins, the n-th from 0.
func FileName(number uint32, n int) string {
	return fmt.Sprintf("%s-%05d.warc.gz", filePrefix(number), n)
}

// NumberOf returns the number of the segment that begins a WARC file, by its name.
func NumberOf(name string) (number uint32, ok bool) {
	rest, ok := strings.CutPrefix(name, "seine-")
	if !ok || !strings.HasSuffix(name, ".warc.gz") {
		return 0, false
	}
	digits, _, ok := strings.Cut(rest, "-")
	n, err := strconv.ParseUint(digits, 10, 32)
	return uint32(n), ok && err == nil
}

// Files returns the base names of the WARC files that a segment begins, oldest first.
func (g *Segments) Files(number uint32) ([]string, error) {
	all, err := g.env.FS.List(g.env.Dir)
	if err != nil {
		return nil, fmt.Errorf("listing %s: %w", g.env.Dir, err)
	}
	var names []string
	for _, name := range all {
		if strings.HasPrefix(name, filePrefix(number)+"-") && strings.HasSuffix(name, ".warc.gz") {
			names = append(names, name)
		}
	}
	slices.Sort(names) // a file system lists them as it likes
	return names, nil
}

// Again says how to seal a segment that was sealed before, in a store that is lost.
type Again struct {
	// Left, if not nil, says of a URL's key that it is left out. It is called from several goroutines.
	Left func(key []byte) bool
	// Sealed is when the segment was sealed; if that is zero, it was when its last record was written.
	Sealed time.Time
}

// Sealed is what Finish and Seal report of a segment.
type Sealed struct {
	Segment uint32
	Pages   uint64 // outcomes
	Links   uint64 // of all pages
	Bytes   uint64 // received
	Torn    int64  // bytes cut out of WARC files, mostly off their ends; only Seal cuts
}
