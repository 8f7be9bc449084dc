// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/zeebo/xxh3"

	"github.com/seine-crawler/seine/storage"
	"github.com/seine-crawler/seine/storage/urlkey"
)

// titles cuts off what the pages of a host share in their titles, "— Python 3.11.2 documentation" or "Example News |",
// so that it does not count as what a page is about, and hits show what tells them apart. What it is, the first pages
// of the host say: the first titleSample in key order that are to be indexed, among its first titleLook records. So the
// rule of a host is a function of crawldb and parse records, whatever the order of indexing. It is kept in meta, with a
// fingerprint of the pages that it was learned from:
//
//	"title/", host key → fingerprint, 8 bytes, little-endian | uvarint pages
//	                     uvarint length of the prefix | prefix | suffix
//
// A refresh compares the fingerprint of every host and learns anew where it differs, which reads no text elsewhere.
// One that looks at changed pages only learns before them, from the hosts that have some; see stale.go. Other runs take
// the rule as it is, and learn only when a host has twice as many pages as it was learned from, so that the pages of a
// new host need not all be indexed again. They look at the records of those hosts only that may have as many, as hostdb
// says, and have twice as many as when they were last looked at (titleLooks): else every run would read some hundred
// records of every small host, and of every large one that is mostly not fetched yet. The rule is part of a document's
// stamp.
type titles struct {
	rd      storage.Reader
	texts   *walks           // to learn from, ahead of the pages; whoever made them closes them
	records *storage.Scanner // of crawldb; nil: rules are taken as they are
	rows    *storage.Scanner // of meta
	hosts   *storage.Finder  // of hostdb's counts
	counts  storage.HostCounts
	at      bool        // rows stands at a row, in a refresh
	rules   *titleRules // that come of it
	refresh bool        // every host comes, each with all of its pages that are indexed
	always  bool        // it learns whenever the first pages are others
	until   []byte      // in a refresh, the first row that belongs to the next part; nil: there is none

	host []byte
	row  []byte    // scratch: a key of meta
	rule titleRule // of the host
}

const (
	titlePrefix = "title/"
	titleSample = 32  // pages that a rule is learned from
	titleLook   = 256 // records among which they are looked for
	titleLeast  = 8   // pages below which nothing is learned
	titleShare  = 2   // one in so many of the titles must have it
)

// newTitles takes rules as they are; learns makes it learn.
func newTitles(rd storage.Reader) *titles {
	return &titles{rd: rd, rows: rd.Scan(storage.Meta(), []byte(titlePrefix), []byte("title0"))}
}

// learns makes it learn, about pages from from on and before until; nil: from the first, to the last. Of the host
// within which the pages begin, others may have come in the part before, and its row with them.
func (t *titles) learns(rules *titleRules, texts *walks, refresh bool, from, until []byte) error {
	t.records, t.rules, t.refresh = t.rd.Scan(storage.Crawldb(), nil, nil), rules, refresh
	t.texts, t.hosts, t.always = texts, storage.NewFinder(t.rd, storage.HostCountsRange()), refresh
	t.at = t.rows.SeekGE(titleRow(from))
	if until != nil {
		t.until = titleRow(until)
	}
	if !refresh || from == nil {
		return t.rows.Err()
	}
	return t.begin(from)
}

// titleRow is the row of meta of the host of a key; nil: that before all.
func titleRow(key []byte) []byte { return append([]byte(titlePrefix), urlkey.HostKeyOf(key)...) }

// looks lets enter and learned be called, and writes nothing.
func (t *titles) looks(texts *walks) {
	t.records, t.texts, t.always = t.rd.Scan(storage.Crawldb(), nil, nil), texts, true
}

// takes makes it take rules from set, which writes them, and others as they are. From is the first key that comes, nil:
// that before all. The rule of its host may have been set in the part before, and follows from the same pages.
func (t *titles) takes(rules *titleRules, texts *walks, from []byte) error {
	t.rules = rules
	if from == nil {
		return nil
	}
	within := newTitles(t.rd)
	defer within.close()
	within.looks(texts)
	if err := within.peek(from); err != nil {
		return err
	}
	return t.announce(within.host, within.rule.encode())
}

// set is announce, and writes the rule if it is another one. In a refresh of all pages the rows of hosts that do not
// come are left over.
func (t *titles) set(host, value []byte) error {
	if t.refresh {
		if old, err := t.enter(host); err != nil || bytes.Equal(old.encode(), value) {
			return err
		}
	}
	if err := t.announce(host, value); err != nil {
		return err
	}
	return t.write()
}

// announce announces a host and its rule, as titleRule.encode has it.
func (t *titles) announce(host, value []byte) (err error) {
	t.setHost(host)
	t.rule, err = decodeTitleRule(value)
	return err
}

// setHost makes a host the current one.
func (t *titles) setHost(host []byte) {
	t.host = append(t.host[:0], host...)
	t.row = append(append(t.row[:0], titlePrefix...), host...)
}

// peek announces the next page, in key order, and finds the rule that begin would, and writes nothing.
func (t *titles) peek(key []byte) error {
	host := urlkey.HostKeyOf(key)
	if bytes.Equal(host, t.host) {
		return nil
	}
	old, err := t.enter(host)
	if err == nil && t.records != nil {
		t.rule, err = t.learned(old)
	}
	return err
}

// ruledHost returns the host of a key that stands for all pages of one, as addRule adds it.
func ruledHost(key []byte) (host []byte, ok bool) {
	n := len(key) - 1
	if n < 0 || key[n] != storage.StaleHost {
		return nil, false
	}
	return key[:n], true
}

// end removes, after a refresh, the rows that are left over.
func (t *titles) end() error {
	if t.refresh {
		return t.drop(t.until)
	}
	return nil
}

// drop removes the rows before a key, nil: all that are left. A refresh comes to every host with pages, so these are of
// hosts without.
func (t *titles) drop(before []byte) error {
	for ; t.at && (before == nil || bytes.Compare(t.rows.Key(), before) < 0); t.at = t.rows.Next() {
		if err := t.rules.remove(t.rows.Key()); err != nil {
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
	if t.hosts != nil {
		t.hosts.Close()
	}
}

// begin announces the next page, in key order.
func (t *titles) begin(key []byte) error {
	host := urlkey.HostKeyOf(key)
	if bytes.Equal(host, t.host) {
		return nil
	}
	old, err := t.enter(host)
	if err != nil {
		return err
	}
	if t.records == nil {
		return nil
	}
	if !t.refresh {
		if again, err := t.mayLearn(host, &old); err != nil || !again {
			return err
		}
	}
	return t.learn(old)
}

// enter makes a host the current one, and its stored rule.
func (t *titles) enter(host []byte) (titleRule, error) {
	t.setHost(host)
	value, err := t.stored()
	if err == nil {
		t.rule, err = decodeTitleRule(value)
	}
	if err != nil {
		return t.rule, fmt.Errorf("rule for titles of %s: %w", host, err)
	}
	return t.rule, nil
}

// write writes the row of the current host.
func (t *titles) write() error {
	if t.rule == (titleRule{}) {
		return t.rules.remove(t.row)
	}
	return t.rules.put(t.row, t.rule.encode())
}

// mayLearn reports whether a host may have enough pages for another rule.
func (t *titles) mayLearn(host []byte, old *titleRule) (bool, error) {
	if old.pages == titleSample {
		return false, nil
	}
	value, err := t.hosts.Find(host)
	if err != nil || value == nil {
		return false, err
	}
	if err := storage.DecodeHostCounts(value, &t.counts); err != nil {
		return false, fmt.Errorf("hostdb counts at %s: %w", host, err)
	}
	return old.outgrown(&t.counts) && t.rules.due(host, titlePages(&t.counts)), nil
}

// titlePages is how many pages of a host may have a title in the index.
func titlePages(c *storage.HostCounts) int {
	return int(c.ByStatus[storage.StatusFetched]) + int(c.ByStatus[storage.StatusNotModified])
}

// outgrown reports whether a host has enough pages to learn another rule, or too few for any.
func (r *titleRule) outgrown(c *storage.HostCounts) bool {
	pages := titlePages(c)
	if pages < titleLeast {
		return r.pages > 0
	}
	return pages >= 2*r.pages
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
	// One of them at most is not "". It has the separator, without the space on its other side.
	prefix, suffix string
}

func (r *titleRule) encode() []byte {
	b := binary.LittleEndian.AppendUint64(nil, r.fingerprint)
	b = binary.AppendUvarint(binary.AppendUvarint(b, uint64(r.pages)), uint64(len(r.prefix)))
	return append(append(b, r.prefix...), r.suffix...)
}

func decodeTitleRule(b []byte) (r titleRule, err error) {
	if len(b) == 0 {
		return r, nil
	}
	if len(b) > 8 {
		pages, n := binary.Uvarint(b[8:])
		rest := b[8+max(n, 0):]
		if prefix, m := binary.Uvarint(rest); n > 0 && m > 0 && pages <= titleSample && prefix <= uint64(len(rest)-m) {
			texts := string(rest[m:])
			return titleRule{binary.LittleEndian.Uint64(b), int(pages), texts[:prefix], texts[prefix:]}, nil
		}
	}
	return r, fmt.Errorf("%w: %d bytes", storage.ErrCorrupt, len(b))
}

// learn learns the host's rule again if its first pages are others than those of the old rule.
func (t *titles) learn(old titleRule) (err error) {
	if t.rule, err = t.learned(old); err != nil || t.rule == old {
		return err
	}
	if !t.rule.cuts(&old) { // its other pages wait for a refresh
		if err := t.rules.note(t.host); err != nil {
			return err
		}
	}
	return t.write()
}

// learned returns what the first pages of the current host say, or the old rule if they are those that it is of.
func (t *titles) learned(old titleRule) (titleRule, error) {
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
			return old, fmt.Errorf("crawldb record %s: %w", key, err)
		}
		if !r.Findable() {
			continue
		}
		h.Write(key)
		h.Write(r.Signature[:])
		h.Write(binary.LittleEndian.AppendUint32(nil, r.Segment))
		sample = append(sample, page{bytes.Clone(key), r.Segment})
	}
	if err := t.records.Err(); err != nil {
		return old, err
	}
	rule := titleRule{fingerprint: h.Sum64(), pages: len(sample)}
	switch {
	case rule.fingerprint == old.fingerprint && rule.pages == old.pages:
		return old, nil
	case len(sample) < titleLeast:
		return titleRule{}, nil
	case !t.always && len(sample) < 2*old.pages:
		return old, nil
	}
	var list []string
	t.texts.pass(t.host)
	for _, p := range sample {
		title, err := t.title(p.segment, p.key)
		if err != nil {
			return old, err
		}
		list = append(list, title)
	}
	rule.learn(list)
	return rule, nil
}

// title reads the title of a page.
func (t *titles) title(segment uint32, key []byte) (string, error) {
	value, err := t.texts.ahead(t.rd, segment, key)
	if err != nil || value == nil {
		return "", err
	}
	title, err := storage.ReadParseTitle(value)
	if err != nil {
		return "", fmt.Errorf("parse record %s of segment %d: %w", key, segment, err)
	}
	return string(title), nil
}

// cuts reports whether it cuts the same off as another rule.
func (r *titleRule) cuts(of *titleRule) bool { return r.prefix == of.prefix && r.suffix == of.suffix }

// shares reports whether there is anything to cut off.
func (r *titleRule) shares() bool { return r.prefix != "" || r.suffix != "" }

// cut returns a title without what the host's pages share. What would not leave a word stays.
func (r *titleRule) cut(title string) string {
	own, after := strings.CutSuffix(title, r.suffix)
	own, before := strings.CutPrefix(own, r.prefix)
	if own = strings.TrimSpace(own); r.shares() && after && before && strings.ContainsFunc(own, isWord) {
		return own
	}
	return title
}

func isWord(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }

// titleSeparators are the characters, between spaces, that sites put between a page's title and their name.
const titleSeparators = "|-–—·•»"

// learn finds the longest suffix that at least titleLeast different titles, and one in titleShare of them, have; if
// there is none, the longest such prefix.
func (r *titleRule) learn(list []string) {
	slices.Sort(list)
	list = slices.Compact(list)
	prefixes, suffixes := map[string]int{}, map[string]int{}
	for _, title := range list {
		for i := 1; i < len(title); i++ {
			c, n := utf8.DecodeRuneInString(title[i:])
			if title[i-1] == ' ' && strings.ContainsRune(titleSeparators, c) && strings.HasPrefix(title[i+n:], " ") {
				prefixes[title[:i+n]]++
				suffixes[title[i:]]++
			}
		}
	}
	longest := func(count map[string]int) (text string) {
		for t, n := range count {
			enough := n >= titleLeast && n*titleShare >= len(list)
			if enough && (len(t) > len(text) || len(t) == len(text) && t < text) {
				text = t
			}
		}
		return text
	}
	if r.suffix = longest(suffixes); r.suffix == "" {
		r.prefix = longest(prefixes)
	}
}
