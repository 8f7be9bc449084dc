// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/seine-crawler/seine/storage"
)

// Bounds are the shortest and the longest interval between two fetches, in seconds; 0 leaves an end open. (Nutch has
// them by host, in adaptive-host-specific-intervals.txt.)
type Bounds struct{ Min, Max uint32 }

// BoundsOf makes bounds of durations, in whole seconds.
func BoundsOf(shortest, longest time.Duration) Bounds {
	seconds := func(d time.Duration) uint32 { return uint32(min(max(d/time.Second, 0), math.MaxUint32)) }
	return Bounds{seconds(shortest), seconds(longest)}
}

// within returns seconds within the bounds. Where Max is less than Min, Min wins.
func (b Bounds) within(seconds uint32) uint32 {
	if b.Max != 0 {
		seconds = min(seconds, b.Max)
	}
	return max(seconds, b.Min)
}

// Under returns the bounds that hold where others come after b.
func (b Bounds) Under(over Bounds) Bounds {
	all := Bounds{Min: over.within(b.Min), Max: over.Max}
	if b.Max != 0 {
		all.Max = over.within(b.Max)
	}
	return all
}

// BoundedSchedule is a schedule whose intervals, and times to the next fetch, stay within bounds.
type BoundedSchedule struct {
	FetchSchedule
	Bounds Bounds
}

// Reschedule does what the schedule does, and brings the result within the bounds.
func (s BoundedSchedule) Reschedule(r *storage.Record, c Change, at int64) {
	s.FetchSchedule.Reschedule(r, c, at)
	r.Interval = s.Bounds.within(r.Interval)
	wait := (r.FetchTime - at) / 1000
	if within := int64(s.Bounds.within(uint32(min(max(wait, 0), math.MaxUint32)))); within != wait {
		r.FetchTime = at + within*1000
	}
}

// TypeRule says how pages of a media type are fetched again. (Nutch: MimeAdaptiveFetchSchedule and its file
// adaptive-mimetypes.txt, which has the rates only.)
type TypeRule struct {
	Type string // "application/pdf", "image/*" or "*"
	// IncRate and DecRate are those of an AdaptiveSchedule; 0: the schedule's own. Other schedules have no rates.
	IncRate, DecRate float64
	Bounds           Bounds
}

// ParseTypeRule reads a rule such as "image/* min=240h max=2160h" or "text/html inc=0.2 dec=0.5 min=1h".
func ParseTypeRule(text string) (TypeRule, error) {
	words := strings.Fields(strings.ToLower(text))
	if len(words) < 2 {
		return TypeRule{}, errors.New(`want a media type and bounds or rates, such as "image/* min=240h"`)
	}
	rule := TypeRule{Type: words[0]}
	main, sub, found := strings.Cut(rule.Type, "/")
	if rule.Type != "*" && (!found || main == "" || main == "*" || sub == "") {
		return rule, fmt.Errorf("%q is no media type: want TYPE/SUBTYPE, TYPE/* or *", rule.Type)
	}
	var shortest, longest time.Duration
	for _, word := range words[1:] {
		name, value, _ := strings.Cut(word, "=")
		var err error
		switch name {
		case "min":
			shortest, err = wholeSeconds(value)
		case "max":
			longest, err = wholeSeconds(value)
		case "inc":
			rule.IncRate, err = rate(value, math.MaxFloat64)
		case "dec":
			rule.DecRate, err = rate(value, 1)
		default:
			err = errors.New("want min=, max=, inc= or dec=")
		}
		if err != nil {
			return rule, fmt.Errorf("%q: %w", word, err)
		}
	}
	if longest != 0 && longest < shortest {
		return rule, fmt.Errorf("min=%s is more than max=%s", shortest, longest)
	}
	rule.Bounds = BoundsOf(shortest, longest)
	return rule, nil
}

func wholeSeconds(text string) (time.Duration, error) {
	d, err := time.ParseDuration(text)
	if err != nil || d < time.Second || d%time.Second != 0 {
		return 0, errors.New("want a time in whole seconds, such as 36h")
	}
	return d, nil
}

// rate reads a number above 0 and below most.
func rate(text string, most float64) (float64, error) {
	v, err := strconv.ParseFloat(text, 64)
	if err != nil || !(v > 0 && v < most) {
		return 0, errors.New("want a positive number, for dec= below 1")
	}
	return v, nil
}

// TypeRules are rules for media types, at most one for each.
type TypeRules []TypeRule

// For returns the rule of a media type, the most specific: "text/html" before "text/*" before "*"; nil: there is none.
func (t TypeRules) For(mediaType string) *TypeRule {
	main, _, _ := strings.Cut(mediaType, "/")
	var best *TypeRule
	for i := range t {
		switch r := &t[i]; {
		case r.Type == mediaType:
			return r
		case r.Type == main+"/*", r.Type == "*" && best == nil:
			best = r
		}
	}
	return best
}

// Schedule is a schedule with what the rule says.
func (r *TypeRule) Schedule(s FetchSchedule) FetchSchedule {
	if adaptive, ok := s.(AdaptiveSchedule); ok {
		if r.IncRate > 0 {
			adaptive.IncRate = r.IncRate
		}
		if r.DecRate > 0 {
			adaptive.DecRate = r.DecRate
		}
		s = adaptive
	}
	return BoundedSchedule{s, r.Bounds}
}
