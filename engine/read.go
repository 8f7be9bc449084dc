// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"encoding/hex"
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/seine-crawler/seine/storage"
	"github.com/seine-crawler/seine/storage/urlkey"
)

// RecordView is a crawldb record as people and scripts see it. Times are RFC 3339 in UTC, "" for
// never.
type RecordView struct {
	URL          string            `json:"url"`
	Status       string            `json:"status"`
	FetchTime    string            `json:"fetch_time"` // due next
	Interval     uint32            `json:"interval"`   // seconds
	Retries      uint8             `json:"retries"`
	Score        float64           `json:"score"`
	Depth        uint16            `json:"depth"`
	Hops         uint8             `json:"redirects,omitempty"` // one after the other, that led here
	Signature    string            `json:"signature"`           // hex, "" for none
	ModifiedTime string            `json:"modified_time"`
	HTTPStatus   uint16            `json:"http_status"`
	LastFetch    string            `json:"last_fetch"`
	Segment      uint32            `json:"segment"`
	Meta         map[string]string `json:"meta,omitempty"`
}

func (r RecordView) String() string {
	return fmt.Sprintf("%s\t%s\thttp %d\tscore %g\tdepth %d\tretries %d\tinterval %ds\tdue %s\tfetched %s\tsignature %s",
		r.URL, r.Status, r.HTTPStatus, r.Score, r.Depth, r.Retries, r.Interval, r.FetchTime, orDash(r.LastFetch), orDash(r.Signature))
}

func orDash(s string) string {
	if s == "" {
		return "-"
	}
	return s
}

// timeText writes milliseconds as RFC 3339, "" for 0.
func timeText(ms int64) string {
	if ms == 0 {
		return ""
	}
	return time.UnixMilli(ms).UTC().Format("2006-01-02T15:04:05.000Z07:00")
}

func viewRecord(key []byte, r *storage.Record) (RecordView, error) {
	u, err := urlkey.Key(key).URL()
	if err != nil {
		return RecordView{}, fmt.Errorf("%w: crawldb: %w", storage.ErrCorrupt, err)
	}
	v := RecordView{URL: u.String(), Status: r.Status.String(), FetchTime: timeText(r.FetchTime), Interval: r.Interval, Retries: r.Retries,
		Score: r.Score, Depth: r.Depth, Hops: r.Hops, ModifiedTime: timeText(r.ModifiedTime), HTTPStatus: r.HTTPStatus, LastFetch: timeText(r.LastFetch), Segment: r.Segment}
	if r.Signature != (storage.Signature{}) {
		v.Signature = hex.EncodeToString(r.Signature[:])
	}
	for _, f := range r.Meta {
		if v.Meta == nil {
			v.Meta = map[string]string{}
		}
		v.Meta[f.Name] = f.Value
	}
	return v, nil
}

// LookUp returns the record of one URL.
func (e *Engine) LookUp(raw string) (RecordView, error) {
	u, err := urlkey.Parse(raw)
	if err != nil {
		return RecordView{}, err
	}
	var r storage.Record
	ok, err := e.store.Record(u.Key(), &r)
	if err != nil {
		return RecordView{}, err
	}
	if !ok {
		reason := e.accept(u)
		if reason == "" {
			reason = "no page that was fetched links to it"
		} else {
			reason = "it is refused by the rule " + reason
		}
		return RecordView{}, fmt.Errorf("%s is not in crawldb: %s", u, reason)
	}
	return viewRecord([]byte(u.Key()), &r)
}

// RecordFilter chooses records.
type RecordFilter struct {
	Prefix string // of the key; or a host
	Status string // "" for any
}

// Records calls each with every chosen record, in key order.
func (e *Engine) Records(ctx context.Context, f RecordFilter, each func(RecordView) error) error {
	if f.Status != "" {
		if _, err := storage.ParseStatus(f.Status); err != nil {
			return err
		}
	}
	return e.eachRecord(ctx, f.Prefix, func(key []byte, r *storage.Record) error {
		if f.Status != "" && r.Status.String() != f.Status {
			return nil
		}
		v, err := viewRecord(key, r)
		if err != nil {
			return err
		}
		return each(v)
	})
}

// eachRecord walks the records below a prefix. A prefix without key punctuation is a host name.
func (e *Engine) eachRecord(ctx context.Context, prefix string, each func(key []byte, r *storage.Record) error) error {
	var from, to []byte
	if prefix != "" {
		if !strings.ContainsAny(prefix, ",)") {
			h, err := urlkey.ParseHost(prefix)
			if err != nil {
				return err
			}
			prefix = string(h)
		}
		from, to = []byte(prefix), prefixEnd([]byte(prefix))
	}
	sc := e.store.Scan(storage.Crawldb(), from, to)
	defer sc.Close()
	var r storage.Record
	for n := 0; sc.Next(); n++ {
		if n%4096 == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		if err := storage.DecodeRecord(sc.Value(), &r); err != nil {
			return fmt.Errorf("crawldb record %s: %w", sc.Key(), err)
		}
		if err := each(sc.Key(), &r); err != nil {
			return err
		}
	}
	return sc.Err()
}

// TopRecords returns the n records with the highest scores, best first.
func (e *Engine) TopRecords(ctx context.Context, n int) ([]RecordView, error) {
	best := bestOf{limit: n}
	err := e.eachRecord(ctx, "", func(key []byte, r *storage.Record) error {
		if best.wants(key, r.Score, r.Depth) {
			best.add(choice{key: urlkey.Key(key), score: r.Score, depth: r.Depth})
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	var list []RecordView
	for _, c := range best.sorted() {
		var r storage.Record
		if _, err := e.store.Record(c.key, &r); err != nil {
			return nil, err
		}
		v, err := viewRecord([]byte(c.key), &r)
		if err != nil {
			return nil, err
		}
		list = append(list, v)
	}
	return list, nil
}

// InlinkView is one link to a page.
type InlinkView struct {
	From   string `json:"from"`
	Anchor string `json:"anchor"`
}

func (l InlinkView) String() string { return l.From + "\t" + strings.Map(onePrintable, l.Anchor) }

// onePrintable replaces control bytes: anchors come from pages.
func onePrintable(r rune) rune {
	if r < ' ' || r >= 0x7f && r < 0xa0 {
		return ' '
	}
	return r
}

// Inlinks returns up to limit links to a URL, as the newest versions of the linking pages have them.
func (e *Engine) Inlinks(raw string, limit int) ([]InlinkView, error) {
	u, err := urlkey.Parse(raw)
	if err != nil {
		return nil, err
	}
	key := []byte(u.Key())
	sc := e.store.Scan(storage.Linkdb(), storage.AppendLinkdbKey(nil, key, 0), storage.AppendLinkdbKey(nil, key, math.MaxUint32))
	defer sc.Close()
	views := []InlinkView{}
	var links []storage.Inlink
	for sc.Next() && len(views) < limit {
		_, segment, err := storage.SplitLinkdbKey(sc.Key())
		if err == nil {
			links, err = storage.DecodeInlinks(sc.Value(), links[:0])
		}
		if err != nil {
			return nil, fmt.Errorf("inlinks of %s: %w", u, err)
		}
		for _, l := range links {
			var r storage.Record
			if _, err := e.store.Record(l.From, &r); err != nil {
				return nil, err
			}
			if r.Segment > segment {
				continue // the page was fetched again since: its newer links count
			}
			from, err := l.From.URL()
			if err != nil {
				return nil, err
			}
			views = append(views, InlinkView{from.String(), l.Anchor})
		}
	}
	return views[:min(len(views), limit)], sc.Err()
}

// HostFilter chooses hosts.
type HostFilter struct {
	Host string // "" for all
	Top  int    // the hosts with the most URLs; 0: all, in key order
}

// HostView is a host as people see it.
type HostView struct {
	Host     string            `json:"host"`
	URLs     uint64            `json:"urls"`
	ByStatus map[string]uint32 `json:"by_status"`
	NextDue  string            `json:"next_due"`
	Bytes    uint64            `json:"bytes"`   // received so far
	TookMS   uint64            `json:"took_ms"` // by fetchers so far
	Robots   []RobotsView      `json:"robots,omitempty"`
}

// RobotsView is the robots decision of one authority of a host.
type RobotsView struct {
	Scheme  string `json:"scheme"`
	Status  uint16 `json:"status"` // of robots.txt; 599: unreachable
	Fetched string `json:"fetched"`
	Expires string `json:"expires"`
	Bytes   int    `json:"bytes"`
}

func (h HostView) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\t%d URLs", h.Host, h.URLs)
	for _, s := range statuses() {
		if n := h.ByStatus[s.String()]; n > 0 {
			fmt.Fprintf(&b, "\t%s %d", s, n)
		}
	}
	fmt.Fprintf(&b, "\t%d bytes in %s", h.Bytes, time.Duration(h.TookMS)*time.Millisecond)
	for _, r := range h.Robots {
		fmt.Fprintf(&b, "\trobots.txt (%s) %d, %d bytes, until %s", r.Scheme, r.Status, r.Bytes, r.Expires)
	}
	return b.String()
}

// Hosts calls each with every chosen host.
func (e *Engine) Hosts(ctx context.Context, f HostFilter, each func(HostView) error) error {
	if f.Host != "" {
		h, err := urlkey.ParseHost(f.Host)
		if err != nil {
			return err
		}
		var counts storage.HostCounts
		ok, err := e.store.HostCounts(h, &counts)
		if err != nil {
			return err
		} else if !ok {
			return fmt.Errorf("host %s is not in hostdb", h)
		}
		v, err := e.viewHost(h, &counts)
		if err != nil {
			return err
		}
		return each(v)
	}
	best := bestOf{limit: f.Top}
	sc := e.store.Scan(storage.HostCountsRange(), nil, nil)
	defer sc.Close()
	var counts storage.HostCounts
	for sc.Next() && ctx.Err() == nil {
		if err := storage.DecodeHostCounts(sc.Value(), &counts); err != nil {
			return fmt.Errorf("hostdb counts of %s: %w", sc.Key(), err)
		}
		if f.Top > 0 {
			if total := float64(totalURLs(&counts)); best.wants(sc.Key(), total, 0) {
				best.add(choice{key: urlkey.Key(sc.Key()), score: total})
			}
			continue
		}
		v, err := e.viewHost(urlkey.HostKey(sc.Key()), &counts)
		if err != nil {
			return err
		}
		if err := each(v); err != nil {
			return err
		}
	}
	if err := sc.Err(); err != nil || best.heap.Len() == 0 {
		return err
	}
	for _, c := range best.sorted() {
		if err := e.Hosts(ctx, HostFilter{Host: urlkey.HostKey(c.key).String()}, each); err != nil {
			return err
		}
	}
	return ctx.Err()
}

// statuses lists all statuses in the order of their codes.
func statuses() (list []storage.Status) {
	for s := storage.StatusUnfetched; int(s) < storage.StatusCount; s++ {
		list = append(list, s)
	}
	return list
}

func totalURLs(c *storage.HostCounts) (n uint64) {
	for _, m := range c.ByStatus {
		n += uint64(m)
	}
	return n
}

func (e *Engine) viewHost(h urlkey.HostKey, c *storage.HostCounts) (HostView, error) {
	v := HostView{Host: h.String(), URLs: totalURLs(c), ByStatus: map[string]uint32{}, NextDue: timeText(c.NextDue), Bytes: c.Bytes, TookMS: c.TookMS}
	for _, s := range statuses() {
		if n := c.ByStatus[s]; n > 0 {
			v.ByStatus[s.String()] = n
		}
	}
	for _, scheme := range []string{"http", "https"} {
		var f storage.HostFacts
		ok, err := e.store.HostFacts(urlkey.HostKey(string(h)+" "+scheme), &f)
		if err != nil {
			return v, err
		}
		if ok && f.RobotsStatus != 0 {
			v.Robots = append(v.Robots, RobotsView{scheme, f.RobotsStatus, timeText(f.RobotsFetched), timeText(f.RobotsExpires), len(f.Robots)})
		}
	}
	return v, nil
}
