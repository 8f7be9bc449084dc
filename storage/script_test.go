// SPDX-License-Identifier: Apache-2.0

package storage

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"
)

// TestScripts runs the scripts in testdata/scripts on small stores. Commands:
//
//	open [identity=NAME:VALUE] [must-exist] [read-only]   closes the store and opens the same directory again
//	apply, ingest [abort]      lines: set RANGE KEY VALUE | del RANGE KEY | delrange RANGE | segment N STATE [batch]
//	scan RANGE [from=K] [to=K] [seek=K,K…]
//	get RANGE KEY
//	join RANGE                 lines: KEY VALUE
//	segments, verify
func TestScripts(t *testing.T) {
	datadriven.Walk(t, "testdata/scripts", func(t *testing.T, path string) {
		sc := script{fs: NewMemFS()}
		defer func() {
			if sc.s != nil {
				if err := sc.s.Close(); err != nil {
					t.Error(err)
				}
			}
		}()
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			var b strings.Builder
			if err := sc.run(&b, d); err != nil {
				fmt.Fprintf(&b, "error: %v\n", err)
			}
			if b.Len() == 0 {
				return "ok\n"
			}
			return b.String()
		})
	})
}

type script struct {
	fs FS
	s  *Store
}

func (sc *script) run(b *strings.Builder, d *datadriven.TestData) error {
	switch d.Cmd {
	case "open":
		return sc.open(d)
	case "apply":
		return sc.s.Apply(func(batch *Batch) error {
			return eachLine(d, func(f []string) error {
				if f[0] == "set" {
					return batch.Set(rangeOf(f[1]), []byte(f[2]), []byte(f[3]))
				}
				return batch.Delete(rangeOf(f[1]), []byte(f[2]))
			})
		})
	case "ingest":
		return sc.ingest(d)
	case "scan":
		return sc.scan(b, d)
	case "get":
		value, ok, err := sc.s.Get(rangeOf(d.CmdArgs[0].Key), []byte(d.CmdArgs[1].Key), nil)
		fmt.Fprintf(b, "%q %v\n", value, ok)
		return err
	case "join":
		return sc.join(b, d)
	case "segments":
		list, err := sc.s.SegmentList()
		for _, seg := range list {
			fmt.Fprintf(b, "%d %s\n", seg.Number, seg.State)
		}
		next, nerr := sc.s.NextSegmentNumber()
		fmt.Fprintf(b, "next %d\n", next)
		return errors.Join(err, nerr)
	case "verify":
		report, err := sc.s.Verify(context.Background())
		b.WriteString(report.String())
		return err
	}
	return fmt.Errorf("unknown command %s", d.Cmd)
}

func (sc *script) open(d *datadriven.TestData) error {
	if sc.s != nil {
		if err := sc.s.Close(); err != nil {
			return err
		}
		sc.s = nil
	}
	o := Options{
		FS:        sc.fs,
		Now:       func() time.Time { return time.Unix(1752000000, 0) },
		MustExist: d.HasArg("must-exist"),
		ReadOnly:  d.HasArg("read-only"),
	}
	if d.HasArg("identity") {
		var s string
		for _, a := range d.CmdArgs {
			if a.Key == "identity" {
				s = a.Vals[0]
			}
		}
		name, value, _ := strings.Cut(s, ":")
		o.Identity = map[string]string{name: value}
	}
	s, err := Open("dir/store", o)
	if err == nil {
		sc.s = s
	}
	return err
}

func (sc *script) ingest(d *datadriven.TestData) error {
	in := sc.s.NewIngestion()
	defer in.Abort()
	err := eachLine(d, func(f []string) error {
		switch f[0] {
		case "set":
			return in.Table(rangeOf(f[1])).Set([]byte(f[2]), []byte(f[3]))
		case "del":
			return in.Table(rangeOf(f[1])).Delete([]byte(f[2]))
		case "delrange":
			return in.DeleteRange(rangeOf(f[1]))
		}
		n, err := strconv.Atoi(f[1])
		if err != nil {
			return err
		}
		seg := Segment{Number: uint32(n), Batch: len(f) > 3}
		for s := SegmentOpen; s <= SegmentIndexed; s++ {
			if s.String() == f[2] {
				seg.State = s
			}
		}
		return in.PutSegment(seg)
	})
	if err != nil || d.HasArg("abort") {
		return err
	}
	return in.Commit()
}

func (sc *script) scan(b *strings.Builder, d *datadriven.TestData) error {
	var from, to []byte
	var seek []string
	for _, a := range d.CmdArgs[1:] {
		switch a.Key {
		case "from":
			from = []byte(a.Vals[0])
		case "to":
			to = []byte(a.Vals[0])
		case "seek":
			seek = a.Vals
		}
	}
	scan := sc.s.Scan(rangeOf(d.CmdArgs[0].Key), from, to)
	for _, k := range seek {
		if scan.SeekGE([]byte(k)) {
			fmt.Fprintf(b, "%s → %s=%s\n", k, scan.Key(), scan.Value())
		} else {
			fmt.Fprintf(b, "%s → end\n", k)
		}
	}
	for scan.Next() {
		fmt.Fprintf(b, "%s=%s\n", scan.Key(), scan.Value())
	}
	if b.Len() == 0 {
		b.WriteString("nothing\n")
	}
	return scan.Close()
}

func (sc *script) join(b *strings.Builder, d *datadriven.TestData) error {
	var pairs []Pair
	if err := eachLine(d, func(f []string) error {
		pairs = append(pairs, Pair{[]byte(f[0]), []byte(f[1])})
		return nil
	}); err != nil {
		return err
	}
	print := func(key []byte, values [][]byte, old []byte) error {
		fmt.Fprintf(b, "%s: %s", key, values)
		if old == nil {
			b.WriteString(" new\n")
		} else {
			fmt.Fprintf(b, " old %q\n", old)
		}
		return nil
	}
	return MergeJoin(context.Background(), sc.s, rangeOf(d.CmdArgs[0].Key), NewSliceRun(pairs), print)
}

// eachLine splits the input into words; "-" is an empty word.
func eachLine(d *datadriven.TestData, fn func(f []string) error) error {
	for line := range strings.Lines(d.Input) {
		f := strings.Fields(line)
		for i := range f {
			f[i] = strings.ReplaceAll(strings.TrimPrefix(f[i], "-"), "_", " ")
		}
		if err := fn(f); err != nil {
			return err
		}
	}
	return nil
}

// rangeOf reads a range's name: crawldb, fetchlist/3 …
func rangeOf(name string) Range {
	name, number, _ := strings.Cut(name, "/")
	n, _ := strconv.Atoi(number)
	switch name {
	case "meta":
		return Meta()
	case "crawldb":
		return Crawldb()
	case "counts":
		return HostCountsRange()
	case "facts":
		return HostFactsRange()
	case "segments":
		return Segments()
	case "fetchlist":
		return Fetchlist(uint32(n))
	case "links":
		return ParseLinks(uint32(n))
	case "text":
		return ParseTextRange(uint32(n))
	case "linkdb":
		return Linkdb()
	case "signatures":
		return Signatures()
	case "cdx":
		return CDXRange()
	case "index":
		return IndexRange(byte(n))
	case "indexsegment":
		return IndexSegmentRange(uint32(n), 'p')
	case "indexsegmentall":
		return IndexSegmentAll(uint32(n))
	}
	panic("no range " + name)
}
