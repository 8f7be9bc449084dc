// SPDX-License-Identifier: Apache-2.0

package inspect

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math"
	"mime"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/seine-crawler/seine/engine/fetch"
	"github.com/seine-crawler/seine/storage"
	"github.com/seine-crawler/seine/storage/urlkey"
	"github.com/seine-crawler/seine/storage/warc"
)

// CaptureOf is one capture of a URL. Times are in ms since 1970.
type CaptureOf struct {
	Time int64
	storage.CDX
	// RevisitOf is the time of the capture with the content that this one confirmed: its answer was 304. That is the
	// newest with its digest, or with any where no digest says which. 0: it has its own content, or that capture is
	// gone.
	RevisitOf int64

	unsealed *Unsealed // nil: its segment is sealed, and the store has its parse record
}

// CapturesOf returns the captures of a URL, newest first; of more than capturesMax the newest.
func (in *Inspect) CapturesOf(ctx context.Context, u urlkey.URL) ([]CaptureOf, error) {
	v, err := in.visitsOf(u)
	if err != nil {
		return nil, err
	}
	list, err := v.captures(ctx)
	return list, errors.Join(err, v.Close())
}

// captures returns the captures, newest first; of more than capturesMax the newest.
func (v *visits) captures(ctx context.Context) ([]CaptureOf, error) {
	key := []byte(v.url.Key())
	from, to := storage.AppendCDXKey(nil, key, 0), storage.AppendCDXKey(nil, key, math.MaxInt64)
	var list []CaptureOf
	content, contents := int64(0), map[[20]byte]int64{} // times of captures
	add := func(c CaptureOf) {
		switch {
		case c.HTTPStatus == http.StatusNotModified:
			c.RevisitOf = cmp.Or(contents[c.Digest], content)
		case c.HasContent():
			content, contents[c.Digest] = c.Time, c.Time
		}
		if len(list) >= 2*capturesMax {
			list = append(list[:0], list[len(list)-capturesMax:]...)
			maps.DeleteFunc(contents, func(_ [20]byte, at int64) bool { return at < list[0].Time })
		}
		list = append(list, c)
	}
	unsealed := v.unsealedCaptures()
	for e, err := range scan(ctx, v, storage.CDXRange(), from, to, storage.DecodeCDX) {
		if err != nil {
			return nil, fmt.Errorf("captures of %s: %w", v.url, err)
		}
		c := CaptureOf{CDX: *e.value}
		if _, c.Time, err = storage.SplitCDXKey(e.key); err != nil {
			return nil, fmt.Errorf("captures of %s: %w", v.url, err)
		}
		for len(unsealed) > 0 && unsealed[0].Time < c.Time {
			add(unsealed[0])
			unsealed = unsealed[1:]
		}
		add(c)
	}
	for _, c := range unsealed {
		add(c)
	}
	list = list[max(len(list)-capturesMax, 0):]
	slices.Reverse(list)
	return list, nil
}

// unsealedCaptures are the responses among the fetches that are not sealed, oldest first.
func (v *visits) unsealedCaptures() (list []CaptureOf) {
	for i := range v.unsealed {
		if x := &v.unsealed[i]; x.Outcome.HTTPStatus != 0 {
			list = append(list, CaptureOf{Time: x.Outcome.Time, CDX: x.Capture, unsealed: x})
		}
	}
	return list
}

// Copy is a stored response.
type Copy struct {
	Capture CaptureOf       // that was chosen
	Content CaptureOf       // that has the body: Capture, or what it is a revisit of
	Header  []storage.Field // of Content, as received
	// Body is without transfer and content coding, at most copyBytesMax of it. Truncated says why it is not whole: as
	// in WARC-Truncated, "length" because of copyBytesMax too, or "decode" if its coding is damaged.
	Body      []byte
	Truncated string
	// Charset is what the parser found, or what Content-Type says; "": neither.
	Charset string
	// Flags are the page's own directives, such as storage.FlagNoArchive; 0 if its parse record is purged.
	Flags storage.ParseFlags
}

// StoredCopy reads the capture of a URL that is nearest to a time; the zero time means the newest with content, or the
// newest if none has. A capture without content of its own has that of the one that it confirmed. Errors: ErrNotFound.
func (in *Inspect) StoredCopy(ctx context.Context, u urlkey.URL, at time.Time) (Copy, error) {
	c, err := in.storedCopy(ctx, u, at)
	if errors.Is(err, fs.ErrNotExist) { // Purge has moved the record, or removed it
		c, err = in.storedCopy(ctx, u, at)
	}
	if err != nil {
		return Copy{}, fmt.Errorf("stored copy of %s: %w", u, err)
	}
	return c, nil
}

func (in *Inspect) storedCopy(ctx context.Context, u urlkey.URL, at time.Time) (c Copy, err error) {
	v, err := in.visitsOf(u)
	if err != nil {
		return c, err
	}
	defer v.Close()
	list, err := v.captures(ctx)
	if err != nil {
		return c, err
	}
	if len(list) == 0 {
		return c, fmt.Errorf("%w: no segment has a response", ErrNotFound)
	}
	c.Capture = nearest(list, at)
	c.Content = c.Capture
	if of := c.Capture.RevisitOf; of != 0 {
		for i := range list {
			if list[i].Time == of {
				c.Content = list[i]
			}
		}
	}
	if err := in.readCopy(&c); err != nil {
		return c, err
	}
	return c, addParsed(v, u, &c)
}

// nearest chooses from captures, newest first.
func nearest(list []CaptureOf, at time.Time) CaptureOf {
	if at.IsZero() {
		for i := range list {
			if list[i].HasContent() || list[i].RevisitOf != 0 {
				return list[i]
			}
		}
		return list[0]
	}
	distance := func(c *CaptureOf) int64 { return max(c.Time-at.UnixMilli(), at.UnixMilli()-c.Time) }
	best := 0
	for i := range list {
		if distance(&list[i]) < distance(&list[best]) {
			best = i
		}
	}
	return list[best]
}

// readCopy reads the response of a copy from its WARC file.
func (in *Inspect) readCopy(c *Copy) (err error) {
	path := in.env.Dir + "/" + c.Content.Location.File
	size, err := in.env.FS.Size(path)
	if err != nil {
		return err
	}
	f, err := in.env.FS.Open(path)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	rec, err := warc.ReadAt(f, size, c.Content.Location)
	if err != nil {
		return err
	}
	head, body, err := rec.HTTP()
	if err != nil {
		return err
	}
	resp, err := fetch.StoredResponse(head, body, rec.Field("WARC-Truncated"))
	if err != nil {
		return err
	}
	defer resp.Release()
	c.Truncated = resp.Truncated
	if _, parameters, err := mime.ParseMediaType(resp.ContentType()); err == nil {
		c.Charset = strings.ToLower(parameters["charset"])
	}
	for name, value := range resp.Fields() {
		c.Header = append(c.Header, storage.Field{Name: name, Value: value})
	}
	content, cut, err := resp.Content()
	if cut && c.Truncated == "" {
		c.Truncated = "length"
	}
	if err != nil {
		c.Truncated = "decode"
	}
	if len(content) > copyBytesMax {
		content, c.Truncated = content[:copyBytesMax], "length"
	}
	c.Body = slices.Clone(content)
	return nil
}

// addParsed adds what the parser found out about a copy.
func addParsed(rd storage.Reader, u urlkey.URL, c *Copy) error {
	if x := c.Content.unsealed; x != nil {
		if c.Flags = x.Outcome.Flags; x.Text != nil {
			c.Charset = cmp.Or(x.Text.Charset, c.Charset)
		}
		return nil
	}
	return c.addSealed(rd, []byte(u.Key()))
}

// addSealed adds what the parse record of a copy says, if there is one.
func (c *Copy) addSealed(rd storage.Reader, key []byte) error {
	var o storage.FetchOutcome
	ok, err := storage.OutcomeIn(rd, c.Content.Segment, key, &o)
	if err != nil || !ok {
		return err
	}
	if o.Time != c.Content.Time { // the segment may have several captures of the URL
		return nil
	}
	c.Flags = o.Flags
	value, ok, err := rd.Get(storage.ParseTextRange(c.Content.Segment), key, nil)
	if err != nil || !ok {
		return err
	}
	var text storage.ParseText
	if err := storage.DecodeParseText(value, &text); err != nil {
		return err
	}
	c.Charset = cmp.Or(text.Charset, c.Charset)
	return nil
}
