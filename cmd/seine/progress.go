// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/seine-crawler/seine/engine"
)

// progress shows a crawl or fetch on stderr: a dashboard redrawn in place on a terminal, otherwise a line now and then.
type progress struct {
	out   *screen
	quiet bool
	keys  bool // they are read, so the dashboard names them
	stop  chan struct{}
	done  sync.WaitGroup

	mu       sync.Mutex
	rates    []float64 // pages per second in each of the last sparkSeconds
	last     time.Time // of the last call of show
	shown    engine.Progress
	logged   engine.Progress // at the last line
	nextLine time.Duration   // Elapsed at which the next line is due
}

// The first line of a log comes after firstLine. The time from line to line doubles, up to lineMax.
const (
	firstLine = 15 * time.Second
	lineMax   = 5 * time.Minute
)

// newsLate is the age of the newest progress from which the view says that there is none.
const newsLate = 3 * time.Second

// newProgress starts a view; end ends it.
func newProgress(out *screen, quiet bool) *progress {
	p := &progress{out: out, quiet: quiet, stop: make(chan struct{}), last: time.Now(), nextLine: firstLine}
	if quiet {
		return p
	}
	p.done.Add(1)
	go p.watch()
	return p
}

// nameKeys says whether the dashboard names the keys.
func (p *progress) nameKeys(on bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.keys = on
}

// watch redraws the dashboard when the engine is silent: the goroutine that reports may itself wait for the disk.
func (p *progress) watch() {
	defer p.done.Done()
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for {
		select {
		case <-p.stop:
			return
		case now := <-tick.C:
			p.mu.Lock()
			if late := now.Sub(p.last); late >= newsLate {
				s := p.shown
				s.Elapsed += late
				s.Cause = frozen(late)
				p.present(s)
			}
			p.mu.Unlock()
		}
	}
}

// frozen is the cause of an engine that has not reported for some time.
func frozen(late time.Duration) engine.Cause {
	text := fmt.Sprintf("no news for %s: the crawl waits for the disk, or for the processor", late.Round(time.Second))
	return engine.Cause{Kind: engine.CauseDiskSilent, Text: text}
}

// show shows the progress. The engine calls it about once a second.
func (p *progress) show(s engine.Progress) {
	if p.quiet {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if d := (s.Elapsed - p.shown.Elapsed).Seconds(); d > 0.1 && s.Fetched >= p.shown.Fetched {
		p.rates = append(p.rates, float64(s.Fetched-p.shown.Fetched)/d)
		p.rates = p.rates[max(len(p.rates)-sparkSeconds, 0):]
	}
	p.present(s)
	p.shown, p.last = s, time.Now()
}

// present draws or logs. p.mu is held.
func (p *progress) present(s engine.Progress) {
	if p.out.isTerminal() {
		width, height := p.out.size()
		p.out.draw(dashboard(s, p.rates, width, height, p.keys))
		return
	}
	if s.Elapsed < p.nextLine || s.Phase == "done" { // the report follows
		return
	}
	fmt.Fprintln(p.out, logLine(s, p.logged))
	p.logged = s
	p.nextLine = s.Elapsed + min(max(s.Elapsed, firstLine), lineMax)
}

// logLine is the progress for a log; before is that of the line before.
func logLine(s, before engine.Progress) string {
	rate := s.PagesPerSecond
	if d := (s.Elapsed - before.Elapsed).Seconds(); before.Elapsed > 0 && d > 0.1 && s.Fetched >= before.Fetched {
		rate = float64(s.Fetched-before.Fetched) / d
	}
	parts := []string{
		fmt.Sprintf("%s %s: %d fetched (%.1f/s, %.1f MB), %d failed, %d gone, %d discovered, %d indexed",
			s.Elapsed.Round(time.Second), s.Phase, s.Fetched, rate, float64(s.Bytes)/1e6,
			s.Failed-min(s.Gone, s.Failed), s.Gone, s.Discovered, s.Indexed),
		fmt.Sprintf("%d URLs queued on %d hosts", s.Queued, s.HostsReady+s.HostsWaiting),
	}
	if t, share := s.ETA(); t > 0 {
		parts = append(parts, fmt.Sprintf("%.0f%% of the limit, %s to go", 100*share, t.Round(time.Second)))
	}
	if s.Cause.Kind != engine.CauseNone {
		parts = append(parts, "held up by: "+plainLine(s.Cause.String()))
	}
	return "seine: " + strings.Join(parts, "; ")
}

// end leaves the last dashboard on the terminal.
func (p *progress) end() {
	close(p.stop)
	p.done.Wait()
	p.out.leave()
}
