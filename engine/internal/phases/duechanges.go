// SPDX-License-Identifier: Apache-2.0

package phases

import (
	"cmp"
	"encoding/binary"
	"slices"

	"github.com/seine-crawler/seine/storage"
)

// dueChange is how many more records have a due time now; fewer if negative.
type dueChange struct{ at, by int64 }

const dueChangeBytes = 16

// dueChanges are the due times that records of one host got and lost, as they came; after net each time once, in order.
type dueChanges []dueChange

// add notes one more change.
func (d *dueChanges) add(at, by int64) {
	if n := len(*d); n > 0 && (*d)[n-1].at == at {
		(*d)[n-1].by += by
		return
	}
	*d = append(*d, dueChange{at, by})
}

// net adds up what records got and lost, by time, and leaves out what is even.
func (d *dueChanges) net() {
	changes := *d
	slices.SortFunc(changes, func(a, b dueChange) int { return cmp.Compare(a.at, b.at) })
	n := 0
	for _, c := range changes {
		if n > 0 && changes[n-1].at == c.at {
			changes[n-1].by += c.by
			continue
		}
		if n > 0 && changes[n-1].by == 0 {
			n--
		}
		changes[n] = c
		n++
	}
	if n > 0 && changes[n-1].by == 0 {
		n--
	}
	*d = changes[:n]
}

// lost is the number of times that fewer records have.
func (d dueChanges) lost() (n int) {
	for _, c := range d {
		if c.by < 0 {
			n++
		}
	}
	return n
}

// mergeDue applies changes to the least due times, both in ascending order. Unless times is complete, nothing is
// known of times after its last.
func mergeDue(times []storage.DueCount, complete bool, changes dueChanges) (out []storage.DueCount) {
	for len(times)+len(changes) > 0 {
		var at, count int64
		switch {
		case len(times) == 0 && !complete:
			return out
		case len(times) == 0 || len(changes) > 0 && changes[0].at < times[0].At:
			at, count = changes[0].at, changes[0].by
			changes = changes[1:]
		default:
			at, count = times[0].At, int64(times[0].Count)
			times = times[1:]
			if len(changes) > 0 && changes[0].at == at {
				count += changes[0].by
				changes = changes[1:]
			}
		}
		if count > 0 {
			out = append(out, storage.DueCount{At: at, Count: uint32(count)})
		}
	}
	return out
}

// In a sorter, a change is its time, big-endian, and the number as a varint.
func appendDueKey(dst []byte, at int64) []byte { return binary.BigEndian.AppendUint64(dst, uint64(at)) }

func dueOfKey(key []byte) int64 { return int64(binary.BigEndian.Uint64(key)) }

// foldDue adds up two changes of one time.
func foldDue(dst, a, b []byte) []byte {
	x, _ := binary.Varint(a)
	y, _ := binary.Varint(b)
	return binary.AppendVarint(dst, x+y)
}
