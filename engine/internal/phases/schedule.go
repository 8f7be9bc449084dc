// SPDX-License-Identifier: Apache-2.0

package phases

import (
	"math"
	"strconv"
	"time"

	"github.com/seine-crawler/seine/engine/policy"
	"github.com/seine-crawler/seine/storage"
	"github.com/seine-crawler/seine/storage/urlkey"
)

// urlSchedule says when a URL is fetched again.
type urlSchedule struct {
	schedule policy.FetchSchedule
	own      uint32        // the interval that its seed line or its settings demand, in seconds; 0: none
	bounds   policy.Bounds // of its host and its media type
}

// scheduleOf returns the schedule of a URL: an interval that its seed line fixes decides alone, then one in its
// settings; else the crawl's schedule does, with the rule of the media type, within the bounds of the host. was is the
// record before the fetch, o the outcome; nil: there was no fetch.
func (p *Phases) scheduleOf(key []byte, was *storage.Record, o *storage.FetchOutcome) (urlSchedule, error) {
	s := urlSchedule{schedule: p.env.Schedule, own: fixedInterval(was)}
	set := p.settingsOf(urlkey.Key(key))
	if s.own == 0 && set != nil && set.Interval > 0 {
		s.own = uint32(min(set.Interval/time.Second, math.MaxUint32))
	}
	if s.own > 0 {
		s.schedule = policy.FixedSchedule{MaxInterval: p.maxInterval}
		return s, nil
	}
	if len(p.env.TypeRules) > 0 {
		name, err := p.mediaTypeOf(key, was, o)
		if err != nil {
			return s, err
		}
		if rule := p.env.TypeRules.For(name); rule != nil {
			capped := *rule
			capped.Bounds = p.capped(rule.Bounds)
			s.schedule, s.bounds = capped.Schedule(s.schedule), capped.Bounds
		}
	}
	if set != nil { // a host's bounds come after those of a type
		own := p.capped(policy.BoundsOf(set.MinInterval, set.MaxInterval))
		s.schedule, s.bounds = policy.BoundedSchedule{FetchSchedule: s.schedule, Bounds: own}, s.bounds.Under(own)
	}
	return s, nil
}

// fixedInterval is the interval that the seed line of a record has fixed, in seconds; 0: none.
func fixedInterval(r *storage.Record) uint32 {
	for _, f := range r.Meta {
		if f.Name == policy.MetaFixedInterval {
			v, _ := strconv.ParseUint(f.Value, 10, 32) // what cannot be read is none
			return uint32(v)
		}
	}
	return 0
}

// capped lowers bounds to the longest interval of the crawl: a page whose interval were longer would be unfetched.
func (p *Phases) capped(b policy.Bounds) policy.Bounds {
	b.Min = min(b.Min, p.maxInterval)
	return b
}

// answered reports whether a fetch ended in what a schedule is told of.
func answered(o *storage.FetchOutcome) bool {
	switch o.Status {
	case storage.FetchSuccess, storage.FetchNotModified, storage.FetchRedirTemp, storage.FetchRedirPerm:
		return true
	}
	return false
}

// settingsOf are the settings of a URL, nil if it has none.
func (p *Phases) settingsOf(key urlkey.Key) *policy.HostSettings {
	if !p.env.Admission.HasSettings() {
		return nil
	}
	u, err := key.URL()
	if err != nil {
		return nil
	}
	return p.env.Admission.URLSettings(u)
}

// mediaTypeOf is the media type of an outcome, or of the content before it, which a 304 confirms; "": unknown.
func (p *Phases) mediaTypeOf(key []byte, was *storage.Record, o *storage.FetchOutcome) (string, error) {
	if o != nil && o.MediaType != "" {
		return o.MediaType, nil
	}
	if was.Segment == 0 {
		return "", nil
	}
	var before storage.FetchOutcome
	_, err := storage.OutcomeIn(p.env.Store, was.Segment, key, &before)
	return before.MediaType, err
}

// hinted applies a hint to a record, or notes it for after its next fetch, unless an interval of its own decides alone.
func (u *update) hinted(key []byte, h hint, r *storage.Record) error {
	s, err := u.p.scheduleOf(key, r, nil)
	if err != nil || s.own > 0 {
		return err
	}
	if h.waits(r, u.now) {
		h.keep(r)
		return nil
	}
	due := r.FetchTime
	if h.apply(r, s.bounds, u.p.maxInterval, u.now); r.FetchTime > due {
		return u.p.untilUnavailable(key, r)
	}
	return nil
}

// untilUnavailable makes a page whose fetch was moved due when it must not be found any more, if it says so and that is
// earlier. Such a page has no validators: see fetchWhenUnavailable.
func (p *Phases) untilUnavailable(key []byte, r *storage.Record) error {
	if r.Segment == 0 || r.ETag != "" || r.LastModified != "" {
		return nil
	}
	var content storage.FetchOutcome
	if _, err := storage.OutcomeIn(p.env.Store, r.Segment, key, &content); err != nil {
		return err
	}
	fetchWhenUnavailable(r, &content)
	return nil
}
