// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/seine-crawler/seine/engine/fetch"
	"github.com/seine-crawler/seine/engine/internal/admission"
	"github.com/seine-crawler/seine/engine/internal/visit"
)

// situation is all that a cause depends on.
type situation struct {
	Progress
	stopped  StopReason // "": the crawl runs
	err      error      // of a crawl that failed
	holders  visit.Holder
	troubles []visit.Trouble   // of hosts, the most frequent first
	refused  map[string]uint64 // links by reason
	disk     visit.Disk        // that DiskFree is of
	syncing  time.Duration     // for how long the sync that is under way has lasted
	silent   time.Duration     // for how long no request has ended
	lookups  int               // refills that wait for DNS
	refills  int               // hosts whose URLs are being chosen, or wait for that
	failing  int               // of HostsWaiting, those whose last visit failed
	unnamed  int               // of HostsWaiting, those that wait for a name server to answer
	slow     int               // of HostsReady, slow ones, which wait for their share of the fetchers
	doing    [visit.DoingCount]int
	// processors are how busy they were in the last second or more.
	processors processorShare
	delay      time.Duration // of the crawl; negative: none
	delays     uint64        // of RobotsDenied, those for a Crawl-delay beyond Options.MaxCrawlDelay
	maxDepth   int           // of the crawl
	sending    sendingTo     // at the end
	due        dueSummary    // of crawldb, at the end
}

// sendingTo is an index writer that the end of a crawl waits for. The zero value is none.
type sendingTo struct {
	writer string
	lasts  time.Duration
}

// dueSummary says what crawldb has due, as of the last updatedb, and what keeps it from being fetched.
type dueSummary struct {
	empty bool          // crawldb has no URL
	next  time.Time     // when something is due again; zero: not known, or something else keeps it from being fetched
	spent []spentBudget // budgets that keep back what is due now, at most spentShown
	// tooDeep says that something is due now and lies deeper than max-depth. Without spent budgets it is looked for in
	// deepRecordsRead records.
	tooDeep bool
}

// Bounds of what counts as slow, on any machine.
const (
	syncingLong = 3 * time.Second
	silentLong  = 10 * time.Second
	fewHosts    = 3
)

// endCause says why a crawl ended.
func (s *situation) endCause() Cause {
	switch s.stopped {
	case StopFailed, StopAborted:
		if errors.Is(s.err, ErrDiskLow) {
			return Cause{CauseDiskFull, "the disk is nearly full", "free some space on it and run it again; what was " +
				"fetched is kept"}
		}
		return Cause{CauseFailed, "it failed", "the error says why"}
	}
	if s.Fetched+s.NotModified == 0 && s.stopped != StopInterrupted {
		if c := s.nothingFetched(); c.Kind != "" {
			return c
		}
	}
	const again = "run it again to continue"
	switch s.stopped {
	case StopInterrupted:
		return Cause{CauseInterrupted, "it was interrupted", again}
	case StopMaxPages:
		return Cause{CauseLimit, "--max-pages is reached", again}
	case StopMaxBytes:
		return Cause{CauseLimit, "--max-bytes is reached", again}
	case StopMaxTime:
		return Cause{CauseLimit, "--max-time is reached", again}
	}
	return s.doneCause()
}

// doneCause says why a crawl ended that fetched pages, and what it left.
func (s *situation) doneCause() Cause {
	c := Cause{CauseDone, "nothing is due any more", ""}
	switch {
	case len(s.troubles) > 0:
		t := s.trouble()
		c.Text, c.Help = "nothing else is due; "+t.Text, t.Help
	case s.HostsThrottled > 0:
		c.Text, c.Help = "nothing else is due; "+s.throttled().Text, laterHelp
	case s.HostsAsleep > 0:
		c.Text = fmt.Sprintf("nothing else is due; %s did not answer", count(s.HostsAsleep, "host"))
	case len(s.due.spent) > 0:
		spent := s.spent()
		c.Text, c.Help = "nothing else is due; "+spent.Text, spent.Help
	case s.OverBudget > 0:
		c.Text = "nothing else may be fetched: budgets of hosts or domains are used up"
		c.Help = `"seine check url --dir DIR URL" says which one holds a URL back`
	case s.due.tooDeep:
		deep := s.tooDeep()
		c.Text, c.Help = "nothing else is due; "+deep.Text, deep.Help
	case s.refused[admission.ReasonScope] > 0:
		n := int(s.refused[admission.ReasonScope])
		c.Help = fmt.Sprintf("%s the scope; --scope domain or any follows more",
			count(n, "link")+isOrAre(n, " leaves", " leave"))
	}
	return c
}

// spent names the budgets that hold back what is due.
func (s *situation) spent() Cause {
	b := s.due.spent[0]
	text := b.String()
	if more := len(s.due.spent) - 1; more > 0 {
		text = fmt.Sprintf("%s; %s more too", text, count(more, "budget"))
	}
	return Cause{CauseBudget, text, b.help()}
}

// tooDeep says that URLs are known that lie deeper than is fetched.
func (s *situation) tooDeep() Cause {
	if s.maxDepth == 0 {
		return Cause{CauseBudget, "more URLs are known, but max-depth of a section keeps them back",
			"a greater one fetches them"}
	}
	return Cause{CauseBudget, fmt.Sprintf("URLs are known that are more than %s from a seed",
		count(s.maxDepth, "link")), "a greater --max-depth fetches them"}
}

// nothingFetched says why no page was fetched; the zero Cause: that is not known.
func (s *situation) nothingFetched() Cause {
	attempts := s.Failed + s.Redirected + s.RobotsDenied
	// Of a crawl that a limit ended, a host's pause between two requests explains nothing.
	held := s.heldBy(func(because string) bool { return because != heldByDelay || s.stopped == StopDone })
	switch {
	case len(s.troubles) > 0:
		return s.trouble()
	case s.RobotsDenied > 0 && s.RobotsDenied == attempts:
		return s.allDenied()
	case s.HostsThrottled > 0:
		c := s.throttled()
		c.Help = laterHelp
		return c
	case s.Failed > 0 || s.RobotsDenied > 0:
		return s.allFailed()
	case s.Redirected > 0 && s.refused[admission.ReasonScope] > 0:
		return Cause{CauseScope, "all that was fetched redirects out of the scope", "--scope domain or any follows it"}
	case s.HostsAsleep > 0 || held != nil:
		return s.stillWaiting(held)
	case s.Redirected > 0:
		return Cause{CauseHTTP, "every answer was a redirect", `"seine readdb --dump" shows where they lead`}
	case s.stopped != StopDone:
		return Cause{}
	case s.due.empty:
		return Cause{CauseNoSeeds, "there is nothing to crawl: no seeds were given, and crawldb is empty",
			"give URLs, or --seeds FILE"}
	}
	switch {
	case len(s.due.spent) > 0:
		return s.spent()
	case s.due.tooDeep:
		return s.tooDeep()
	}
	c := Cause{CauseNothingDue, "nothing is due", ""}
	if !s.due.next.IsZero() {
		c.Text = "nothing is due before " + s.due.next.Local().Format(time.DateTime)
	}
	return c
}

// allDenied says that robots.txt forbade everything.
func (s *situation) allDenied() Cause {
	const longer = "a longer Crawl-delay than max-crawl-delay accepts"
	const help = "--set max-crawl-delay=any accepts every one"
	if s.delays == s.RobotsDenied {
		text := fmt.Sprintf("for every URL that was due (%d) robots.txt demands %s", s.delays, longer)
		return Cause{CauseRobots, text, help}
	}
	c := Cause{CauseRobots, fmt.Sprintf("robots.txt forbids every URL that was due (%d)", s.RobotsDenied),
		`"seine check url --dir DIR URL" shows what it says of a URL`}
	if s.delays > 0 {
		c.Text += fmt.Sprintf("; for %d of them it demands %s", s.delays, longer)
		c.Help = help
	}
	return c
}

// stillWaiting says that the hosts that have something due were left alone, because of what an earlier crawl met; h, if
// not nil, is one of them.
func (s *situation) stillWaiting(h *HeldHost) Cause {
	c := Cause{CauseNoAnswer, fmt.Sprintf("%s failed before and %s for now", count(max(s.HostsAsleep, 1), "host"),
		isOrAre(s.HostsAsleep, "is left alone", "are left alone")), laterHelp}
	if h != nil {
		at := h.Next.Local().Format(time.DateTime)
		c.Text = fmt.Sprintf("%s is not requested before %s (%s)", h.Host, at, h.Because)
	}
	return c
}

// allFailed says what all requests met.
func (s *situation) allFailed() Cause {
	kinds := slices.SortedFunc(maps.Keys(s.Failures), func(a, b string) int {
		return cmp.Or(cmp.Compare(s.Failures[b], s.Failures[a]), strings.Compare(a, b))
	})
	var parts []string
	for _, k := range kinds[:min(len(kinds), 3)] {
		parts = append(parts, fmt.Sprintf("%s %d", k, s.Failures[k]))
	}
	if s.RobotsDenied > 0 {
		parts = append(parts, fmt.Sprintf("forbidden by robots.txt %d", s.RobotsDenied))
	}
	if pauses := s.Failures["http_429"] + s.Failures["http_503"]; pauses > 0 && pauses == s.Failed {
		text := "every request was answered with the demand to pause: " + strings.Join(parts, ", ")
		return Cause{CauseThrottled, text, laterHelp}
	}
	kind := CauseHTTP
	if len(kinds) > 0 && !strings.HasPrefix(kinds[0], "http_") {
		t := visit.Trouble{Failure: fetch.Failure(kinds[0]), Hosts: 1}
		kind = troubleCause(t).Kind
	}
	help := `"seine readdb --dump" shows why each URL did`
	if len(kinds) > 0 && kinds[0] == string(fetch.FailType) {
		help = "the setting refuse-types names the media types that are not downloaded; " + help
	}
	return Cause{kind, "every request failed: " + strings.Join(parts, ", "), help}
}

// trouble is the cause that most hosts in trouble share. There must be one.
func (s *situation) trouble() Cause {
	c := troubleCause(s.troubles[0])
	if more := len(s.troubles) - 1; more > 0 {
		n := 0
		for _, t := range s.troubles[1:] {
			n += t.Hosts
		}
		c.Text += fmt.Sprintf("; %s for other reasons", count(n, "host"))
	}
	return c
}

// throttled says that hosts demand a pause.
func (s *situation) throttled() Cause {
	text := fmt.Sprintf("%s demanded a pause (429 or 503, with Retry-After or without)",
		count(s.HostsThrottled, "host"))
	if h := s.heldBy(func(because string) bool { return because == heldByThrottle }); h != nil {
		text += fmt.Sprintf("; %s is requested again in %s", h.Host, time.Duration(h.Wait).Round(time.Second))
	}
	c := Cause{CauseThrottled, text, ""}
	if s.stopped == "" {
		c.Help = "the crawl waits as long as they demand; a longer --delay avoids it"
	}
	return c
}

// heldBy returns the host that takes the longest of those in Held that wait for a reason; nil: there is none.
func (s *situation) heldBy(is func(because string) bool) *HeldHost {
	for i := range s.Held {
		if is(s.Held[i].Because) {
			return &s.Held[i]
		}
	}
	return nil
}
