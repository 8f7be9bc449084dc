// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"golang.org/x/term"

	"github.com/seine-crawler/seine/engine"
)

// progress shows a crawl on stderr: a dashboard redrawn in place on a terminal, otherwise a line every logEvery.
type progress struct {
	w        io.Writer
	quiet    bool
	terminal bool
	width    int
	height   int
	drawn    int
	rates    []float64 // pages per second in each of the last sparkSeconds
	last     time.Time
	lastSeen engine.Progress
}

const logEvery = 10 * time.Second

func newProgress(w io.Writer, quiet bool) *progress {
	p := &progress{w: w, quiet: quiet, last: time.Now()}
	if f, ok := w.(*os.File); ok && term.IsTerminal(int(f.Fd())) {
		p.terminal = true
	}
	return p
}

// show draws the progress. The engine calls it about once a second, from one goroutine.
func (p *progress) show(s engine.Progress) {
	if p.quiet {
		return
	}
	defer func() { p.lastSeen = s }()
	if !p.terminal {
		if time.Since(p.last) >= logEvery || s.Phase == "done" {
			p.last = time.Now()
			fmt.Fprintln(p.w, strings.Join(p.lines(s), "; "))
		}
		return
	}
	if d := (s.Elapsed - p.lastSeen.Elapsed).Seconds(); d > 0.1 && s.Fetched >= p.lastSeen.Fetched {
		p.rates = append(p.rates, float64(s.Fetched-p.lastSeen.Fetched)/d)
		p.rates = p.rates[max(len(p.rates)-sparkSeconds, 0):]
	}
	if f, ok := p.w.(*os.File); ok { // the terminal may have been resized
		if width, height, err := term.GetSize(int(f.Fd())); err == nil {
			p.width, p.height = width, height
		}
	}
	p.draw(dashboard(s, p.rates, p.width, p.height))
}

// draw replaces the lines drawn before, in one write to avoid flicker.
func (p *progress) draw(lines []string) {
	var b strings.Builder
	if p.drawn > 0 {
		fmt.Fprintf(&b, "\x1b[%dA", p.drawn)
	}
	for _, line := range lines {
		b.WriteString("\r\x1b[2K" + line + "\n")
	}
	for n := len(lines); n < p.drawn; n++ {
		b.WriteString("\r\x1b[2K\n")
	}
	p.drawn = max(p.drawn, len(lines))
	io.WriteString(p.w, b.String())
}

// lines is the progress for a log.
func (p *progress) lines(s engine.Progress) []string {
	rate := s.PagesPerSecond
	if d := (s.Elapsed - p.lastSeen.Elapsed).Seconds(); p.lastSeen.Elapsed > 0 && d > 0.1 {
		rate = float64(s.Fetched-p.lastSeen.Fetched) / d
	}
	eta := ""
	if t, _ := s.ETA(); t > 0 {
		eta = fmt.Sprintf(", %s to the limit", t.Round(time.Second))
	}
	return []string{
		fmt.Sprintf("%s %s: %d fetched (%.0f/s, %.1f MB), %d failed, %d discovered, %d indexed%s",
			s.Elapsed.Round(time.Second), s.Phase, s.Fetched, rate, float64(s.Bytes)/1e6,
			s.Failed, s.Discovered, s.Indexed, eta),
		fmt.Sprintf("hosts: %d ready, %d waiting, %d asleep", s.HostsReady, s.HostsWaiting, s.HostsAsleep),
		fmt.Sprintf("%d URLs queued, %d in flight, %d segments behind", s.Queued, s.Busy, s.Backlog),
		fmt.Sprintf("heap %d MB", s.HeapBytes>>20),
		"slowest: " + s.Slowest,
	}
}

// end leaves the last dashboard on the terminal.
func (p *progress) end() { p.drawn = 0 }
