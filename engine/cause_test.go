// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"strings"
	"testing"
	"time"

	"github.com/seine-crawler/seine/engine/fetch"
	"github.com/seine-crawler/seine/engine/internal/visit"
)

// TestCause: every state of a crawl has its true cause, with what helps.
func TestCause(t *testing.T) {
	waiting := []HeldHost{{Host: "slow.example", URLs: 120, Delay: Duration(time.Second), Because: heldByDelay}}
	failing := []HeldHost{{Host: "a.example", Because: heldByFailures, Next: time.Now().Add(time.Hour)}}
	throttled := []HeldHost{{Host: "a.example", URLs: 3, Because: heldByThrottle, Wait: Duration(time.Minute)}}
	one := func(f fetch.Failure) []visit.Trouble {
		return []visit.Trouble{{Failure: f, Hosts: 1, Example: "example,a,"}}
	}
	stuck := func(t []visit.Trouble) situation { return situation{stopped: StopDone, troubles: t} }
	now := func(p Progress) situation { return situation{Progress: p} }
	onServers, onWork := [visit.DoingCount]int{visit.DoingFirstByte: 8}, [visit.DoingCount]int{visit.DoingParse: 8}
	done := func(p Progress) situation { return situation{stopped: StopDone, Progress: p} }
	spent := dueSummary{spent: []spentBudget{
		{who: "a.example", used: "3 of 3 pages", setting: "host-pages"},
		{who: "b.example", used: "9 of 9 bytes", setting: "max-bytes", section: true},
	}}
	deep := dueSummary{tooDeep: true}
	robots := []visit.Trouble{{Robots: 503, Hosts: 7, Example: "example,a,"}, {Failure: fetch.FailDNS, Hosts: 2}}
	for _, c := range []struct {
		name string
		s    situation
		kind CauseKind
		says string // part of it
	}{
		// While it runs.
		{"nothing", now(Progress{HostsReady: 3, Fetchers: 8}), CauseNone, ""},
		{"paused", situation{holders: visit.HeldByPause}, CausePaused, "paused"},
		{"deleting", situation{holders: visit.HeldByDelete}, CauseDelete, "about to be deleted"},
		{"slow DNS", situation{Progress: Progress{HostsWaiting: 4}, lookups: 5}, CauseDNS,
			"5 hosts wait for addresses from DNS: --set resolver"},
		{"usual DNS", situation{Progress: Progress{HostsWaiting: 4}, lookups: 4}, CausePoliteness, "4 hosts wait"},
		{"DNS for one more", situation{Progress: Progress{HostsReady: 1}, lookups: 4}, CauseNone, ""},
		{"a writer at the end", situation{sending: sendingTo{"solr=http://h/a", 90 * time.Second}}, CauseWriter,
			"solr=http://h/a gets what changed in the index, for 1m30s now"},
		{"full disk", situation{holders: visit.HeldByDisk}, CauseDiskFull, "free some space"},
		{"a disk that will be full", situation{
			holders: visit.HeldByDisk, Progress: Progress{DiskFree: 600e6},
			disk: visit.Disk{Free: 600e6, Total: 1e12, Pending: 400e6},
		}, CauseDiskFull, "are free, and what was fetched takes about 400 MB of them until it is searchable"},
		{"stalled disk", situation{syncing: 12 * time.Second}, CauseDiskSilent, "a sync has lasted 12s"},
		{"a usual sync", situation{Progress: Progress{HostsReady: 1}, syncing: time.Second}, CauseNone, ""},
		{"cut network", now(Progress{Outage: true}), CauseNetwork, "network seems to be cut"},
		{"no DNS", situation{Progress: Progress{NoDNS: true, HostsWaiting: 5}, unnamed: 4}, CauseDNS,
			"DNS does not answer: 4 hosts wait, of which at most one a second is tried: check the network and its " +
				"name servers, or give others with --set resolver"},
		{"no DNS before", situation{Progress: Progress{HostsWaiting: 5}, unnamed: 4}, CausePoliteness, "5 hosts wait"},
		{"a cut network, DNS too", situation{Progress: Progress{Outage: true, NoDNS: true, HostsWaiting: 5},
			unnamed: 4}, CauseNetwork, "network seems to be cut"},
		{"updatedb behind", situation{holders: visit.HeldByBacklog}, CauseBacklog, "updatedb"},
		{"silence", situation{Progress: Progress{Busy: 5, Fetchers: 8}, silent: 15 * time.Second}, CauseSilent,
			"no server has answered for 15s, 5 requests"},
		{"fetchers", now(Progress{Busy: 8, Fetchers: 8, HostsReady: 9}), CauseFetchers, "--concurrency"},
		{"fetchers wait for servers", situation{Progress: Progress{Busy: 8, Fetchers: 8}, doing: onServers,
			processors: processorShare{2, .6, .8}}, CauseFetchers, "8 of 8 fetchers wait for servers: + raises"},
		{"processors", situation{Progress: Progress{Busy: 8, Fetchers: 8, HostsReady: 9}, doing: onServers,
			processors: processorShare{2, .97, .99}}, CauseProcessors,
			"the crawl uses 1.9 of 2: more processors; more fetchers do not help"},
		{"processors, of a machine that says nothing", situation{Progress: Progress{Busy: 8, Fetchers: 8},
			doing: onServers, processors: processorShare{2, .97, 0}}, CauseProcessors, "the crawl uses 1.9 of 2"},
		{"processors, of other programs", situation{Progress: Progress{Busy: 8, Fetchers: 8}, doing: onWork,
			processors: processorShare{2, .45, .99}}, CauseProcessors,
			"the crawl uses 0.9 of 2, other programs the rest: stop other programs"},
		{"servers, while other programs use the processors", situation{Progress: Progress{Busy: 8, Fetchers: 8},
			doing: onServers, processors: processorShare{2, .45, .99}}, CauseFetchers, "wait for servers: + raises"},
		{"processors, fetchers are free", situation{Progress: Progress{Busy: 5, Fetchers: 8, HostsReady: 9},
			processors: processorShare{2, .97, .99}}, CauseProcessors, "the crawl uses 1.9 of 2"},
		{"politeness, while lanes use the processors", situation{Progress: Progress{HostsWaiting: 500},
			processors: processorShare{2, .97, .99}}, CausePoliteness, "500 hosts wait"},
		{"DNS is no politeness", situation{Progress: Progress{HostsWaiting: 1}, failing: 1,
			troubles: one(fetch.FailDNSNotFound)}, CauseDNS, "a.example is not in DNS"},
		{"one of many fails", situation{Progress: Progress{HostsWaiting: 51}, failing: 1,
			troubles: one(fetch.FailRefused)}, CausePoliteness, "50 hosts wait"},
		{"politeness", now(Progress{HostsWaiting: 500}), CausePoliteness, "500 hosts wait"},
		{"one host", situation{Progress: Progress{HostsWaiting: 1, Held: waiting}, delay: time.Second}, CausePoliteness,
			"only slow.example has URLs left: 120 URLs, one each 1s (delay): --delay"},
		{"few hosts", now(Progress{HostsWaiting: 3, Held: waiting}), CausePoliteness, "only 3 hosts"},
		{"throttled", now(Progress{HostsWaiting: 1, HostsThrottled: 1, Held: throttled}),
			CauseThrottled, "a.example is requested again in 1m0s"},
		{"failing", situation{Progress: Progress{HostsWaiting: 1, Held: failing}, failing: 1},
			CauseNoAnswer, "failed and is tried"},
		{"asleep", now(Progress{HostsAsleep: 2}), CauseNoAnswer, "2 hosts failed and are left alone"},
		// At its end, with pages.
		{"done", done(Progress{Fetched: 3}), CauseDone, "nothing is due any more"},
		{"done, scope", situation{stopped: StopDone, Progress: Progress{Fetched: 3},
			refused: map[string]uint64{"scope": 9}}, CauseDone, "9 links leave the scope; --scope"},
		{"scope once", situation{stopped: StopDone, Progress: Progress{Fetched: 1},
			refused: map[string]uint64{"scope": 1}}, CauseDone, "1 link leaves the scope; --scope"},
		{"done, troubles", situation{stopped: StopDone, Progress: Progress{Fetched: 3}, troubles: robots}, CauseDone,
			"nothing else is due; 7 hosts, such as a.example, answer robots.txt with status 503, " +
				"which forbids everything; 2 hosts for other reasons"},
		{"done, throttled", done(Progress{Fetched: 3, HostsThrottled: 1}), CauseDone,
			"demanded a pause"},
		{"done, asleep", done(Progress{NotModified: 3, HostsAsleep: 1}), CauseDone,
			"1 host did not answer"},
		{"done, budget", situation{stopped: StopDone, Progress: Progress{Fetched: 3}, due: spent}, CauseDone,
			"nothing else is due; a.example has used 3 of 3 pages (setting host-pages); 1 budget more too: " +
				"a greater --set host-pages=N permits more"},
		{"done, a budget of the fetchlist", done(Progress{Fetched: 3, OverBudget: 2}), CauseDone,
			"budgets of hosts or domains are used up"},
		{"done, depth", situation{stopped: StopDone, Progress: Progress{Fetched: 3}, maxDepth: 1, due: deep,
			refused: map[string]uint64{"scope": 1}}, CauseDone,
			"nothing else is due; URLs are known that are more than 1 link from a seed: a greater --max-depth"},
		{"done, depth of a section", situation{stopped: StopDone, Progress: Progress{Fetched: 3}, due: deep},
			CauseDone, "max-depth of a section keeps them back"},
		{"pages", situation{stopped: StopMaxPages, Progress: Progress{Fetched: 10, MaxPages: 10}}, CauseLimit,
			"--max-pages is reached: run it again"},
		{"bytes", situation{stopped: StopMaxBytes, Progress: Progress{Fetched: 10}}, CauseLimit, "--max-bytes"},
		{"types", done(Progress{Failed: 3, Failures: map[string]uint64{"content_type": 3}}), CauseNoAnswer,
			"the setting refuse-types"},
		{"time", situation{stopped: StopMaxTime, Progress: Progress{Fetched: 1, MaxTime: time.Hour}}, CauseLimit,
			"--max-time is reached"},
		{"interrupted", situation{stopped: StopInterrupted}, CauseInterrupted, "run it again to continue"},
		{"failed", situation{stopped: StopFailed, troubles: one(fetch.FailTLS)}, CauseFailed, "the error says why"},
		// At its end, without any.
		{"no seeds", situation{stopped: StopDone, due: dueSummary{empty: true}}, CauseNoSeeds, "--seeds FILE"},
		{"nothing due", situation{stopped: StopDone}, CauseNothingDue, "nothing is due"},
		{"due later", situation{stopped: StopDone,
			due: dueSummary{next: time.Date(2027, 1, 2, 3, 4, 5, 0, time.Local)}}, CauseNothingDue,
			"nothing is due before 2027-01-02 03:04:05"},
		{"budget", situation{stopped: StopDone, due: spent}, CauseBudget,
			"a.example has used 3 of 3 pages"},
		{"depth", situation{stopped: StopDone, due: deep, maxDepth: 2}, CauseBudget, "more than 2 links from a seed"},
		{"no name", stuck(one(fetch.FailDNSNotFound)), CauseDNS, "check the spelling"},
		{"no DNS", stuck(one(fetch.FailDNS)), CauseDNS, "DNS does not answer for a.example"},
		{"private", situation{stopped: StopDone, troubles: one(fetch.FailAddress)}, CauseAddress,
			"--allow-private"},
		{"no contact", stuck(one(fetch.FailContact)), CauseAddress, "give --contact"},
		{"port", stuck(one(fetch.FailPort)), CausePort, "--allow-private"},
		{"refused", stuck(one(fetch.FailRefused)), CauseNoAnswer, "refuses connections"},
		{"no route", stuck(one(fetch.FailUnreachable)), CauseNoAnswer, "no route"},
		{"timeout", situation{stopped: StopMaxTime, troubles: one(fetch.FailHeadTimeout)}, CauseNoAnswer, "in time"},
		{"certificate", stuck(one(fetch.FailTLSExpired)), CauseTLS, "--set insecure-tls"},
		{"no TLS", stuck(one(fetch.FailTLS)), CauseTLS, "http://"},
		{"proxy", stuck(one(fetch.FailProxy)), CauseProxy, "setting proxy"},
		{"other", stuck(one(fetch.FailStatus)), CauseNoAnswer, "protocol_error/status"},
		{"robots.txt 503", stuck(robots[:1]), CauseRobots, "with status 503"},
		{"robots.txt cut", stuck([]visit.Trouble{{Robots: 200, Hosts: 1}}), CauseRobots,
			"cannot be read whole"},
		{"robots.txt before", stuck(one("")), CauseRobots, "a while ago, so it is left alone"},
		{"robots.txt forbids", done(Progress{RobotsDenied: 4}), CauseRobots,
			"forbids every URL that was due (4)"},
		{"Crawl-delay", situation{stopped: StopDone, Progress: Progress{RobotsDenied: 4}, delays: 4}, CauseRobots,
			"robots.txt demands a longer Crawl-delay than max-crawl-delay accepts: --set max-crawl-delay"},
		{"Crawl-delay, and forbidden", situation{stopped: StopDone, Progress: Progress{RobotsDenied: 4}, delays: 1},
			CauseRobots, "for 1 of them it demands a longer Crawl-delay"},
		{"all gone", situation{stopped: StopDone, Progress: Progress{Failed: 2, RobotsDenied: 1,
			Failures: map[string]uint64{"http_404": 2}}}, CauseHTTP,
			"every request failed: http_404 2, forbidden by robots.txt 1"},
		{"all throttled", situation{stopped: StopDone, Progress: Progress{Failed: 3,
			Failures: map[string]uint64{"http_429": 2, "http_503": 1}}}, CauseThrottled,
			"the demand to pause: http_429 2, http_503 1: run it again later"},
		{"all broken", situation{stopped: StopDone, Progress: Progress{Failed: 2,
			Failures: map[string]uint64{"blocked_address": 2}}}, CauseAddress, "blocked_address 2"},
		{"throttled", done(Progress{HostsThrottled: 1, Held: throttled}), CauseThrottled,
			"run it again later"},
		{"left alone", done(Progress{HostsAsleep: 1, Held: failing}), CauseNoAnswer,
			"a.example is not requested before"},
		{"left alone, beside one that is not", situation{stopped: StopMaxTime,
			Progress: Progress{Held: append(waiting[:1:1], failing...)}}, CauseNoAnswer, "a.example is not requested"},
		{"no answer in the time", situation{stopped: StopMaxTime, Progress: Progress{Held: waiting}}, CauseLimit,
			"--max-time is reached: run it again"},
		{"redirects out", situation{stopped: StopDone, Progress: Progress{Redirected: 1},
			refused: map[string]uint64{"scope": 1}}, CauseScope, "--scope"},
		{"only redirects", done(Progress{Redirected: 1}), CauseHTTP,
			"every answer was a redirect"},
	} {
		got := c.s.cause()
		if got.Kind != c.kind || !strings.Contains(got.String(), c.says) {
			t.Errorf("%s: %s: %s\nwant %s: …%s…", c.name, got.Kind, got, c.kind, c.says)
		}
	}
}

// TestNothingFetched: which causes mean that a crawl got nothing.
func TestNothingFetched(t *testing.T) {
	for _, c := range []struct {
		fetched uint64
		kind    CauseKind
		want    bool
	}{
		{0, CauseDNS, true}, {0, CauseRobots, true}, {0, CauseDone, true}, {0, CauseLimit, true},
		{0, CauseNothingDue, false}, {0, CauseInterrupted, false}, {0, CauseBudget, false}, {1, CauseDNS, false},
	} {
		r := CrawlReport{FetchReport: FetchReport{Fetched: c.fetched, Cause: Cause{Kind: c.kind}}}
		if r.NothingFetched() != c.want {
			t.Errorf("%d pages, %s: %t", c.fetched, c.kind, !c.want)
		}
	}
}
