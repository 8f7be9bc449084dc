// SPDX-License-Identifier: Apache-2.0

package web

import (
	"net/http"
	"runtime/pprof"
	"strconv"
	"time"
)

// cpuProfileMax bounds the time of a CPU profile.
const cpuProfileMax = time.Minute

// routeProfiles adds Go's profiles, for go tool pprof. They show what is crawled, so they need the token. (Package
// net/http/pprof would add itself to the default server of each program that has this package.)
func (h *Handler) routeProfiles() {
	h.handleLasting(http.MethodGet, "/debug/pprof/{profile}", func(w http.ResponseWriter, r *http.Request) {
		if !h.permitted(r) {
			needsToken().write(w)
			return
		}
		leave, ok := take(r.Context(), h.streams)
		if !ok {
			busy().write(w)
			return
		}
		defer leave()
		h.lasting(w, r)
		w = &patientWriter{w, deadlines{http.NewResponseController(w)}}
		if p := profile(w, r); p != nil {
			p.write(w)
		}
	})
}

// profile writes a profile. As in net/http/pprof, debug=1 and debug=2 make it text: with 2 goroutine has the stack of
// each goroutine, which says what a process that hangs waits for.
func profile(w http.ResponseWriter, r *http.Request) *Problem {
	name := r.PathValue("profile")
	w.Header().Set("Content-Type", "application/octet-stream")
	if name == "profile" {
		return cpuProfile(w, r)
	}
	p := pprof.Lookup(name)
	if p == nil {
		return problem(http.StatusNotFound, "not_found", "there is no profile "+strconv.Quote(name)+
			": want profile, heap or allocs")
	}
	debug := 0
	switch text := r.FormValue("debug"); text {
	case "", "0":
	case "1", "2":
		debug = int(text[0] - '0')
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	default:
		return wrongParameter("debug", "want 0 for go tool pprof, 1 or 2 for text")
	}
	_ = p.WriteTo(w, debug)
	return nil
}

// cpuProfile measures for the seconds that the request says, 10 if it says none.
func cpuProfile(w http.ResponseWriter, r *http.Request) *Problem {
	span := 10 * time.Second
	if text := r.FormValue("seconds"); text != "" {
		n, err := strconv.Atoi(text)
		if span = time.Duration(n) * time.Second; err != nil || span <= 0 || span > cpuProfileMax {
			return wrongParameter("seconds", "want 1 to %.0f", cpuProfileMax.Seconds())
		}
	}
	if err := pprof.StartCPUProfile(w); err != nil {
		return problem(http.StatusConflict, "busy", err.Error())
	}
	timer := time.NewTimer(span)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-r.Context().Done():
	}
	pprof.StopCPUProfile()
	return nil
}
