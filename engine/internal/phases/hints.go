// SPDX-License-Identifier: Apache-2.0

package phases

import (
	"encoding/binary"
	"slices"
	"strconv"

	"github.com/seine-crawler/seine/engine/policy"
	"github.com/seine-crawler/seine/storage"
)

// hint is what sitemaps and feeds of a host say of one of its URLs. The zero value says nothing.
//
// Nobody checks whether it is true, so its influence is bounded: after apply a page is due no earlier than a
// hintEarliest-th of its interval after the last fetch, no later than hintLatest intervals after it, and what is due
// already stays due. So a site that lies costs itself at most hintEarliest times its fetches, and keeps none of its
// pages from being fetched. Under an adaptive schedule lies wear off: fetches that find nothing new lengthen the
// interval.
type hint struct {
	modified int64  // the last change, ms; 0: not given
	at       int64  // when the newest of the sitemaps and feeds was fetched, ms
	every    uint32 // seconds between changes; 0: not given
}

const (
	hintEarliest = 4
	hintLatest   = 2
	// hintFutureMS is how far ahead of the fetch of its sitemap a change may be: clocks differ, and dates have zones.
	hintFutureMS = 24 * 3600 * 1000

	hintBytes = 20
)

// hintOf is what a link of a page that was fetched at a time says.
func hintOf(h *storage.LinkHint, at int64) hint {
	return hint{modified: h.Modified * 1000, at: at, every: h.Every}
}

// plus adds what another says. The order does not matter. A change before 1970 is none.
func (h hint) plus(o hint) hint {
	h.modified, h.at = max(h.modified, o.modified), max(h.at, o.at)
	if h.every == 0 || o.every != 0 && o.every < h.every {
		h.every = o.every
	}
	return h
}

func (h hint) append(dst []byte) []byte {
	dst = binary.LittleEndian.AppendUint64(dst, uint64(h.modified))
	dst = binary.LittleEndian.AppendUint64(dst, uint64(h.at))
	return binary.LittleEndian.AppendUint32(dst, h.every)
}

// readHint reads what append wrote, and returns the rest.
func readHint(b []byte) (hint, []byte) {
	return hint{
		modified: int64(binary.LittleEndian.Uint64(b)), at: int64(binary.LittleEndian.Uint64(b[8:])),
		every: binary.LittleEndian.Uint32(b[16:]),
	}, b[hintBytes:]
}

// waits reports whether a hint says how often a page changes that is to be fetched first, as a sitemap says it of the
// pages that it makes known. That fetch finds out itself what is true of dates; how often counts after it.
func (h hint) waits(r *storage.Record, now int64) bool {
	first := r.Status == storage.StatusUnfetched || hasContent(r.Status) && (r.Retries != 0 || r.FetchTime <= now)
	return h.every != 0 && first
}

// keep notes it in the record's metadata.
func (h hint) keep(r *storage.Record) {
	r.Meta = slices.DeleteFunc(slices.Clone(r.Meta), isKeptHint)
	if len(r.Meta) < storage.MetaFieldsMax {
		text := strconv.FormatUint(uint64(h.every), 10)
		r.Meta = append(r.Meta, storage.Field{Name: policy.MetaChangeEvery, Value: text})
	}
}

// keptHint takes the hint that waited for a fetch from a record whose content is known now.
func keptHint(r *storage.Record) hint {
	i := slices.IndexFunc(r.Meta, isKeptHint)
	if i < 0 || !hasContent(r.Status) || r.Retries != 0 {
		return hint{}
	}
	every, _ := strconv.ParseUint(r.Meta[i].Value, 10, 32) // what cannot be read is none
	r.Meta = slices.Delete(slices.Clone(r.Meta), i, i+1)
	return hint{every: uint32(every)}
}

func isKeptHint(f storage.Field) bool { return f.Name == policy.MetaChangeEvery }

// apply moves the time of the next fetch of a page whose content is known. bounds are those of its host and type.
//
//	changed since the last fetch         as early as may be
//	changes in some interval             after that, as near as may be
//	not changed when the hint was read   an interval after that, if that is later
func (h hint) apply(r *storage.Record, bounds policy.Bounds, maxInterval uint32, now int64) {
	switch r.Status {
	case storage.StatusFetched, storage.StatusNotModified, storage.StatusDuplicate:
	default:
		return
	}
	if h == (hint{}) || r.LastFetch == 0 || r.Interval == 0 || r.Retries != 0 || r.FetchTime <= now {
		return
	}
	longest := min(uint64(r.Interval)*hintLatest, uint64(max(maxInterval, r.Interval)))
	if bounds.Max != 0 {
		longest = min(longest, uint64(max(bounds.Max, r.Interval)))
	}
	earliest := r.LastFetch + int64(max(r.Interval/hintEarliest, bounds.Min, 1))*1000
	latest := max(r.LastFetch+int64(longest)*1000, earliest)
	at := r.FetchTime
	switch {
	case h.modified > r.LastFetch && h.modified <= h.at+hintFutureMS:
		at = min(at, earliest)
	case h.every != 0:
		at = r.LastFetch + int64(h.every)*1000
	case h.modified != 0 && h.modified <= r.LastFetch && h.at > r.LastFetch:
		at = max(at, h.at+int64(r.Interval)*1000)
	}
	r.FetchTime = min(max(at, earliest), latest)
}
