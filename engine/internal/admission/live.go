// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"encoding/binary"

	"github.com/zeebo/xxh3"
)

// Refresh looks whether live filters changed, and reports whether one did: then every withheld link
// may have come into reach and is pending. A filter that cannot be read is reported, and what it said
// before holds. One goroutine at a time.
func (a *Admission) Refresh() (changed bool) {
	for _, f := range a.o.Live {
		is, err := f.Refresh()
		if err != nil {
			a.o.Warn(err)
		}
		changed = changed || is
	}
	if changed {
		a.noteLive()
		a.pendMu.Lock()
		a.refreshes++
		a.pending[""] = true
		a.pendMu.Unlock()
	}
	return changed
}

// noteLive computes the fingerprint of the live filters.
func (a *Admission) noteLive() {
	h := xxh3.New()
	var b [8]byte
	for _, f := range a.o.Live {
		binary.LittleEndian.PutUint64(b[:], f.Fingerprint())
		h.Write(b[:])
	}
	a.live.Store(h.Sum64())
}

// fingerprint identifies what may end a refusal: the scope and the rules of the live filters. The seeds are
// not in it, since they have rows of their own.
func (a *Admission) fingerprint() string {
	h := xxh3.New()
	h.WriteString(a.o.Scope.String())
	var b [8]byte
	binary.LittleEndian.PutUint64(b[:], a.live.Load())
	h.Write(b[:])
	if f, ok := a.o.Hosts.(interface{ Fingerprint() uint64 }); ok {
		binary.LittleEndian.PutUint64(b[:], f.Fingerprint())
		h.Write(b[:])
	}
	return string(binary.BigEndian.AppendUint64(nil, h.Sum64()))
}
