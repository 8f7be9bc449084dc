// SPDX-License-Identifier: Apache-2.0

package frontier

// class says which share of the fetchers a visit counts towards.
type class uint8

const (
	classQuick   class = iota // its host answered a page quickly: any number of fetchers
	classUnknown              // no page of its host came yet: limited while the frontier is crowded
	classSlow                 // its host was known as slow when the visit was made: at most slowMost at once
	classLate                 // the visit became slow while a fetcher had it (see Slow): an extra fetcher replaces it
)

// class of the host's next visit.
func (v *visitState) class() class {
	switch {
	case v.failures > 0 || v.sleeps > 0 || v.responseTime >= slowHost || v.slowFor > 0:
		return classSlow
	case !v.proven:
		return classUnknown
	}
	return classQuick
}

// Slow reports that a visit has lasted so long that its host counts as slow: at once, and until several visits in a row
// were quick. extra says that the visit does not count towards Options.Fetchers from now on: see Extra. A visit to a
// host that was known as slow still does. Slow must be called between Next and Done; calling it again changes nothing.
func (f *Frontier) Slow(v *Visit) (extra bool) {
	if !v.dragged {
		v.dragged = true
		if v.class != classSlow {
			f.late.Add(1)
			f.freeShare(v)
			v.class = classLate
		}
		f.send(&event{kind: slowed, state: v.state})
	}
	return v.class == classLate
}

// MaxExtra returns Options.Extra.
func (f *Frontier) MaxExtra() int { return f.o.Extra }

// Extra returns how many callers of Next, beyond Options.Fetchers, make up for the visits that Slow was called for: at
// most Options.Extra. More such visits than that are over. The caller should cut the longest of them off while others
// are Ready, or they take the place of quick ones.
func (f *Frontier) Extra() (extra, over int) {
	late := int(f.late.Load())
	extra = min(late, f.o.Extra)
	return extra, late - extra
}

// Ready reports whether a visit waits for a fetcher, or would be given to one if fewer visits were late.
func (f *Frontier) Ready() bool {
	if f.ring.Load().len() > 0 {
		return true
	}
	for _, s := range f.shards {
		if s.backlog.Load() {
			return true
		}
	}
	return false
}

// crowded reports that no further extra fetcher makes up for a visit that turns out to be slow. Hosts of which no page
// came yet then have a share of the fetchers, so that any number of slow ones among them do not hold up the others.
func (f *Frontier) crowded() bool {
	late := int(f.late.Load())
	return late > 0 && late >= f.o.Extra
}

// enterShare counts a visit towards the share of its class, before it is handed over. False: the share is used up.
func (f *Frontier) enterShare(v *Visit) bool {
	switch v.class {
	case classSlow:
		if f.slow.Add(1) > f.slowMost.Load() {
			f.slow.Add(-1)
			return false
		}
	case classUnknown:
		idle := int(f.waiting.Load()) > f.ring.Load().len()
		if f.unknown.Add(1) > f.slowMost.Load() && f.crowded() && !idle {
			f.unknown.Add(-1)
			return false
		}
	}
	return true
}

// leaveShare undoes enterShare.
func (f *Frontier) leaveShare(v *Visit) {
	switch v.class {
	case classSlow:
		f.slow.Add(-1)
	case classUnknown:
		f.unknown.Add(-1)
	case classLate:
		f.late.Add(-1)
	}
}

// freeShare is leaveShare when a fetcher is done with the visit, or it is late: others may have the share now.
func (f *Frontier) freeShare(v *Visit) {
	f.leaveShare(v)
	if v.class == classQuick {
		return
	}
	for _, s := range f.shards {
		if s.shareBacklog.Load() {
			signal(s.wakeup)
		}
	}
}

// slowed: a visit to the host has become slow.
func (s *shard) slowed(v *visitState) { v.slowFor = slowMemory }

// noteSpeed records how quick a visit was that has ended.
func (v *visitState) noteSpeed(visit *Visit, out *Outcome) {
	switch {
	case visit.dragged:
		v.slowFor = slowMemory
	case out.Kind != Fetched || int(out.Left) == len(visit.URLs): // robots.txt alone proves nothing
	case v.slowFor > 0:
		v.slowFor--
	default:
		v.proven = true
	}
}

// slowMost is how many of n fetchers slow hosts may have, and unknown ones while the frontier is crowded.
func slowMost(n int) int32 { return int32(max(n/slowShare, 1)) }
