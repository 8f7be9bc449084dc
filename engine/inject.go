// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/seine-crawler/seine/engine/policy"
	"github.com/seine-crawler/seine/storage"
	"github.com/seine-crawler/seine/storage/urlkey"
)

// InjectOptions say which seeds to inject and what becomes of URLs that are already known.
type InjectOptions struct {
	URLs    []string    // seed lines
	Files   []string    // files of seed lines; "-" is Stdin
	Stdin   io.Reader   // for "-"
	Readers []io.Reader // more seed lines
	// Overwrite replaces a known record; Update changes only its score, interval and metadata.
	// Without either a known record is kept as it is.
	Overwrite, Update bool
}

// Keys of a seed line that set the record rather than metadata; Nutch's names.
const (
	seedScore    = "nutch.score"
	seedInterval = "nutch.fetchInterval"
)

// Inject makes records of seeds. A seed line is a URL, then optional TAB-separated key=value
// pairs; empty lines and lines that begin with '#' are skipped. Malformed lines are counted and
// quoted in the report, and the rest is injected. The seeds' hosts become part of the scope.
//
// Steps: parse, normalise and filter each line; sort by key, the last of equal URLs winning;
// merge-join with crawldb; ingest.
func (e *Engine) Inject(ctx context.Context, o InjectOptions) (InjectReport, error) {
	start := time.Now()
	defer e.clock.time(stageInject)()
	e.crawldbMu.Lock()
	defer e.crawldbMu.Unlock()
	in := injection{e: e, o: o, now: e.nowMS(), sorter: e.newSorter(foldLast)}
	defer in.sorter.Close()
	if err := in.readAll(ctx); err != nil {
		return in.report, fmt.Errorf("injecting: %w", err)
	}
	if err := in.merge(ctx); err != nil {
		return in.report, fmt.Errorf("injecting: %w", err)
	}
	in.report.Seconds = since(start)
	e.done(in.report)
	return in.report, nil
}

// foldLast keeps the later of two values of one key.
func foldLast(dst, _, b []byte) []byte { return append(dst, b...) }

type injection struct {
	e      *Engine
	o      InjectOptions
	now    int64
	sorter *storage.Sorter
	report InjectReport
	key    []byte
	value  []byte
}

func (in *injection) readAll(ctx context.Context) error {
	for _, line := range in.o.URLs {
		if err := in.line(line); err != nil {
			return err
		}
	}
	for _, name := range in.o.Files {
		if err := in.file(ctx, name); err != nil {
			return err
		}
	}
	for _, r := range in.o.Readers {
		if err := in.lines(ctx, r); err != nil {
			return err
		}
	}
	return nil
}

func (in *injection) file(ctx context.Context, name string) error {
	if name == "-" && in.o.Stdin != nil {
		return in.lines(ctx, in.o.Stdin)
	}
	f, err := os.Open(name)
	if err != nil {
		return fmt.Errorf("seed file: %w", err)
	}
	defer f.Close()
	if err := in.lines(ctx, f); err != nil {
		return fmt.Errorf("seed file %s: %w", name, err)
	}
	return nil
}

func (in *injection) lines(ctx context.Context, r io.Reader) error {
	br := bufio.NewReaderSize(r, seedLineMax)
	for ctx.Err() == nil {
		line, err := br.ReadSlice('\n')
		if errors.Is(err, bufio.ErrBufferFull) {
			in.malformed(string(line[:64]), fmt.Errorf("line longer than %d bytes", seedLineMax))
			for errors.Is(err, bufio.ErrBufferFull) {
				_, err = br.ReadSlice('\n')
			}
			line = nil
		}
		if len(line) > 0 {
			if err := in.line(string(line)); err != nil {
				return err
			}
		}
		if err == io.EOF {
			return nil
		} else if err != nil {
			return err
		}
	}
	return ctx.Err()
}

func (in *injection) malformed(line string, err error) {
	in.report.Lines++
	in.report.Malformed++
	if len(in.report.Examples) < malformedExamples {
		in.report.Examples = append(in.report.Examples, fmt.Sprintf("%.80q: %v", line, err))
	}
}

// line parses one seed line and adds its record to the sorter.
func (in *injection) line(line string) error {
	line = strings.TrimSpace(strings.TrimPrefix(line, "\ufeff"))
	if line == "" || line[0] == '#' {
		return nil
	}
	raw, rest, _ := strings.Cut(line, "\t")
	u, err := urlkey.Parse(raw)
	if err != nil {
		in.malformed(raw, err)
		return nil
	}
	r := storage.Record{Status: storage.StatusUnfetched, Interval: policy.DefaultInterval, FetchTime: in.now}
	given := math.NaN()
	for _, field := range strings.FieldsFunc(rest, func(c rune) bool { return c == '\t' }) {
		if err := seedField(&r, &given, field); err != nil {
			in.malformed(line, err)
			return nil
		}
	}
	in.report.Lines++
	if u, err = in.e.o.normalizers(policy.NormalizeInject).Normalize(u); err != nil || in.e.filter(u) != "" {
		in.report.Filtered++
		return nil
	}
	r.Score = in.e.o.Scorer.Inject(1)
	if !math.IsNaN(given) {
		r.Score = in.e.o.Scorer.Inject(given)
	}
	in.key = u.AppendKey(in.key[:0])
	in.value = storage.AppendRecord(in.value[:0], &r)
	return in.sorter.Add(in.key, in.value)
}

func seedField(r *storage.Record, score *float64, field string) error {
	name, value, ok := strings.Cut(field, "=")
	if !ok {
		return fmt.Errorf("field %q is not key=value", field)
	}
	switch name {
	case seedScore:
		v, err := strconv.ParseFloat(value, 64)
		if err != nil || v < 0 || math.IsInf(v, 0) || math.IsNaN(v) {
			return fmt.Errorf("%s=%q is not a score", name, value)
		}
		*score = v
	case seedInterval:
		v, err := strconv.ParseUint(value, 10, 32)
		if err != nil || v == 0 {
			return fmt.Errorf("%s=%q is not a number of seconds", name, value)
		}
		r.Interval = uint32(v)
	default:
		r.Meta = append(r.Meta, storage.Field{Name: name, Value: value})
	}
	return nil
}

// merge joins the sorted seeds with crawldb and ingests the outcome.
func (in *injection) merge(ctx context.Context) error {
	added := uint64(in.sorter.Len())
	run, err := in.sorter.Sort()
	if err != nil {
		return err
	}
	defer run.Close()
	ing := in.e.store.NewIngestion()
	defer ing.Abort()
	records, hosts := ing.Table(storage.Crawldb()), newHostTally(in.e)
	defer hosts.close()
	var kept uint64
	var seeds []urlkey.HostKey
	var urls []urlkey.Key
	err = storage.MergeJoin(ctx, in.e.store, storage.Crawldb(), run, func(key []byte, values [][]byte, old []byte) error {
		kept++
		host := urlkey.HostKeyOf(key)
		if n := len(seeds); n == 0 || string(seeds[n-1]) != string(host) {
			seeds = append(seeds, urlkey.HostKey(host))
		}
		if in.e.scope.NeedsURLs() {
			urls = append(urls, urlkey.Key(key))
		}
		return in.mergeOne(records, hosts, key, values[len(values)-1], old)
	})
	if err != nil {
		return err
	}
	in.report.Merged = added - kept
	if err := hosts.writeTo(ctx, ing); err != nil {
		return err
	}
	if err := in.e.admitSeeds(ing, seeds, urls); err != nil {
		return err
	}
	return ing.Commit()
}

func (in *injection) mergeOne(w *storage.TableWriter, hosts *hostTally, key, seed, old []byte) error {
	var r, was storage.Record
	if err := storage.DecodeRecord(seed, &r); err != nil {
		return err
	}
	switch {
	case old == nil:
		in.report.New++
	case in.o.Overwrite || in.o.Update:
		if err := storage.DecodeRecord(old, &was); err != nil {
			return fmt.Errorf("record of %s: %w", key, err)
		}
		in.report.Changed++
		if !in.o.Overwrite {
			r = updatedSeed(was, r)
		}
	default:
		in.report.Known++
		return nil
	}
	if err := hosts.change(key, old != nil, &was, &r); err != nil {
		return err
	}
	in.value = storage.AppendRecord(in.value[:0], &r)
	return w.Set(key, in.value)
}

// updatedSeed is a known record with the seed's score, interval and metadata, where the seed
// line says something other than the default.
func updatedSeed(was, seed storage.Record) storage.Record {
	if seed.Score != 1 {
		was.Score = seed.Score
	}
	if seed.Interval != policy.DefaultInterval {
		was.Interval = seed.Interval
	}
	for _, f := range seed.Meta {
		replaced := false
		for i := range was.Meta {
			if was.Meta[i].Name == f.Name {
				was.Meta[i].Value, replaced = f.Value, true
			}
		}
		if !replaced {
			was.Meta = append(was.Meta, f)
		}
	}
	return was
}
