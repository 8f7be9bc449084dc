// SPDX-License-Identifier: Apache-2.0

package frontier

import "math/bits"

// wheel is a hierarchical timing wheel (Varghese and Lauck, 1987, scheme 7): four wheels of 256 slots, of about 1 ms,
// 0.27 s, 69 s and 4.9 h each. Setting and stopping a timer touches one list; a timer moves down at most three times
// before it fires. No timer fires early; it may fire up to one tick late. Times beyond the outermost wheel wait in its
// last slot and are then placed again.
//
// A heap of a million timers costs 20 levels of cache misses per visit, the wheel two. On an earlier host a visit's
// timer took 340 ns in a heap of a million hosts and 42 in the wheel: see BenchmarkTimers.
type wheel struct {
	now   uint64 // ticks handled so far
	slots [wheelLevels][wheelSlots]*visitState
	full  [wheelLevels][wheelSlots / 64]uint64 // slots with timers
	count int
}

// timer is a visit state's place in the wheel.
type timer struct {
	at         moment
	prev, next *visitState
	level      int8
	slot       uint8
	on         bool
}

const (
	tickBits    = 20 // a tick is 2^20 ns
	slotBits    = 8
	wheelLevels = 4
	wheelSlots  = 1 << slotBits
	slotMask    = wheelSlots - 1
)

// ticks rounds up: a timer may be late, never early.
func ticks(at moment) uint64 { return uint64(at+1<<tickBits-1) >> tickBits }

// set makes v fire at a time, in place of any earlier setting.
func (w *wheel) set(v *visitState, at moment) {
	if v.timer.on {
		w.stop(v)
	}
	v.timer.at = at
	w.count++
	w.place(v)
}

// place puts v into the slot of its time.
func (w *wheel) place(v *visitState) {
	t := max(ticks(v.timer.at), w.now+1)
	level := 0
	for level < wheelLevels-1 && t>>(slotBits*level)-w.now>>(slotBits*level) >= wheelSlots {
		level++
	}
	shifted := t >> (slotBits * level)
	if last := w.now>>(slotBits*level) + slotMask; shifted > last {
		shifted = last
	}
	tm := &v.timer
	tm.level, tm.slot, tm.on = int8(level), uint8(shifted&slotMask), true
	first := &w.slots[level][tm.slot]
	tm.prev, tm.next = nil, *first
	if *first != nil {
		(*first).timer.prev = v
	}
	*first = v
	w.full[level][tm.slot>>6] |= 1 << (tm.slot & 63)
}

// stop removes v's timer, if it is on.
func (w *wheel) stop(v *visitState) {
	tm := &v.timer
	if !tm.on {
		return
	}
	if tm.next != nil {
		tm.next.timer.prev = tm.prev
	}
	if tm.prev != nil {
		tm.prev.timer.next = tm.next
	} else if w.slots[tm.level][tm.slot] = tm.next; tm.next == nil {
		w.full[tm.level][tm.slot>>6] &^= 1 << (tm.slot & 63)
	}
	*tm = timer{at: tm.at}
	w.count--
}

// empty takes all timers of a slot out and returns them as a list, linked by timer.next.
func (w *wheel) empty(level, slot int) *visitState {
	first := w.slots[level][slot]
	w.slots[level][slot] = nil
	w.full[level][slot>>6] &^= 1 << (slot & 63)
	return first
}

// advance moves on to a time and fires what is due, in no order within a tick. fire may set timers; those that are
// due at once fire in the next advance.
func (w *wheel) advance(now moment, fire func(*visitState)) {
	target := uint64(now) >> tickBits
	for w.now < target {
		if w.count == 0 {
			w.now = target
			return
		}
		// Go to the next tick at which a slot has timers or a wheel has completed a turn.
		step := uint64(w.gap(0, int(w.now&slotMask)))
		w.now = min(w.now+step, target)
		if w.now&slotMask == 0 {
			w.cascade()
		}
		for v := w.empty(0, int(w.now&slotMask)); v != nil; {
			next := v.timer.next
			v.timer = timer{at: v.timer.at}
			w.count--
			fire(v)
			v = next
		}
	}
}

// gap returns how many slots after the given one the next with timers is, at most to the end of the wheel's turn.
func (w *wheel) gap(level, slot int) int {
	for i := slot + 1; i < wheelSlots; {
		if word := w.full[level][i>>6] >> (i & 63); word != 0 {
			return i + bits.TrailingZeros64(word) - slot
		}
		i = (i | 63) + 1
	}
	return wheelSlots - slot
}

// cascade moves the timers of the outer wheels' next slots down. The innermost wheel has just completed a turn.
func (w *wheel) cascade() {
	for level := 1; level < wheelLevels; level++ {
		slot := int(w.now >> (slotBits * level) & slotMask)
		for v := w.empty(level, slot); v != nil; {
			next := v.timer.next
			w.lower(v)
			v = next
		}
		if slot != 0 {
			return
		}
	}
}

// lower places a timer again; one that is due in this tick goes into the current slot.
func (w *wheel) lower(v *visitState) {
	at := v.timer.at
	if ticks(at) <= w.now {
		w.now-- // place never uses the current slot, which advance is about to empty
		w.place(v)
		w.now++
		return
	}
	w.place(v)
}

// next returns a time before which nothing fires; 0 if there are no timers.
func (w *wheel) next() moment {
	if w.count == 0 {
		return 0
	}
	best := ^uint64(0)
	for level := range wheelLevels {
		shift := slotBits * level
		base := w.now >> shift
		slot := int(base & slotMask)
		for i := range 2 { // the rest of this turn, then the next one's beginning
			from, turn := slot, base&^slotMask
			if i == 1 {
				from, turn = -1, turn+wheelSlots
			}
			if g := w.gap(level, from); from+g < wheelSlots {
				best = min(best, (turn+uint64(from+g))<<shift)
				break
			}
		}
	}
	return moment(best << tickBits)
}
