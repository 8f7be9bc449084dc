// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/zeebo/xxh3"

	"github.com/seine-crawler/seine/storage"
	"github.com/seine-crawler/seine/storage/urlkey"
)

// titles cuts off what the pages of a host share in their titles, "— Python 3.11.2 documentation". What that is, the
// host's first pages say: those of titleSample records in key order that are to be indexed, among its first titleLook
// records. So the rule of a host is a function of crawldb and parse records, whatever the order of indexing. It is kept
// in meta, with a fingerprint of the pages that it was learned from:
//
//	"title/", host key → fingerprint, 8 bytes, little-endian | uvarint pages | suffix
//
// A refresh compares the fingerprint of every host and learns anew where it differs, which reads no text elsewhere.
// Other runs take the rule as it is, and learn only when a host has twice as many pages as it was learned from, so that
// the pages of a new host need not all be indexed again. The rule is part of a document's stamp.
type titles struct {
	rd      storage.Reader
	records *storage.Scanner // of crawldb; nil: rules are taken as they are
	rows    *storage.Scanner // of meta
	at      bool             // rows stands at a row, in a refresh
	table   *storage.TableWriter
	refresh bool // every host comes, each with all of its pages that are indexed

	host   []byte
	row    []byte // scratch: a key of meta
	suffix string
}

const (
	titlePrefix = "title/"
	titleSample = 32  // pages that a rule is learned from
	titleLook   = 256 // records among which they are looked for
	titleLeast  = 8   // pages below which nothing is learned
	titleShare  = 2   // one in so many of the titles must have a suffix
)

// newTitles takes rules as they are; learns makes it learn.
func newTitles(rd storage.Reader) *titles {
	return &titles{rd: rd, rows: rd.Scan(storage.Meta(), []byte(titlePrefix), []byte("title0"))}
}

func (t *titles) learns(in *storage.Ingestion, refresh bool) {
	t.records, t.table, t.refresh = t.rd.Scan(storage.Crawldb(), nil, nil), in.Table(storage.Meta()), refresh
	t.at = t.rows.Next()
}

// end removes, after a refresh, the rows that are left over.
func (t *titles) end() error {
	if t.refresh {
		return t.drop(nil)
	}
	return nil
}

// drop removes the rows before a key, nil: all that are left. A refresh comes to every host with pages, so these are of
// hosts without.
func (t *titles) drop(before []byte) error {
	for ; t.at && (before == nil || bytes.Compare(t.rows.Key(), before) < 0); t.at = t.rows.Next() {
		if err := t.table.Delete(t.rows.Key()); err != nil {
			return err
		}
	}
	return t.rows.Err()
}

func (t *titles) close() {
	t.rows.Close()
	if t.records != nil {
		t.records.Close()
	}
}

// begin announces the next page, in key order.
func (t *titles) begin(key []byte) error {
	host := urlkey.HostKeyOf(key)
	if bytes.Equal(host, t.host) {
		return nil
	}
	t.host = append(t.host[:0], host...)
	t.row = append(append(t.row[:0], titlePrefix...), host...)
	value, err := t.stored()
	if err != nil {
		return err
	}
	old, err := decodeTitleRule(value)
	if err != nil {
		return fmt.Errorf("rule for titles of %s: %w", host, err)
	}
	t.suffix = old.suffix
	if t.records == nil || !t.refresh && old.pages == titleSample {
		return nil
	}
	return t.learn(old)
}

// stored returns the value of the host's row, nil if there is none.
func (t *titles) stored() ([]byte, error) {
	if !t.refresh {
		if t.rows.SeekGE(t.row) && bytes.Equal(t.rows.Key(), t.row) {
			return t.rows.Value(), nil
		}
		return nil, t.rows.Err()
	}
	if err := t.drop(t.row); err != nil {
		return nil, err
	}
	if !t.at || !bytes.Equal(t.rows.Key(), t.row) {
		return nil, nil
	}
	value := bytes.Clone(t.rows.Value())
	t.at = t.rows.Next()
	return value, t.rows.Err()
}

// titleRule is what the host's titles share, and what it was learned from.
type titleRule struct {
	fingerprint uint64
	pages       int
	suffix      string // with the separator before it, without the space before that; "": nothing
}

func (r *titleRule) append(dst []byte) []byte {
	dst = binary.LittleEndian.AppendUint64(dst, r.fingerprint)
	return append(binary.AppendUvarint(dst, uint64(r.pages)), r.suffix...)
}

func decodeTitleRule(b []byte) (r titleRule, err error) {
	if len(b) == 0 {
		return r, nil
	}
	if len(b) > 8 {
		if pages, n := binary.Uvarint(b[8:]); n > 0 && pages <= titleSample {
			return titleRule{binary.LittleEndian.Uint64(b), int(pages), string(b[8+n:])}, nil
		}
	}
	return r, fmt.Errorf("%w: %d bytes", storage.ErrCorrupt, len(b))
}

// learn learns the host's rule again if its first pages are others than those of the old rule.
func (t *titles) learn(old titleRule) error {
	type page struct {
		key     []byte
		segment uint32
	}
	var sample []page
	h := xxh3.New()
	var r storage.Record
	looked := 0
	for ok := t.records.SeekGE(t.host); ok && looked < titleLook; ok = t.records.Next() {
		key := t.records.Key()
		if !bytes.HasPrefix(key, t.host) || len(sample) == titleSample {
			break
		}
		looked++
		if err := storage.DecodeRecord(t.records.Value(), &r); err != nil {
			return fmt.Errorf("crawldb record %s: %w", key, err)
		}
		if !indexable(&r) {
			continue
		}
		h.Write(key)
		h.Write(r.Signature[:])
		h.Write(binary.LittleEndian.AppendUint32(nil, r.Segment))
		sample = append(sample, page{bytes.Clone(key), r.Segment})
	}
	if err := t.records.Err(); err != nil {
		return err
	}
	rule := titleRule{fingerprint: h.Sum64(), pages: len(sample)}
	switch {
	case rule == titleRule{old.fingerprint, old.pages, ""}:
		return nil
	case len(sample) < titleLeast:
		t.suffix = ""
		if old == (titleRule{}) {
			return nil
		}
		return t.table.Delete(t.row)
	case !t.refresh && len(sample) < 2*old.pages:
		return nil
	}
	var list []string
	for _, p := range sample {
		title, err := t.title(p.segment, p.key)
		if err != nil {
			return err
		}
		list = append(list, title)
	}
	rule.suffix = sharedSuffix(list)
	t.suffix = rule.suffix
	return t.table.Set(t.row, rule.append(nil))
}

// title reads the title of a page.
func (t *titles) title(segment uint32, key []byte) (string, error) {
	value, ok, err := t.rd.Get(storage.ParseTextRange(segment), key, nil)
	if err != nil || !ok {
		return "", err
	}
	var text storage.ParseText
	if err := storage.DecodeParseText(value, &text); err != nil {
		return "", fmt.Errorf("parse record %s of segment %d: %w", key, segment, err)
	}
	return text.Title, nil
}

// cut returns a title without what the host's pages share. What would not leave a word stays.
func (t *titles) cut(title string) string {
	own, ok := strings.CutSuffix(title, t.suffix)
	if own = strings.TrimRightFunc(own, unicode.IsSpace); ok && t.suffix != "" && strings.ContainsFunc(own, isWord) {
		return own
	}
	return title
}

func isWord(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }

// titleSeparators are the characters, between spaces, that sites put between a page's title and their name.
const titleSeparators = "|-–—·•»"

// sharedSuffix returns the longest text with a separator before it that at least titleLeast different titles, and one in
// titleShare of them, end with; "" if there is none.
func sharedSuffix(list []string) (longest string) {
	distinct, count := map[string]bool{}, map[string]int{}
	for _, title := range list {
		if distinct[title] {
			continue
		}
		distinct[title] = true
		for i := 1; i < len(title); i++ {
			r, n := utf8.DecodeRuneInString(title[i:])
			if title[i-1] == ' ' && strings.ContainsRune(titleSeparators, r) && strings.HasPrefix(title[i+n:], " ") {
				count[title[i:]]++
			}
		}
	}
	for suffix, n := range count {
		enough := n >= titleLeast && n*titleShare >= len(distinct)
		if enough && (len(suffix) > len(longest) || len(suffix) == len(longest) && suffix < longest) {
			longest = suffix
		}
	}
	return longest
}
