// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"time"

	"github.com/seine-crawler/seine/storage"
	"github.com/seine-crawler/seine/storage/urlkey"
)

// EventListener is told what the engine does. Each function may be nil. They run on the goroutine where the thing
// happened and hold it up, so they must be quick, and they must not call the engine. Several of them may run at
// once; calls of PageStored come one after the other.
type EventListener struct {
	// PageStored: the outcome of a fetch is on disk and will survive a crash. Called from the
	// goroutine that syncs, in the order of storing.
	PageStored func(u urlkey.URL, o *storage.FetchOutcome)
	// SegmentState: a segment reached a state.
	SegmentState func(segment uint32, state storage.SegmentState)
	// PhaseDone: a phase ended well. Called from the goroutine that ran it.
	PhaseDone func(r Report)
	// HostAsleep: a host failed too often and is left alone until then.
	HostAsleep func(host urlkey.HostKey, until time.Time)
	// Warning: something a person should know that stops nothing.
	Warning func(err error)
}
