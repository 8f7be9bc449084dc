// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"encoding/binary"
	"sync/atomic"

	"github.com/zeebo/xxh3"

	"github.com/seine-crawler/seine/engine/policy"
	"github.com/seine-crawler/seine/storage/urlkey"
)

// live are the live filters, and all else that may end a refusal: what fingerprint identifies. Safe for concurrent use,
// except refresh.
type live struct {
	filters []policy.LiveFilter
	scope   policy.Scope
	hosts   policy.HostPolicy
	sum     atomic.Uint64 // of the filters' fingerprints
}

func newLive(filters []policy.LiveFilter, scope policy.Scope, hosts policy.HostPolicy) *live {
	l := &live{filters: filters, scope: scope, hosts: hosts}
	l.note()
	return l
}

// accept returns the first refusal, "" if there is none.
func (l *live) accept(u urlkey.URL) (reason string) {
	for _, f := range l.filters {
		if reason := f.Accept(u); reason != "" {
			return reason
		}
	}
	return ""
}

// refresh puts new rules in force and reports whether there are any. A filter that cannot be read keeps its rules.
func (l *live) refresh(warn func(error)) (changed bool) {
	for _, f := range l.filters {
		is, err := f.Refresh()
		if err != nil {
			warn(err)
		}
		changed = changed || is
	}
	if changed {
		l.note()
	}
	return changed
}

// note computes the fingerprint of the filters.
func (l *live) note() {
	h := xxh3.New()
	var b [8]byte
	for _, f := range l.filters {
		binary.LittleEndian.PutUint64(b[:], f.Fingerprint())
		h.Write(b[:])
	}
	l.sum.Store(h.Sum64())
}

// fingerprint identifies what may end a refusal: the scope, the rules of the live filters and the policy of hosts.
// Seeds are not part of it; they have rows of their own.
func (l *live) fingerprint() string {
	h := xxh3.New()
	h.WriteString(l.scope.String())
	var b [8]byte
	binary.LittleEndian.PutUint64(b[:], l.sum.Load())
	h.Write(b[:])
	if f, ok := l.hosts.(fingerprinter); ok {
		binary.LittleEndian.PutUint64(b[:], f.Fingerprint())
		h.Write(b[:])
	}
	return string(binary.BigEndian.AppendUint64(nil, h.Sum64()))
}

// fingerprinter is a HostPolicy that can be compared across processes: equal settings have equal fingerprints.
type fingerprinter interface{ Fingerprint() uint64 }

// anyHosts reports whether there is a policy of hosts that cannot be compared with that of the last process.
func (l *live) anyHosts() bool {
	_, ok := l.hosts.(fingerprinter)
	return l.hosts != nil && !ok
}
