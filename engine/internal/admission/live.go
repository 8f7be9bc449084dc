// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"encoding/binary"

	"github.com/zeebo/xxh3"
)

// Refresh puts new rules of the live filters in force and reports whether there are any. If so, every withheld link is
// pending. A filter that cannot be read is reported through Options.Warn and keeps its rules. One goroutine at a time
// may call it.
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

// fingerprint identifies what may end a refusal: the scope, the rules of the live filters and the policy of hosts.
// Seeds are not part of it; they have rows of their own.
func (a *Admission) fingerprint() string {
	h := xxh3.New()
	h.WriteString(a.o.Scope.String())
	var b [8]byte
	binary.LittleEndian.PutUint64(b[:], a.live.Load())
	h.Write(b[:])
	if f, ok := a.o.Hosts.(fingerprinter); ok {
		binary.LittleEndian.PutUint64(b[:], f.Fingerprint())
		h.Write(b[:])
	}
	return string(binary.BigEndian.AppendUint64(nil, h.Sum64()))
}

// fingerprinter is a HostPolicy that can be compared across processes: equal settings have equal fingerprints.
type fingerprinter interface{ Fingerprint() uint64 }

// anyHosts reports whether there is a policy of hosts that cannot be compared with that of the last process.
func (a *Admission) anyHosts() bool {
	_, ok := a.o.Hosts.(fingerprinter)
	return a.o.Hosts != nil && !ok
}
