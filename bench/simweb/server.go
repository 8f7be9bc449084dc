// SPDX-License-Identifier: Apache-2.0

package simweb

import (
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// Server plays a web on loopback addresses and watches its visitors.
type Server struct {
	Web   *Web
	http  *http.Server
	ports []net.Listener
	wg    sync.WaitGroup
	hosts map[string]int

	mu    sync.Mutex // guards all below
	visit []visits   // by host
	urls  map[string]int
}

// visits is what a host saw.
type visits struct {
	requests, violations, now, peak int
	last                            time.Time // end of the last page request
	gap                             time.Duration
}

// Start listens on the addresses of all hosts, port 0 choosing a free one. Only loopback addresses
// are ever listened on.
func Start(p Params, port int) (*Server, error) {
	w, err := New(p, port)
	if err != nil {
		return nil, err
	}
	s := &Server{Web: w, hosts: map[string]int{}, visit: make([]visits, p.Hosts), urls: map[string]int{}}
	for h := range p.Hosts {
		s.hosts[w.Host(h)] = h
	}
	s.http = &http.Server{Handler: s, ReadHeaderTimeout: 10 * time.Second, IdleTimeout: time.Minute}
	for h := 0; h < p.Hosts; h += p.PerAddress {
		l, err := net.Listen("tcp", net.JoinHostPort(w.Address(h), strconv.Itoa(w.port)))
		if err != nil {
			return nil, errors.Join(fmt.Errorf("simweb: %w", err), s.Close())
		}
		w.port = l.Addr().(*net.TCPAddr).Port
		s.ports = append(s.ports, l)
	}
	for _, l := range s.ports {
		s.wg.Add(1)
		go func() {
			defer s.wg.Done()
			s.http.Serve(l) // ends at Close
		}()
	}
	return s, nil
}

// Close ends the server.
func (s *Server) Close() error {
	err := s.http.Close()
	for _, l := range s.ports {
		l.Close() // those that were not yet served
	}
	s.wg.Wait()
	return err
}

// Port returns the port of all hosts.
func (s *Server) Port() int { return s.Web.port }

// HostsFile writes the names of all hosts in hosts(5) form.
func (s *Server) HostsFile(w io.Writer) error {
	for h := range s.Web.p.Hosts {
		if _, err := fmt.Fprintf(w, "%s %s\n", s.Web.Address(h), s.Web.Host(h)); err != nil {
			return err
		}
	}
	return nil
}

// ServeHTTP answers for the host that the request names.
func (s *Server) ServeHTTP(rw http.ResponseWriter, r *http.Request) {
	name, _, ok := strings.Cut(r.Host, ":")
	if !ok {
		name = r.Host
	}
	host, known := s.hosts[name]
	if !known {
		http.Error(rw, "no such host here", http.StatusMisdirectedRequest)
		return
	}
	s.arrived(host, r)
	defer s.left(host)
	if d := s.Web.p.Latency; d > 0 {
		time.Sleep(d)
	}
	if r.URL.Path == "/robots.txt" {
		rw.Header().Set("Content-Type", "text/plain")
		io.WriteString(rw, s.Web.robots(host))
		return
	}
	n, ok := s.Web.number(host, r.URL.Path)
	if !ok {
		http.NotFound(rw, r)
		return
	}
	p := s.Web.Page(host, n)
	switch {
	case p.Status == http.StatusNotFound:
		http.NotFound(rw, r)
		return
	case p.Location != "":
		http.Redirect(rw, r, p.Location, p.Status)
		return
	}
	body := s.Web.AppendHTML(nil, &p)
	rw.Header().Set("Content-Type", "text/html")
	rw.Header().Set("Content-Length", strconv.Itoa(len(body)))
	modified := s.Web.modified(host, n)
	rw.Header().Set("Last-Modified", modified.Format(http.TimeFormat))
	if t, err := http.ParseTime(r.Header.Get("If-Modified-Since")); err == nil && !modified.After(t) {
		rw.Header().Del("Content-Length")
		rw.WriteHeader(http.StatusNotModified)
		return
	}
	rw.Write(body)
}

func (s *Server) arrived(host int, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	v := &s.visit[host]
	if v.requests > 0 && v.now == 0 {
		if gap := time.Since(v.last); v.gap == 0 || gap < v.gap {
			v.gap = gap
		}
	}
	v.requests++
	v.now++
	v.peak = max(v.peak, v.now)
	if strings.HasPrefix(r.URL.Path, "/private/") && s.Web.restricted(host) {
		v.violations++
	}
	s.urls[s.Web.base(host)+r.URL.Path]++
}

func (s *Server) left(host int) {
	s.mu.Lock()
	s.visit[host].now--
	s.visit[host].last = time.Now()
	s.mu.Unlock()
}

// Requests returns how often each URL was asked for.
func (s *Server) Requests() map[string]int {
	s.mu.Lock()
	defer s.mu.Unlock()
	urls := make(map[string]int, len(s.urls))
	for u, n := range s.urls {
		urls[u] = n
	}
	return urls
}

// Report is how politely the web was visited.
type Report struct {
	Requests   int           `json:"requests"`
	URLs       int           `json:"urls"`
	Twice      int           `json:"twice"`      // pages asked for more than once
	Peak       int           `json:"peak"`       // most requests at once to one host
	SmallGap   time.Duration `json:"small_gap"`  // smallest time between two requests to one host
	Violations int           `json:"violations"` // requests that robots.txt forbids
	Busiest    []string      `json:"busiest"`    // hosts with the most requests
}

// Report sums up the visits so far.
func (s *Server) Report() Report {
	s.mu.Lock()
	defer s.mu.Unlock()
	var r Report
	order := make([]int, len(s.visit))
	for h := range s.visit {
		v := &s.visit[h]
		order[h] = h
		r.Requests += v.requests
		r.Violations += v.violations
		r.Peak = max(r.Peak, v.peak)
		if v.gap > 0 && (r.SmallGap == 0 || v.gap < r.SmallGap) {
			r.SmallGap = v.gap
		}
	}
	for u, n := range s.urls {
		r.URLs++
		if n > 1 && !strings.HasSuffix(u, "/robots.txt") {
			r.Twice++
		}
	}
	slices.SortFunc(order, func(a, b int) int { return s.visit[b].requests - s.visit[a].requests })
	for _, h := range order[:min(5, len(order))] {
		r.Busiest = append(r.Busiest, fmt.Sprintf("%s %d", s.Web.Host(h), s.visit[h].requests))
	}
	return r
}

func (r Report) String() string {
	return fmt.Sprintf("simweb: %d requests for %d URLs, %d pages more than once, at most %d at once to a host, smallest gap %s, %d against robots.txt; busiest: %s",
		r.Requests, r.URLs, r.Twice, r.Peak, r.SmallGap.Round(time.Microsecond), r.Violations, strings.Join(r.Busiest, ", "))
}
