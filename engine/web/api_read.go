// SPDX-License-Identifier: Apache-2.0

package web

import (
	"iter"
	"regexp"
	"strconv"

	"github.com/seine-crawler/seine/engine"
	"github.com/seine-crawler/seine/storage"
)

func (h *Handler) record(c *call) (any, error) { return h.e.Inspect().Record(c.text("url")) }

func (h *Handler) records(c *call) (any, error) {
	f := engine.RecordFilter{Prefix: c.text("prefix"), Sample: c.count("sample")}
	for _, name := range c.texts("status") {
		s, err := storage.ParseStatus(name)
		if err != nil {
			return nil, wrongParameter("status", "%v", err)
		}
		f.Statuses = append(f.Statuses, s)
	}
	if text := c.text("regex"); text != "" {
		var err error
		if f.URL, err = regexp.Compile(text); err != nil {
			return nil, wrongParameter("regex", "%v", err)
		}
	}
	top := c.count("top")
	if top > 0 && (f.Sample > 0 || f.Prefix != "" || f.URL != nil || f.Statuses != nil) {
		return nil, wrongParameter("top", "it is of all records: give no prefix, status, regex or sample")
	}
	if top > 0 {
		best, err := h.e.Inspect().TopRecords(c.ctx, top)
		return list[engine.RecordView]{
			from: func(string) iter.Seq2[engine.RecordView, error] { return each(best) },
		}, err
	}
	l := list[engine.RecordView]{
		from: func(after string) iter.Seq2[engine.RecordView, error] {
			f.After = after
			return h.e.Inspect().Records(c.ctx, f)
		},
	}
	if f.Sample == 0 { // a sample is of all records, also of those before a position: its pages are found by counting
		l.at = func(r engine.RecordView) string { return r.URL }
	}
	return l, nil
}

func (h *Handler) stats(c *call) (any, error) { return h.e.Inspect().Stats(c.ctx, c.on("hosts")) }

func (h *Handler) indexStats(*call) (any, error) { return h.e.Inspect().IndexStats() }

func (h *Handler) host(c *call) (any, error) {
	if c.text("host") == "" {
		return nil, wrongParameter("host", "it is empty")
	}
	for v, err := range h.e.Inspect().Hosts(c.ctx, engine.HostFilter{Host: c.text("host")}) {
		return v, err
	}
	return nil, engine.ErrNotFound
}

func (h *Handler) hosts(c *call) (any, error) {
	top := c.count("top")
	if top == 0 && c.given("by") {
		top = pageMax
	}
	l := list[engine.HostView]{from: func(after string) iter.Seq2[engine.HostView, error] {
		return h.e.Inspect().Hosts(c.ctx, engine.HostFilter{
			Top: top, By: engine.HostOrder(c.text("by")), After: after,
		})
	}}
	if top == 0 {
		l.at = func(v engine.HostView) string { return v.Host }
	}
	return l, nil
}

func (h *Handler) links(c *call) (any, error) {
	return list[engine.InlinkView]{from: func(string) iter.Seq2[engine.InlinkView, error] {
		if c.given("url") {
			return h.e.Inspect().Inlinks(c.ctx, c.text("url"), 0)
		}
		return h.e.Inspect().Links(c.ctx)
	}}, nil
}

func (h *Handler) segments(c *call) (any, error) {
	return list[engine.SegmentView]{
		from: func(after string) iter.Seq2[engine.SegmentView, error] {
			last, err := strconv.ParseUint(after, 10, 32)
			if after != "" && err != nil {
				return failing[engine.SegmentView](wrongCursor())
			}
			return behind(h.e.Inspect().Segments(c.ctx), func(s engine.SegmentView) bool {
				return s.Segment > uint32(last)
			})
		},
		at: func(s engine.SegmentView) string { return strconv.FormatUint(uint64(s.Segment), 10) },
	}, nil
}

func (h *Handler) segment(c *call) (any, error) {
	return h.e.Inspect().Segment(uint32(c.count("segment")))
}

func (h *Handler) parses(c *call) (any, error) {
	return list[engine.ParseView]{from: func(string) iter.Seq2[engine.ParseView, error] {
		return h.e.Inspect().ParseRecords(c.ctx, uint32(c.count("segment")), c.text("url"))
	}}, nil
}

func (h *Handler) check(c *call) (any, error) {
	in := h.e.Inspect()
	switch c.text("scope") {
	case "outlink":
		return in.Check(c.text("url"), "outlink")
	case "fetcher":
		return in.Check(c.text("url"), "fetcher")
	}
	return in.Check(c.text("url"), "inject")
}

// each streams a list.
func each[T any](values []T) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		for _, v := range values {
			if !yield(v, nil) {
				return
			}
		}
	}
}

// failing is a stream that an error ends at once.
func failing[T any](err error) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		var none T
		yield(none, err)
	}
}

// behind leaves out the values before a position.
func behind[T any](values iter.Seq2[T, error], is func(T) bool) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		for v, err := range values {
			if err == nil && !is(v) {
				continue
			}
			if !yield(v, err) {
				return
			}
		}
	}
}
