// SPDX-License-Identifier: Apache-2.0

package index

import (
	"errors"
	"fmt"
	"time"
	"unicode/utf8"

	"github.com/seine-crawler/seine/index/analysis"
	"github.com/seine-crawler/seine/storage"
	"github.com/seine-crawler/seine/storage/urlkey"
)

// ErrDocument is the error of a Document that the index does not take; the message names the document and the reason.
// Nothing of the document was added, and the Builder can go on. Compare with errors.Is.
var ErrDocument = errors.New("document does not fit the index")

// Document is one page as it is indexed. Searches match Title, Headings, Anchors, URL and Text; Language, Type, Date,
// Fetched, Size and Group are values for filters, orders and counts; the fields from Stored on change how a hit is
// ranked and shown. The zero value of each field but Key means that the document has no such thing.
type Document struct {
	Key      urlkey.Key // of its URL, under which it is replaced and deleted
	URL      string     // its words are searched; mostly that of Key
	Title    string
	Anchors  []string            // texts of links to the page
	Text     string              // of the whole page
	Content  []storage.TextRange // the main content as parts of Text, in order and apart; none: all of it
	Headings []string            // texts of the headings, which are also in Text; they count more than other words
	Language string              // code, "en" or "en-US", of which "en" is kept; at most ValueBytesMax bytes, as Type
	Type     string              // media type, like "text/html"
	Size     int64               // in bytes, for the filter size:; the engine gives that of the text
	Group    uint64              // near-duplicates have the same; 0: none
	Author   string              // comes back with hits; at most AuthorMax bytes
	Stamp    uint64              // the caller's: tells whether the document is still what it was

	// Stored are fields that every hit of the document returns, in this order; names may repeat. At most
	// StoredFieldsMax, with names and values of at most StoredBytesMax bytes in all. Queries find their words, numbers
	// and whole values of at most FieldValueMax bytes by name, such as price:10..20, if the name has at most
	// FieldNameMax bytes, begins with a letter, and consists of ASCII letters, digits, _ and -, whose case does not
	// matter; unless the name has another meaning in queries, such as title. Other names are stored only. There should
	// be few different names: the index holds them in memory.
	Stored []storage.Field
	// Date is returned with hits, in UTC and cut to milliseconds; for example the date of publication. The zero Time
	// means none; the year must be from 0 to 9999.
	Date time.Time
	// Fetched is when the text was fetched, for the filter fetched:, OrderFetched and hits. It is kept as Date is.
	Fetched time.Time
	// Boost multiplies the document's score in every search. 0 means 1; it must be at least LeastBoost, and finite.
	Boost float64
	// ShowTitle and ShowText come back with hits, for display. If not empty, ShowTitle replaces the page's title, and
	// ShowText replaces the page's text as the text that snippets are cut from. Neither is searched. ShowTitle must
	// have at most ShowTitleMax bytes; a longer ShowText is cut to ShowTextMax bytes.
	ShowTitle, ShowText string
}

// Check returns the ErrDocument that Builder.Add would return, or nil. An index filter may use it to find what it must
// shorten or drop.
func (d *Document) Check() error {
	refuse := func(format string, args ...any) error {
		return fmt.Errorf("indexing %s: %w: %s", d.URL, ErrDocument, fmt.Sprintf(format, args...))
	}
	if _, err := d.Key.URL(); err != nil {
		return refuse("its key %q is not that of a URL", d.Key)
	}
	from := uint32(0)
	for _, part := range d.Content {
		if part.From < from || part.To < part.From || int(part.To) > len(d.Text) {
			return refuse("its content from %d to %d does not fit: the text has %d bytes, the part before ends at %d",
				part.From, part.To, len(d.Text), from)
		}
		from = part.To
	}
	if n := len(d.Stored); n > StoredFieldsMax {
		return refuse("it has %d stored fields, more than %d", n, StoredFieldsMax)
	}
	n := 0
	for _, f := range d.Stored {
		n += len(f.Name) + len(f.Value)
	}
	if n > StoredBytesMax {
		return refuse("its stored fields have %d bytes, more than %d", n, StoredBytesMax)
	}
	for _, v := range []struct {
		what, value string
		most        int
	}{{"language", d.Language, ValueBytesMax}, {"type", d.Type, ValueBytesMax}, {"author", d.Author, AuthorMax}} {
		if len(v.value) > v.most {
			return refuse("its %s has %d bytes, more than %d", v.what, len(v.value), v.most)
		}
	}
	if len(d.Headings) > HeadingsMax {
		return refuse("it has %d headings, more than %d", len(d.Headings), HeadingsMax)
	}
	if d.Size < 0 {
		return refuse("its size is %d, less than 0", d.Size)
	}
	if n := len(d.ShowTitle); n > ShowTitleMax {
		return refuse("its title to show has %d bytes, more than %d", n, ShowTitleMax)
	}
	if d.Boost != 0 && !validBoost(d.Boost) {
		return refuse("its boost is %v: want at least %v, and finite", d.Boost, LeastBoost)
	}
	for _, v := range []struct {
		what string
		at   time.Time
	}{{"date", d.Date}, {"fetch time", d.Fetched}} {
		if y := v.at.UTC().Year(); !v.at.IsZero() && (y < 0 || y > 9999) {
			return refuse("its %s is in the year %d, not in 0 to 9999", v.what, y)
		}
	}
	return nil
}

// language is that of the words' forms: English if none is stated.
func (d *Document) language() analysis.Language {
	if d.Language == "" {
		return analysis.English
	}
	return analysis.LanguageOf(d.Language)
}

// boost returns the factor to keep, 0 for none.
func (d *Document) boost() float64 {
	if d.Boost == 1 {
		return 0
	}
	return d.Boost
}

// urlWords leaves out the scheme, which every URL has.
func urlWords(u string) string {
	for _, p := range []string{"https://", "http://"} {
		if len(u) > len(p) && u[:len(p)] == p {
			return u[len(p):]
		}
	}
	return u
}

// cutText returns the first bytes of a text, without the half of a character.
func cutText(text string, most int) string {
	if len(text) <= most {
		return text
	}
	for most > 0 && !utf8.RuneStart(text[most]) {
		most--
	}
	return text[:most]
}
