// SPDX-License-Identifier: Apache-2.0

package storage

import (
	"bytes"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/cockroachdb/pebble/v2"
)

// The format ladder. A store carries the version it was last written with under meta/format; a
// newer program climbs from there one step at a time, an older one refuses and changes nothing.
//
//	version   since   what changed
//	1         0.1     first format
//	2         0.2     Records count redirects (recHops), hosts' facts count sleeps. Older values are read without them.
//	3         0.3     Parse records and hosts' counts have the time that fetching took, parse records preferences,
//	                  counts bytes. Older values are read without them.
//	4         0.4     Texts say which part is main content. Older ones are content as a whole.
//	5         0.5     Index segments tell words around the content apart. Those that name no fields have the
//	                  four fields of format 4.
//	6         0.6     Hosts' counts have an exact next due time and the least due times; the upgrade reads crawldb
//	                  once. (Since format 11 it leaves that to the last step.) Links that are refused for now are
//	                  withheld in a range of their own.
//	7         0.7     Parse records count repeated links and links to parts of the page itself, hosts' facts count
//	                  answers that demanded a pause. Pages whose depth fell wait in a range of their own until their
//	                  links are told; records say whether their content is truncated (recTruncated). Older values are
//	                  read without all that, and depths that older programs stored stay until a page is fetched again.
//	8         0.8     Index segments of format 2: package index refuses those of format 1 until the index is made again.
//	                  Parse records have author, date and headings. What index writers were sent is in a range of its
//	                  own. Older parse records are read without all that.
//	9         0.9     Index segments of format 3, as with 8.
//	10        0.10    Index segments of format 4, as with 8. Blocked hosts and the history of crawls are meta rows.
//	11        0.11    What is due is in a range of its own, and hosts' counts say how many records were never fetched in
//	                  place of due times; the upgrade reads crawldb once. Stored values of long documents may have
//	                  the places of their words; those of before are read without.
//	12        0.12    The rows of a target in linkdb may be merged into one with counts; rows of before are merged in
//	                  time. Records and parse records have a SimHash, and groups of near-duplicates are in ranges of
//	                  their own; older values are read without, and get it when their page is fetched again. Records
//	                  count visits and changes. Marks of phases that came to their end are in a range of their own.
//	13        0.13    What was fetched has a second key in the due range, by the day when it is due. Hosts' counts have
//	                  the sum of scores, latencies, errors and protocols; hosts' facts have earlier addresses, and
//	                  parse records the version of HTTP and what sitemaps and feeds say of their links. The upgrade
//	                  reads crawldb once, for the keys and the sums; older values are read without the rest. The record
//	                  of a segment says which part of a WARC file is its own, because segments share files; records of
//	                  before have whole files. (Since then format 11 leaves its own upgrade to this step.)
//	14        0.14    Records say whether what their page gives to others was given (recVoted). Of older ones that is
//	                  known by their segment or status.
//	15        0.15    Texts are compressed one by one. Older ones are read as they are.
//
// To change a format: add a row here, raise FormatVersion, append the step to upgrades, and put a
// store of the new version into testdata/formats/vN, where a test opens it from then on.
const FormatVersion = 15

// readableFormat is the oldest format that is read as it is, without an upgrade: of what the steps from there on write,
// only phases read anything, and these write too.
const readableFormat = 6

// dueFormat is the format from which on there is a due range, and dueDayFormat that from which on it has keys by day.
const (
	dueFormat    = 11
	dueDayFormat = 13
)

// pebbleFormat is Pebble's own version, pinned so that a library update alone never makes a store
// unreadable to the program before it. 24 is the newest of Pebble 2.1.
const pebbleFormat = pebble.FormatMajorVersion(24)

// upgrades[i] takes a store from version i+1 to i+2. A step must be repeatable: after a crash in the
// middle it runs again. The version is written in the step's last batch.
func upgrades() []func(*Store) error {
	return []func(*Store) error{
		func(s *Store) error { return s.setFormat(2) },
		func(s *Store) error { return s.setFormat(3) },
		func(s *Store) error { return s.setFormat(4) },
		func(s *Store) error { return s.setFormat(5) },
		func(s *Store) error { return s.setFormat(6) },
		func(s *Store) error { return s.setFormat(7) },
		func(s *Store) error { return s.setFormat(8) },
		func(s *Store) error { return s.setFormat(9) },
		func(s *Store) error { return s.setFormat(10) },
		none, none, // what format 11 brought is made by the step to 13, and must not be said to be there before
		(*Store).buildDue,
		func(s *Store) error { return s.setFormat(14) },
		func(s *Store) error { return s.setFormat(15) },
	}
}

func none(*Store) error { return nil }

// buildDue makes the due range and hosts' due times anew from one walk through crawldb, in one ingestion, and makes the
// store one of format 13.
func (s *Store) buildDue() error {
	in := s.NewIngestion()
	defer in.Abort()
	entries := s.sorter()
	defer entries.Close()
	err := in.DeleteRange(Due())
	if err == nil {
		err = s.countDue(in.Table(HostCountsRange()), entries)
	}
	var run *Run
	if err == nil {
		run, err = entries.Sort()
	}
	if err == nil {
		defer run.Close()
		due := in.Table(Due())
		for err == nil && run.Next() {
			err = due.Set(run.Key(), nil)
		}
		err = errors.Join(err, run.Err())
	}
	if err == nil {
		err = in.Commit()
	}
	if err != nil {
		return fmt.Errorf("noting what is due: %w", err)
	}
	return s.setFormat(dueDayFormat)
}

// countDue adds the due keys of each record to entries, and writes the counts of hosts with what these say and the sums
// of scores.
func (s *Store) countDue(counts *TableWriter, entries *Sorter) error {
	hosts, records := s.Scan(HostCountsRange(), nil, nil), s.Scan(Crawldb(), nil, nil)
	defer hosts.Close()
	defer records.Close()
	var c HostCounts
	var r Record
	var key, value []byte
	for hosts.Next() {
		host := hosts.Key()
		if err := DecodeHostCounts(hosts.Value(), &c); err != nil {
			return fmt.Errorf("hostdb counts at %q: %w", host, err)
		}
		c.New, c.NextDue, c.Score = 0, 0, 0
		for ok := records.SeekGE(host); ok && bytes.HasPrefix(records.Key(), host); ok = records.Next() {
			if err := DecodeRecord(records.Value(), &r); err != nil {
				return fmt.Errorf("crawldb at %q: %w", records.Key(), err)
			}
			if at := DueAt(r.FetchTime); c.NextDue == 0 || at < c.NextDue {
				c.NextDue = at
			}
			if r.IsNew() {
				c.New++
			}
			c.Rescore(0, r.Score)
			key = AppendDueKey(append(key[:0], host...), &r, records.Key()[len(host):])
			if err := entries.Add(key, nil); err != nil {
				return err
			}
			if !r.IsNew() {
				key = AppendDueDayKey(key[:0], &r, records.Key())
				if err := entries.Add(key, nil); err != nil {
					return err
				}
			}
		}
		value = AppendHostCounts(value[:0], &c)
		if err := errors.Join(records.Err(), counts.Set(host, value)); err != nil {
			return err
		}
	}
	return hosts.Err()
}

// setFormat is the whole upgrade to a version that reads everything that the one before it wrote.
func (s *Store) setFormat(version int64) error {
	return s.Apply(func(b *Batch) error {
		return b.Set(Meta(), []byte(formatKey), strconv.AppendInt(nil, version, 10))
	})
}

const (
	formatKey      = "format"
	identityPrefix = "identity/"
	createdKey     = "created"
)

// peekFormat refuses a newer store before anything is written: Pebble is opened for reading only,
// which replays the log in memory and changes no file. A missing store is not an error here.
func peekFormat(dir string, o *pebble.Options, lock *pebble.Lock, salvage bool) error {
	ro := o.Clone()
	ro.ReadOnly, ro.ErrorIfNotExists, ro.Lock = true, true, lock
	db, err := pebble.Open(dir, ro)
	if errors.Is(err, pebble.ErrDBDoesNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("opening the store in %s: %w", dir, openFault(err))
	}
	defer db.Close() // read-only: nothing to lose
	version, err := readFormat(db)
	if salvage && errors.Is(err, ErrCorrupt) {
		return nil // the rest may be sound
	}
	if err == nil && version > FormatVersion {
		err = fmt.Errorf("%w: %s has format %d, this program knows up to %d: use the newer program that wrote it",
			ErrNewerFormat, dir, version, FormatVersion)
	}
	return err
}

// refuseNewerPebble compares Pebble's own format version, which it keeps in the name of a file
// (marker.format-version.COUNT.VERSION), with ours. Pebble's error for it has no type, and it opens
// what is newer than ours but known to the library.
func refuseNewerPebble(dir string, names []string) error {
	var newest uint64
	for _, name := range names {
		rest, ok := strings.CutPrefix(name, markerPrefix+"format-version.")
		_, version, ok2 := strings.Cut(rest, ".")
		if n, err := strconv.ParseUint(version, 10, 32); ok && ok2 && err == nil {
			newest = max(newest, n) // an older marker may lie beside for a moment
		}
	}
	if newest > uint64(pebbleFormat) {
		return fmt.Errorf("%w: %s has Pebble format %d, this program knows up to %d: "+
			"use the newer program that wrote it", ErrNewerFormat, dir, newest, pebbleFormat)
	}
	return nil
}

// readFormat returns 0 for a store that was never initialised.
func readFormat(r pebble.Reader) (int, error) {
	meta := Meta()
	value, closer, err := r.Get(meta.appendKey(nil, []byte(formatKey)))
	if errors.Is(err, pebble.ErrNotFound) {
		return 0, nil
	}
	if err != nil {
		return 0, fmt.Errorf("reading the format version: %w", classified(err))
	}
	defer closer.Close()
	version, err := strconv.Atoi(string(value))
	if err != nil || version < 1 {
		return 0, corrupt("format version %q", value)
	}
	return version, nil
}

// admit decides whether the opened store is ours to use: it initialises a new one, climbs the
// ladder from an older one and compares the identity.
func (s *Store) admit(o *Options) error {
	version, err := readFormat(s.db)
	if s.salvage && errors.Is(err, ErrCorrupt) {
		return nil // the rest may be sound
	}
	if err != nil {
		return err
	}
	switch {
	case version == 0:
		if empty, err := s.isEmpty(); err != nil {
			return err
		} else if !empty {
			return corrupt("%s is a Pebble store, but not one of this program: it has no format version", s.dir)
		}
		if s.readOnly {
			return fmt.Errorf("%w in %s: it was never initialised", ErrNoStore, s.dir)
		}
		return s.initialise(o)
	case s.salvage:
		return nil
	case version >= readableFormat && s.readOnly:
		return s.compareIdentity(o.Identity)
	case s.readOnly:
		return fmt.Errorf("%w: %s has format %d and must be upgraded to %d: open it once for writing",
			ErrOlderFormat, s.dir, version, FormatVersion)
	}
	for ; version < FormatVersion; version++ {
		if err := upgrades()[version-1](s); err != nil {
			return fmt.Errorf("upgrading %s from format %d to %d: %w", s.dir, version, version+1, err)
		}
	}
	return s.compareIdentity(o.Identity)
}

// initialise writes what makes a store ours, in one batch: a crash before it leaves an empty Pebble
// store, which the next open initialises.
func (s *Store) initialise(o *Options) error {
	err := s.Apply(func(b *Batch) error {
		for _, settings := range []map[string]string{o.Identity, o.Initial} {
			for name, value := range settings {
				if err := b.Set(Meta(), []byte(identityPrefix+name), []byte(value)); err != nil {
					return err
				}
			}
		}
		created := o.Now().UTC().AppendFormat(nil, "2006-01-02T15:04:05Z")
		if err := b.Set(Meta(), []byte(createdKey), created); err != nil {
			return err
		}
		return b.Set(Meta(), []byte(formatKey), strconv.AppendInt(nil, FormatVersion, 10))
	})
	if err != nil {
		return fmt.Errorf("initialising %s: %w", s.dir, err)
	}
	return nil
}

// Setting returns a setting that the store was made with; ok is false if it was made before there was such a setting.
func (s *Store) Setting(name string) (value string, ok bool, err error) {
	stored, ok, err := s.Get(Meta(), []byte(identityPrefix+name), nil)
	if err != nil {
		return "", false, fmt.Errorf("reading setting %s: %w", name, err)
	}
	return string(stored), ok, nil
}

// Settings returns all settings by name, but for the numbers of index writers.
func (s *Store) Settings() (map[string]string, error) {
	all, prefix := map[string]string{}, []byte(identityPrefix)
	sc := s.Scan(Meta(), prefix, keyAfterPrefix(prefix))
	for sc.Next() {
		if name := string(sc.Key()[len(prefix):]); !strings.HasPrefix(name, sentSetting) {
			all[name] = string(sc.Value())
		}
	}
	if err := sc.Close(); err != nil {
		return nil, fmt.Errorf("reading settings: %w", err)
	}
	return all, nil
}

// PutSettings stores settings by name, for Setting. It is durable when it returns.
func (s *Store) PutSettings(settings map[string]string) error {
	err := s.Apply(func(b *Batch) error {
		for name, value := range settings {
			if err := b.Set(Meta(), []byte(identityPrefix+name), []byte(value)); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("storing settings: %w", err)
	}
	return nil
}

// compareIdentity reports the first setting, by name, that differs.
func (s *Store) compareIdentity(given map[string]string) error {
	var found *IdentityError
	for name, want := range given {
		stored, ok, err := s.Setting(name)
		if err != nil {
			return err
		}
		if ok && stored == want {
			continue
		}
		if found == nil || name < found.Setting {
			found = &IdentityError{Dir: s.dir, Setting: name, Stored: stored, Given: want}
		}
	}
	if found != nil {
		return found
	}
	return nil
}

// isEmpty reports whether the store holds no key at all.
func (s *Store) isEmpty() (bool, error) {
	it, err := s.db.NewIter(nil)
	if err != nil {
		return false, classified(err)
	}
	found := it.First()
	return !found, classified(it.Close())
}
