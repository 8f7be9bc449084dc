// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/seine-crawler/seine/engine/internal/visit"
)

// causes says what holds a running crawl up, with what does so besides, or why one ended. It is the only place that
// decides this: terminal, log lines, pages and JSON show what it returns. It is a pure function.
func (s *situation) causes() (first Cause, also []Cause) {
	if s.stopped == "" {
		return s.heldUpBy()
	}
	return s.endCause(), nil
}

// cause is the first of causes.
func (s *situation) cause() Cause {
	first, _ := s.causes()
	return first
}

// heldUpBy says what holds up a crawl that runs, and what does so besides, the greater first.
//
// What stops all fetchers comes before what they wait for, and that before what keeps hosts from them: a crawl whose
// fetchers all work has enough hosts. Hosts that cannot be visited are counted by what each waits for, and the reason
// with most of them is the cause.
func (s *situation) heldUpBy() (first Cause, also []Cause) {
	if c := s.stoppedBy(); c.Kind != "" {
		return c, nil
	}
	free := int64(s.Fetchers) - (s.Busy - int64(s.Slow))
	if s.Busy > 0 && free <= 0 {
		return s.fetchersWait(), nil
	}
	if ready := s.HostsReady - s.slow; ready > 0 {
		if s.processors.full() || s.processors.taken() {
			return s.processorsBusy(), nil
		}
		return Cause{CauseNone, "nothing", ""}, nil
	}
	list := s.holdUps()
	if len(list) == 0 {
		return Cause{CauseNone, "nothing", ""}, nil
	}
	for _, h := range list[1:] {
		if alsoShare*h.hosts >= list[0].hosts {
			also = append(also, h.cause())
		}
	}
	return list[0].cause(), also
}

// alsoShare: a reason that holds one in so many hosts of what the greatest holds, or more, is named besides.
const alsoShare = 10

// stoppedBy is what stops all fetchers; the zero Cause: nothing does.
func (s *situation) stoppedBy() Cause {
	switch {
	case s.sending.writer != "":
		return Cause{CauseWriter, fmt.Sprintf("%s gets what changed in the index, for %s now", s.sending.writer,
			s.sending.lasts.Round(time.Second)), ""}
	case s.holders&visit.HeldByPause != 0:
		return Cause{CausePaused, "it is paused", `p, Engine.Resume or "seine crawl --resume" goes on`}
	case s.holders&visit.HeldByDelete != 0:
		return Cause{CauseDelete, "URLs are about to be deleted, so fetchers wait", ""}
	case s.holders&visit.HeldByDisk != 0:
		return s.diskFull()
	case s.syncing >= syncingLong:
		return Cause{CauseDiskSilent, fmt.Sprintf("the disk does not answer: a sync has lasted %s",
			s.syncing.Round(time.Second)), ""}
	case s.Outage:
		return Cause{CauseNetwork, outageText, ""}
	case s.holders&visit.HeldByBacklog != 0:
		return Cause{CauseBacklog, "fetchers wait for updatedb or for the index", ""}
	}
	return Cause{}
}

// diskFull says that fetchers wait for space.
func (s *situation) diskFull() Cause {
	c := Cause{CauseDiskFull, "the disk is nearly full, so fetchers wait", "free some space on it"}
	if s.disk.Dir != "" {
		c.Text = "the disk of " + s.disk.Dir + " is nearly full, so fetchers wait"
	}
	if s.DiskFree > 0 && s.disk.Total > 0 {
		c.Text += fmt.Sprintf("; %s are free", size(float64(s.DiskFree)))
		if s.disk.Pending >= pendingShown {
			c.Text += fmt.Sprintf(", and what was fetched takes about %s of them until it is searchable",
				size(float64(s.disk.Pending)))
		}
		c.Help += fmt.Sprintf(": with %s the crawl goes on, and soon ends without; what was fetched is kept",
			size(float64(s.disk.Enough())))
	}
	return c
}

// fetchersWait is the cause when every fetcher is busy: what most of them wait for.
func (s *situation) fetchersWait() Cause {
	busy := int(s.Busy)
	of := func(n int) string { return fmt.Sprintf("%d of %d fetchers", n, busy) }
	dns, robots := s.doing[visit.DoingDNS], s.doing[visit.DoingRobots]
	answers := s.doing[visit.DoingConnect] + s.doing[visit.DoingTLS] + s.doing[visit.DoingFirstByte] +
		s.doing[visit.DoingBody]
	work := s.doing[visit.DoingSlot] + s.doing[visit.DoingParse] + s.doing[visit.DoingPage]
	switch {
	case 2*dns > busy:
		return Cause{CauseDNS, of(dns) + " wait for addresses from DNS", dnsHelp}
	case 2*robots > busy:
		return Cause{CauseRobots, of(robots) + " wait for robots.txt, without which nothing of a host is fetched",
			robotsHelp}
	case s.silent >= silentLong:
		return s.silence()
	case s.processors.full(): // whatever else fetchers wait for, more of it would not be used
		return s.processorsBusy()
	case 2*s.doing[visit.DoingMemory] > busy:
		return Cause{CauseFetchers, of(s.doing[visit.DoingMemory]) + " wait for memory for bodies",
			"a greater --memory"}
	case 2*s.doing[visit.DoingWrite] > busy:
		return Cause{CauseFetchers, of(s.doing[visit.DoingWrite]) + " wait for WARC files to be written",
			"a faster disk"}
	case 2*work > busy && s.processors.taken(): // others alone, such as a job of low priority, need not hold it up
		return s.processorsBusy()
	case 2*work > busy:
		return Cause{CauseFetchers, of(work) + " parse pages, or wait for a processor to", "more processors"}
	case 2*answers > busy:
		return Cause{CauseFetchers, "all fetchers are busy: " + of(answers) + " wait for servers",
			"+ raises their number, as does --concurrency"}
	}
	return Cause{CauseFetchers, "all fetchers are busy", "+ raises their number, as does --concurrency"}
}

// processorsBusy says who uses the processors. More fetchers would only wait for them.
func (s *situation) processorsBusy() Cause {
	p := s.processors
	if p.full() {
		return Cause{CauseProcessors, fmt.Sprintf("all processors are busy: the crawl uses %.1f of %.3g",
			p.own*p.count, p.count), "more processors; more fetchers do not help"}
	}
	return Cause{CauseProcessors, fmt.Sprintf("all processors are busy: the crawl uses %.1f of %.3g, other programs "+
		"the rest", p.own*p.count, p.count), "stop other programs, or give it a machine of its own"}
}

// What helps.
const (
	dnsHelp    = "--set resolver=ADDRESS names other name servers"
	robotsHelp = "the crawl asks again by itself; block a host to give it up"
	againHelp  = "the crawl tries again by itself"
)

func (s *situation) silence() Cause {
	return Cause{CauseSilent, fmt.Sprintf("no server has answered for %s, %d requests are under way",
		s.silent.Round(time.Second), s.Busy), ""}
}

// holdUp is a reason for which hosts that have something to fetch cannot be visited.
type holdUp struct {
	hosts int
	cause func() Cause
}

// holdUps are the reasons that hold hosts, the one with most hosts first. Each host counts once.
func (s *situation) holdUps() []holdUp {
	var list []holdUp
	add := func(hosts int, cause func() Cause) {
		if hosts > 0 {
			list = append(list, holdUp{hosts, cause})
		}
	}
	under := max(int(s.Busy), 0) // of one visit each
	dns, robots := min(s.doing[visit.DoingDNS], under), min(s.doing[visit.DoingRobots], under)
	under = max(under-dns-robots, 0)
	throttled := min(s.HostsThrottled, s.HostsWaiting)
	failing := min(s.failing, s.HostsWaiting-throttled)
	// politeness comes first of equals: it is what a crawl is made to wait for.
	unnamed := min(s.unnamed, s.HostsWaiting-throttled-failing)
	if !s.NoDNS {
		unnamed = 0 // it answers again, and they are about to be visited
	}
	polite := s.HostsWaiting - throttled - failing - unnamed
	if s.silent >= silentLong {
		add(polite, func() Cause { return s.politeness(polite) })
		add(under, s.silence)
	} else {
		add(polite+under, func() Cause { return s.politeness(polite + under) })
	}
	waits := s.lookups
	if 2*s.lookups >= min(s.refills, frontierRefillers) { // others wait behind these
		waits = max(s.lookups, s.refills)
	}
	add(waits+dns, func() Cause { return dnsWait(waits + dns) })
	add(unnamed, func() Cause { return noNameServer(unnamed) })
	add(robots, func() Cause { return robotsWait(robots) })
	add(throttled, s.throttled)
	add(s.slow, s.slowHosts)
	s.addTroubles(s.HostsAsleep+failing, add)
	slices.SortStableFunc(list, func(a, b holdUp) int { return cmp.Compare(b.hosts, a.hosts) })
	return list
}

func dnsWait(hosts int) Cause {
	return Cause{CauseDNS, fmt.Sprintf("%s for addresses from DNS", count(hosts, "host")+
		isOrAre(hosts, " waits", " wait")), dnsHelp}
}

func noNameServer(hosts int) Cause {
	return Cause{CauseDNS, fmt.Sprintf("DNS does not answer: %s, of which at most one a second is tried",
		count(hosts, "host")+isOrAre(hosts, " waits", " wait")), dnsDeadHelp}
}

func robotsWait(hosts int) Cause {
	return Cause{CauseRobots, fmt.Sprintf("%s not sent robots.txt yet, without which nothing of a host is fetched",
		count(hosts, "host")+isOrAre(hosts, " has", " have")), robotsHelp}
}

// slowHosts says that slow hosts wait for each other.
func (s *situation) slowHosts() Cause {
	return Cause{CauseFetchers, fmt.Sprintf("%s for slow hosts to be done, which have a quarter of the fetchers",
		count(s.slow, "host")+isOrAre(s.slow, " waits", " wait")), "+ raises their number, as does --concurrency"}
}

// addTroubles adds the reasons of the hosts that failed. Those of hosts that have nothing left are known too, so the
// number of hosts that failed is parted as the reasons are.
func (s *situation) addTroubles(failed int, add func(hosts int, cause func() Cause)) {
	if failed == 0 {
		return
	}
	known := 0
	for _, t := range s.troubles {
		known += t.Hosts
	}
	left := failed
	for i := range s.troubles {
		t := s.troubles[i]
		n := min(left, t.Hosts)
		if known > failed {
			n = min(left, (t.Hosts*failed+known-1)/known)
		}
		left -= n
		t.Hosts = n
		add(n, func() Cause { return s.troubleNow(t) })
	}
	add(left, s.leftAlone)
}

// troubleNow is the cause of hosts in trouble while the crawl runs.
func (s *situation) troubleNow(t visit.Trouble) Cause {
	c := troubleCause(t)
	if c.Help == "" || c.Help == laterHelp {
		c.Help = againHelp
	}
	return c
}

// leftAlone is the cause of hosts that failed for a reason that is not known.
func (s *situation) leftAlone() Cause {
	if s.HostsAsleep > 0 {
		return Cause{CauseNoAnswer, fmt.Sprintf("%s failed and %s for now", count(s.HostsAsleep, "host"),
			isOrAre(s.HostsAsleep, "is left alone", "are left alone")), againHelp}
	}
	c := Cause{CauseNoAnswer, fmt.Sprintf("%s failed and %s tried again", count(s.failing, "host"),
		isOrAre(s.failing, "is", "are")), ""}
	if h := s.heldBy(func(because string) bool { return because == heldByFailures }); h != nil {
		c.Text = fmt.Sprintf("%s failed and is tried again: %s", h.Host, h.wait())
	}
	return c
}

// politeness names the hosts that hold the crawl up if they are few, or if one has most of what is left.
func (s *situation) politeness(hosts int) Cause {
	longest := s.heldBy(func(because string) bool {
		return because != heldByThrottle && because != heldByFailures && because != heldByDNS
	})
	if longest == nil {
		return Cause{CausePoliteness, fmt.Sprintf("politeness: %s for %s delay", count(hosts, "host")+
			isOrAre(hosts, " waits", " wait"), isOrAre(hosts, "its", "their")), ""}
	}
	var text string
	switch {
	case hosts == 1:
		text = fmt.Sprintf("politeness: only %s has URLs left: %s", longest.Host, longest.wait())
	case hosts <= fewHosts:
		text = fmt.Sprintf("politeness: only %d hosts have URLs left; the longest takes %s: %s", hosts,
			longest.Host, longest.wait())
	case s.hasMost(longest):
		text = fmt.Sprintf("politeness: %s has most of what is left: %s; %s for their delay besides", longest.Host,
			longest.wait(), count(hosts-1, "host")+isOrAre(hosts-1, " waits", " wait"))
	default:
		return Cause{CausePoliteness, fmt.Sprintf("politeness: %d hosts wait for their delay", hosts), ""}
	}
	help := ""
	switch {
	case longest.Because == heldByDelay && s.delay > 0:
		help = "--delay shortens the pause; for servers of your own, --set per-host=4 allows several requests at once"
	case longest.Because == heldByAddressDelay:
		help = "for servers of your own, --delay 0s ends pauses, and --set per-host=4 allows several requests at once"
	case longest.Because == heldByDelay && longest.Delay == 0:
		help = "for servers of your own, --set per-host=4 allows several requests at once"
	}
	return Cause{CausePoliteness, text, help}
}

// hasMost reports whether one host has most of the URLs that are left, and takes longest with them: it holds the crawl
// up when the others are done.
func (s *situation) hasMost(h *HeldHost) bool {
	all := uint64(max(s.Queued, 0))
	sum := uint64(0)
	for i := range s.Held {
		sum += s.Held[i].URLs
	}
	return h.URLs >= giantURLs && 2*h.URLs > max(all, sum)
}
