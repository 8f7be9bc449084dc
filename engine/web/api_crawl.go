// SPDX-License-Identifier: Apache-2.0

package web

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/seine-crawler/seine/engine"
)

// History is how crawls went.
type History struct {
	Samples []engine.Sample `json:"samples"` // oldest first
}

// Blocked are hosts that are not requested from.
type Blocked struct {
	Hosts []string `json:"hosts"`
}

// latest is the newest status, which requests share.
type latest struct {
	mu     sync.Mutex
	read   time.Time
	status engine.Status
}

// currentStatus returns a status that is at most statusTime old.
func (h *Handler) currentStatus() (engine.Status, error) {
	h.now.mu.Lock()
	defer h.now.mu.Unlock()
	if time.Since(h.now.read) < statusTime {
		return h.now.status, nil
	}
	s, err := h.e.Inspect().Status()
	if err == nil {
		h.now.status, h.now.read = s, time.Now()
	}
	return s, err
}

// forget makes the next status a new one: something was changed.
func (l *latest) forget() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.read = time.Time{}
}

func (h *Handler) status(*call) (any, error) { return h.currentStatus() }

func (h *Handler) history(c *call) (any, error) {
	list, err := h.e.Inspect().History(seconds(c.number("span_seconds")))
	return History{append([]engine.Sample{}, list...)}, err
}

func (h *Handler) events(c *call) (any, error) { return eventStream{}, nil }

// eventStream writes events until the client or the server ends it.
type eventStream struct{}

func (eventStream) answer(h *Handler, c *call) *Problem {
	control := http.NewResponseController(c.w)
	for first := true; ; first = false {
		s, err := h.currentStatus()
		if err != nil && first {
			return problemOf(err)
		}
		if first {
			c.w.Header().Set("Content-Type", "text/event-stream")
			c.w.Header().Set("X-Accel-Buffering", "no") // nginx would keep events until it has many
		}
		if err != nil || c.r.Method == http.MethodHead || writeEvent(c.w, control, s) != nil {
			return nil // the client asks again
		}
		pause := idleEventTime
		if s.Running {
			pause = eventTime
		}
		timer := time.NewTimer(pause)
		select {
		case <-timer.C:
		case <-c.ctx.Done():
			timer.Stop()
			return nil
		case <-ending(c.ctx):
			timer.Stop()
			return nil
		}
	}
}

func writeEvent(w http.ResponseWriter, control *http.ResponseController, s engine.Status) error {
	data, err := json.Marshal(s)
	if err != nil {
		return err
	}
	_ = control.SetWriteDeadline(soon())
	if _, err := fmt.Fprintf(w, "event: status\ndata: %s\n\n", data); err != nil {
		return err
	}
	return flush(control)
}

func (h *Handler) blocked(*call) (any, error) {
	list, err := h.e.Inspect().Blocked()
	return Blocked{append([]string{}, list...)}, err
}

func (h *Handler) block(c *call) (any, error) { return h.changeBlocks(c, h.e.Block) }

func (h *Handler) unblock(c *call) (any, error) { return h.changeBlocks(c, h.e.Unblock) }

// changeBlocks changes what is blocked, and returns all that is.
func (h *Handler) changeBlocks(c *call, change func(hosts ...string) error) (any, error) {
	var names hostNames
	if err := readJSON(c, &names); err != nil {
		return nil, err
	}
	if len(names.Hosts) == 0 {
		return nil, bodyProblem(errors.New("hosts: name at least one"))
	}
	if err := change(names.Hosts...); err != nil {
		return nil, err
	}
	return h.blocked(c)
}
