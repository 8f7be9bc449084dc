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
	h.handle(http.MethodGet, "/debug/pprof/{profile}", func(w http.ResponseWriter, r *http.Request) {
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
		lasting(w, r)
		if p := profile(w, r); p != nil {
			p.write(w)
		}
	})
}

// profile writes a profile.
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
	_ = p.WriteTo(w, 0)
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
