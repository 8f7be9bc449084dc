// SPDX-License-Identifier: Apache-2.0

package web

import (
	"context"
	"errors"
	"mime"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/seine-crawler/seine/engine"
	"github.com/seine-crawler/seine/storage/urlkey"
)

// Bounds of stored copies.
const (
	copyMax       = 2 << 20 // bytes of a body that are shown
	capturesShown = 60      // in the list of fetches
	headersShown  = 100
	headerShown   = 500 // characters of a field
	instant       = "20060102150405.000"
)

// copyPolicy is the content security policy of a stored copy: it is a page of its own, opaque origin, without scripts,
// forms and network. Its links, which lead back into the store, may be followed.
const copyPolicy = "sandbox allow-top-navigation-by-user-activation; default-src 'none'; " +
	"style-src 'unsafe-inline'; img-src data:; font-src data:; form-action 'none'; base-uri 'none'; " +
	"frame-ancestors 'self'"

// copyView is the frame round a stored copy: what it is, and what else there is of the URL.
type copyView struct {
	URL      string
	Shown    string // the URL as people read it
	Copy     *engine.StoredCopy
	Captures []captureChoice
	More     bool // there are more captures than shown
	Missing  string
	Frame    string // address of the copy itself; "": it cannot be shown
	Text     string // of the parse record, where the copy itself cannot be shown
	Cut      bool
}

// captureChoice is one of the fetches of a URL.
type captureChoice struct {
	engine.CaptureView
	Address string
	Present bool
	Same    bool // the content is that of the fetch before
}

// copyPage shows a stored copy in its frame: GET /copy?url=…&at=….
func (h *Handler) copyPage(w http.ResponseWriter, r *http.Request) {
	p := &page{Room: "urls", base: h.o.Prefix}
	v := &copyView{URL: r.URL.Query().Get("url")}
	v.Shown = shownURL(v.URL)
	p.Title, p.Body = "Stored copy of "+v.Shown, v
	at := parseInstant(r.URL.Query().Get("at"))
	stored, err := h.e.Inspect().StoredCopy(r.Context(), v.URL, at)
	status := http.StatusOK
	switch {
	case errors.Is(err, engine.ErrNotFound) || isNoURL(v.URL):
		status, v.Missing = http.StatusNotFound, "There is no stored copy of this URL."
	case err != nil:
		h.failed(w, r, p.Room, err)
		return
	default:
		err = v.fill(r.Context(), h, p, &stored)
		if err != nil {
			h.failed(w, r, p.Room, err)
			return
		}
	}
	h.show(w, status, "copy", p)
}

func isNoURL(raw string) bool {
	_, err := urlkey.Parse(raw)
	return err != nil
}

// fill adds what there is of a URL of which something is stored.
func (v *copyView) fill(ctx context.Context, h *Handler, p *page, stored *engine.StoredCopy) error {
	v.Copy, v.URL = stored, stored.Capture.URL
	v.Shown = shownURL(v.URL)
	stored.Header = stored.Header[:min(len(stored.Header), headersShown)]
	for c, err := range h.e.Inspect().Captures(ctx, v.URL) {
		if err != nil {
			return err
		}
		if n := len(v.Captures); n > 0 && v.Captures[n-1].Digest == c.Digest {
			v.Captures[n-1].Same = true
		}
		if v.More = len(v.Captures) == capturesShown; v.More {
			break
		}
		v.Captures = append(v.Captures, captureChoice{
			CaptureView: c, Address: p.Path("/copy", "url", v.URL, "at", c.Time.Format(instant)),
			Present: c.Time.Equal(stored.Capture.Time),
		})
	}
	if kindOfCopy(stored) != "" {
		v.Frame = p.Path("/copy/page", "url", v.URL, "at", stored.Capture.Time.Format(instant))
		v.Cut = len(stored.Body) > copyMax
		return nil
	}
	for record, err := range h.e.Inspect().ParseRecords(ctx, stored.Content.Segment, v.URL) {
		if err == nil {
			v.Text = record.Text[:min(len(record.Text), copyMax)]
		}
	}
	return nil
}

// kindOfCopy says how a copy can be shown: "html", "text", a media type of images; "" if it cannot.
func kindOfCopy(c *engine.StoredCopy) string {
	if len(c.Body) == 0 {
		return ""
	}
	t := mediaTypeOf(c)
	switch {
	case t == "text/html" || t == "application/xhtml+xml":
		return "html"
	case strings.HasPrefix(t, "text/") || strings.HasSuffix(t, "json") || strings.HasSuffix(t, "xml"):
		return "text"
	case slices.Contains([]string{"image/png", "image/jpeg", "image/gif", "image/webp", "image/avif"}, t):
		return t
	}
	return ""
}

// mediaTypeOf is the type of a copy: what the parser found, or what the server says of a redirect or an error, which
// are not parsed.
func mediaTypeOf(c *engine.StoredCopy) string {
	if c.Content.MediaType != "" {
		return c.Content.MediaType
	}
	t, _, _ := mime.ParseMediaType(c.Field("Content-Type"))
	return t
}

// copyBody sends a stored copy itself, for the frame of copyPage: GET /copy/page?url=…&at=….
func (h *Handler) copyBody(w http.ResponseWriter, r *http.Request) {
	head := w.Header()
	head.Set("Content-Security-Policy", copyPolicy)
	head.Set("X-Content-Type-Options", "nosniff")
	head.Set("Cache-Control", "no-store")
	raw := r.URL.Query().Get("url")
	stored, err := h.e.Inspect().StoredCopy(r.Context(), raw, parseInstant(r.URL.Query().Get("at")))
	if err != nil {
		http.Error(w, "There is no stored copy of this URL.", http.StatusNotFound)
		return
	}
	stored.Body = stored.Body[:min(len(stored.Body), copyMax)]
	var body []byte
	switch kind := kindOfCopy(&stored); kind {
	case "html":
		head.Set("Content-Type", "text/html; charset=utf-8")
		p := &page{base: h.o.Prefix}
		body = harmless(stored.Text(), stored.Capture.URL, func(target string) string {
			return p.Path("/copy", "url", target)
		})
	case "text":
		head.Set("Content-Type", "text/plain; charset=utf-8")
		body = []byte(stored.Text())
	case "":
		http.Error(w, "A copy of this type is not shown.", http.StatusUnsupportedMediaType)
		return
	default:
		head.Set("Content-Type", kind)
		body = stored.Body
	}
	_, _ = w.Write(body) // the client went away
}

// parseInstant reads the parameter "at"; what makes no sense means the newest.
func parseInstant(text string) time.Time {
	for _, form := range []string{instant, "20060102150405", time.RFC3339Nano, time.DateOnly} {
		if t, err := time.Parse(form, text); err == nil {
			return t
		}
	}
	return time.Time{}
}
