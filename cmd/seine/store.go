// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"maps"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/seine-crawler/seine/engine"
	"github.com/seine-crawler/seine/engine/policy"
	"github.com/seine-crawler/seine/engine/web"
	"github.com/seine-crawler/seine/index"
	"github.com/seine-crawler/seine/storage"
)

// store is what commands ask of a data directory, whichever process has it open. The methods are those of an Engine and
// of its Inspector.
type store interface {
	Search(ctx context.Context, query string, o engine.SearchOptions) (engine.SearchResult, error)
	Suggest(ctx context.Context, query string, deadline time.Duration) (index.Suggestion, error)
	Complete(ctx context.Context, text string, limit int) ([]index.Completion, error)

	Record(url string) (engine.RecordView, error)
	Records(ctx context.Context, f engine.RecordFilter) iter.Seq2[engine.RecordView, error]
	TopRecords(ctx context.Context, n int) ([]engine.RecordView, error)
	Stats(ctx context.Context, perHost bool) (engine.CrawldbStats, error)
	Hosts(ctx context.Context, f engine.HostFilter) iter.Seq2[engine.HostView, error]
	Inlinks(ctx context.Context, url string, limit int) iter.Seq2[engine.InlinkView, error]
	Links(ctx context.Context) iter.Seq2[engine.InlinkView, error]
	Segments(ctx context.Context) iter.Seq2[engine.SegmentView, error]
	Segment(number uint32) (engine.SegmentView, error)
	ParseRecords(ctx context.Context, segment uint32, url string) iter.Seq2[engine.ParseView, error]
	Check(url string, scope policy.NormalizerScope) (engine.URLCheck, error)
	Report(ctx context.Context, kind engine.ReportKind, limit int) iter.Seq2[engine.ReportRow, error]
	URLStory(ctx context.Context, url string) (engine.URLStory, error)
	HostStory(ctx context.Context, host string) (engine.HostStory, error)

	Inject(ctx context.Context, o engine.InjectOptions) (engine.InjectReport, error)
	DedupURLs(ctx context.Context, o engine.DedupURLsOptions) (engine.DedupURLsReport, error)
	Recrawl(ctx context.Context, targets ...string) (engine.RecrawlReport, error)
	Delete(ctx context.Context, targets ...string) (engine.DeleteReport, error)
	Index(ctx context.Context, o engine.IndexOptions) (engine.IndexReport, error)
	Dedup(ctx context.Context, o engine.DedupOptions) (engine.DedupReport, error)
	Purge(ctx context.Context) (engine.PurgeReport, error)
	DueSegments(state storage.SegmentState) ([]uint32, error)
	Verify(ctx context.Context) (engine.VerifyReport, error)

	// Export writes the WARC files' index (cdxj) or the documents (jsonl).
	Export(ctx context.Context, format string, w io.Writer) error
}

// ownStore is a data directory that this process has open.
type ownStore struct {
	*engine.Engine
	*engine.Inspector
}

// Export is that of a Handler.
func (s ownStore) Export(ctx context.Context, format string, w io.Writer) error {
	return web.Export(ctx, s.Engine, format, w)
}

// otherStore is a data directory that another process has open.
type otherStore struct{ *web.Client }

// Check is that of an Inspector.
func (s otherStore) Check(url string, scope policy.NormalizerScope) (engine.URLCheck, error) {
	return s.Client.Check(url, string(scope))
}

// A process that has a data directory open serves its socket soon after it opened it, and not until the end. Between
// these a command tries again, socketPause apart, and gives up after socketPatience.
const (
	socketPatience = 3 * time.Second
	socketPause    = 20 * time.Millisecond
)

// withStore runs fn on the data directory: it opens the engine, or finds the process that has.
func (f *flags) withStore(cmd *cobra.Command, o engine.Options, fn func(s store) error) error {
	return f.logged(cmd, o, func(o engine.Options) error { // once, whichever process does the work
		return f.openOr(cmd, o.ReadOnly, func() error {
			return f.opened(cmd, o, func(e *engine.Engine) error { return fn(ownStore{e, e.Inspect()}) })
		}, fn)
	})
}

// withReading is withStore of a command that has flags for reading only.
func (f *flags) withReading(cmd *cobra.Command, fn func(s store) error) error {
	o, err := f.reading().options(cmd)
	if err != nil {
		return err
	}
	return f.withStore(cmd, o, fn)
}

// openOr calls own, which opens the engine; while another process has the directory open, it runs fn there. reads says
// that fn changes nothing; what does must wait while the other process only reads, since that cannot do it.
func (f *flags) openOr(cmd *cobra.Command, reads bool, own func() error, fn func(s store) error) error {
	for start := time.Now(); ; time.Sleep(socketPause) {
		again, err := f.openOnce(cmd, reads, own, fn)
		if !again || time.Since(start) > socketPatience || cmd.Context().Err() != nil {
			return err
		}
	}
}

// openOnce is one try of openOr. again says that the directory is locked, and that nobody could be asked.
func (f *flags) openOnce(
	cmd *cobra.Command, reads bool, own func() error, fn func(s store) error,
) (again bool, err error) {
	locked := own()
	if !errors.Is(locked, engine.ErrLocked) {
		return false, locked
	}
	c, err := web.Dial(cmd.Context(), f.text(settingDir))
	if unserved(err) {
		return true, locked // that the directory is locked says enough
	}
	if err != nil {
		return true, errors.Join(locked, err)
	}
	if !reads && c.ReadOnly() { // it is not asked: some of what a command would send cannot be read again
		return true, errors.Join(locked, c.Close())
	}
	if err := f.withoutEffect(c.Process()); err != nil {
		return false, errors.Join(err, c.Close())
	}
	err = errors.Join(fn(otherStore{c}), c.Close())
	switch {
	case errors.Is(err, web.ErrNotAsked):
		return true, locked
	case !reads && errors.Is(err, engine.ErrReadOnly): // a reader has come since
		return false, errors.Join(locked, err)
	}
	return false, err
}

// unserved reports whether the error of a Dial says that nobody serves the socket.
func unserved(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ECONNREFUSED)
}

// withoutEffect returns an error for flags of settings that another process decides.
func (f *flags) withoutEffect(process string) error {
	var names []string
	for _, name := range slices.Sorted(maps.Keys(f.run.values)) {
		switch name {
		case settingDir, "memory", "seeds":
			continue
		}
		if f.run.values[name].from == fromFlag && f.takes(allSettings[name]) {
			names = append(names, f.run.values[name].where)
		}
	}
	if len(names) == 0 {
		return nil
	}
	return &usageError{fmt.Errorf("%s: no effect while process %s has %s open, whose own settings count",
		strings.Join(names, " "), process, f.text(settingDir))}
}

// serveSocket serves an engine to other commands until end is called. Where that cannot be, they find the data
// directory locked, and a warning says so unless the engine only reads.
func serveSocket(e *engine.Engine, o *engine.Options, logs []web.Log) (end func() error) {
	s, err := web.ServeSocket(e, o.Dir, web.Options{Logs: logs, Failed: o.Events.Warning})
	if err == nil {
		return s.Close
	}
	if warn := o.Events.Warning; warn != nil && !o.ReadOnly {
		warn(fmt.Errorf("other commands cannot look into %s meanwhile: %w", o.Dir, err))
	}
	return func() error { return nil }
}

// whoHasIt says what the process does that has a data directory open, and what helps; "": that is not known.
func whoHasIt(dir string) string {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	c, err := web.Dial(ctx, dir)
	if err != nil {
		return ""
	}
	defer c.Close()
	s, err := c.Status()
	switch {
	case err != nil:
		return ""
	case s.Running:
		return `; it crawls: "seine crawl --stop" ends that cleanly, "seine top" shows it`
	}
	return "; it runs no crawl: kill -INT " + c.Process() + " ends it"
}
