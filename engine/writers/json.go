// SPDX-License-Identifier: Apache-2.0

package writers

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"time"

	"github.com/seine-crawler/seine/engine/policy"
)

// fields is a document as all engines get it. A field that an index filter stored has stored_ before its name; it is an
// array if the name repeats.
type fields struct {
	ID       string   `json:"id"`
	Version  int64    `json:"version"`
	Deleted  bool     `json:"deleted,omitempty"` // JSON Lines only; nothing but id and version follows
	URL      string   `json:"url,omitempty"`
	Host     string   `json:"host,omitempty"`
	Title    string   `json:"title,omitempty"`
	Content  string   `json:"content,omitempty"`
	Text     string   `json:"text,omitempty"`
	Anchors  []string `json:"anchors,omitempty"`
	Language string   `json:"language,omitempty"`
	Type     string   `json:"type,omitempty"`
	Date     string   `json:"date,omitempty"`
	Fetched  string   `json:"fetched,omitempty"`
	Segment  uint32   `json:"segment,omitempty"`
	Digest   string   `json:"digest,omitempty"`
	Boost    float64  `json:"boost,omitempty"`
}

// storedPrefix begins the names of stored fields.
const storedPrefix = "stored_"

// isoMillis is how every engine reads times, without a format of its own.
const isoMillis = "2006-01-02T15:04:05.000Z"

// documentID is the id of a page: its URL, or a hash of a URL that is longer than idBytes.
func documentID(url string) string {
	if len(url) <= idBytes {
		return url
	}
	sum := sha256.Sum256([]byte(url))
	return "sha256:" + hex.EncodeToString(sum[:])
}

// AppendJSON appends a change as one JSON object without a line feed: the line of JSON Lines. A deletion has id,
// version and deleted alone. Bytes that are not UTF-8 become U+FFFD.
func AppendJSON(dst []byte, c *policy.IndexChange) []byte {
	f := fields{ID: documentID(c.ID), Version: c.Version, Deleted: c.Document == nil}
	d := c.Document
	if d == nil {
		return appendValue(dst, &f)
	}
	f.URL, f.Host, f.Title, f.Text, f.Content = d.URL, d.Host, d.Title, d.Text, d.Content
	f.Anchors, f.Language, f.Type = d.Anchors, d.Language, d.Type
	f.Segment, f.Digest, f.Boost = d.Segment, d.Digest, d.Boost
	f.Date, f.Fetched = timeText(d.Date), timeText(d.FetchTime)
	dst = appendValue(dst, &f)
	if len(d.Stored) == 0 {
		return dst
	}
	dst = dst[:len(dst)-1] // the object goes on
	done := map[string]bool{}
	for i := range d.Stored {
		name := d.Stored[i].Name
		if done[name] {
			continue
		}
		done[name] = true
		var values []string
		for _, v := range d.Stored[i:] {
			if v.Name == name {
				values = append(values, v.Value)
			}
		}
		dst = append(dst, ',')
		dst = append(appendValue(dst, storedPrefix+name), ':')
		if len(values) == 1 {
			dst = appendValue(dst, values[0])
		} else {
			dst = appendValue(dst, values)
		}
	}
	return append(dst, '}')
}

func timeText(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format(isoMillis)
}

// appendValue appends v as JSON, with <, > and & as they are.
func appendValue(dst []byte, v any) []byte {
	b := bytes.NewBuffer(dst)
	e := json.NewEncoder(b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		panic("BUG: writers: " + err.Error()) // all are strings and numbers, and index.Document.Check knows the boost
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}
