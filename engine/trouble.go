// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"fmt"
	"strings"
	"time"

	"github.com/seine-crawler/seine/engine/fetch"
	"github.com/seine-crawler/seine/engine/internal/visit"
	"github.com/seine-crawler/seine/frontier"
)

// trouble is the cause that most hosts in trouble share. There must be one.
func (s *situation) trouble() Cause {
	c := s.troubleCause(s.troubles[0])
	if more := len(s.troubles) - 1; more > 0 {
		n := 0
		for _, t := range s.troubles[1:] {
			n += t.Hosts
		}
		c.Text += fmt.Sprintf("; %s for other reasons", count(n, "host"))
	}
	return c
}

// troubleCause says in words why hosts give nothing.
func (s *situation) troubleCause(t visit.Trouble) Cause {
	return troubleCause(t, s.contact)
}

// troubleCause says in words why hosts give nothing. contact says that the crawl has one: without it, only loopback
// addresses are permitted.
func troubleCause(t visit.Trouble, contact bool) Cause {
	who, it := t.Example.String(), "it"
	if t.Hosts > 1 {
		who, it = fmt.Sprintf("%d hosts, such as %s,", t.Hosts, t.Example), "they"
	}
	do := func(one, more string) string { return isOrAre(t.Hosts, one, more) }
	f := t.Failure
	switch {
	case f == "" && t.Robots >= 300:
		return Cause{CauseRobots, fmt.Sprintf("%s %s robots.txt with status %d, which forbids everything", who,
			do("answers", "answer"), t.Robots), "run it again later"}
	case f == "" && t.Robots > 0:
		return Cause{CauseRobots, fmt.Sprintf("%s %s a robots.txt that cannot be read whole, which forbids everything",
			who, do("has", "have")), "run it again later"}
	case f == "":
		return Cause{CauseRobots, fmt.Sprintf("robots.txt of %s could not be fetched a while ago, so %s %s left alone",
			strings.TrimSuffix(who, ","), it, do("is", "are")), "run it again later"}
	case f == fetch.FailDNSNotFound:
		return Cause{CauseDNS, fmt.Sprintf("%s %s not in DNS", who, do("is", "are")),
			"check the spelling, or give a hosts file with --hosts"}
	case isDNS(f):
		return Cause{CauseDNS, fmt.Sprintf("DNS does not answer for %s", strings.TrimSuffix(who, ",")),
			"check the network and its name servers, or give others with --set resolver=ADDRESS"}
	case f == fetch.FailAddress && !contact:
		return Cause{CauseAddress, fmt.Sprintf("%s %s not loopback, and without a contact nothing else is crawled", who,
			do("is", "are")), "give --contact https://your.site/crawler (or a mail address)"}
	case f == fetch.FailAddress:
		return Cause{CauseAddress, fmt.Sprintf("%s %s a private or special address", who, do("has", "have")),
			"--allow-private permits it"}
	case f == fetch.FailPort:
		return Cause{CausePort, fmt.Sprintf("%s %s a port other than 80 and 443", who, do("has", "have")),
			"--allow-private permits it"}
	case f == fetch.FailRefused:
		return Cause{CauseNoAnswer, fmt.Sprintf("%s %s connections", who, do("refuses", "refuse")),
			"is the server running, and is the port right?"}
	case f == fetch.FailUnreachable:
		return Cause{CauseNoAnswer, fmt.Sprintf("there is no route to %s", strings.TrimSuffix(who, ",")),
			"check the network"}
	case f == fetch.FailDialTimeout || f == fetch.FailHeadTimeout || f == fetch.FailWriteTimeout:
		return Cause{CauseNoAnswer, fmt.Sprintf("%s %s not answer in time (%s)", who, do("does", "do"), f), ""}
	case strings.HasPrefix(string(f), string(fetch.FailTLSVerify)):
		return Cause{CauseTLS, fmt.Sprintf("the certificate of %s is not valid (%s)", strings.TrimSuffix(who, ","), f),
			"--set insecure-tls=true accepts any certificate; SSL_CERT_FILE names authorities to trust"}
	case f == fetch.FailTLS || f == fetch.FailTLSTimeout:
		return Cause{CauseTLS, fmt.Sprintf("%s %s not speak TLS (%s)", who, do("does", "do"), f), "try it with http://"}
	case f == fetch.FailProxy:
		return Cause{CauseProxy, "the proxy refuses or cannot be reached", "check the setting proxy"}
	}
	return Cause{CauseNoAnswer, fmt.Sprintf("%s %s (%s)", who, do("fails", "fail"), f), ""}
}

// HeldHost is a host that holds a crawl up: it has URLs left and must wait.
type HeldHost struct {
	Host    string   `json:"host"`
	URLs    uint64   `json:"urls"`    // left, about
	Delay   Duration `json:"delay"`   // between two requests; JSON: seconds
	Wait    Duration `json:"wait"`    // to the next request; JSON: seconds
	Because string   `json:"because"` // what the delay comes from, in words

	Next time.Time `json:"-"`
}

// Words for what a delay comes from.
const (
	heldByDelay    = "delay"
	heldByThrottle = "it demanded a pause"
	heldByFailures = "it failed"
)

var heldWords = [...]string{
	frontier.HeldByDelay:      heldByDelay,
	frontier.HeldByCrawlDelay: "Crawl-delay",
	frontier.HeldBySlowness:   "slow answers",
	frontier.HeldByThrottle:   heldByThrottle,
	frontier.HeldByFailures:   heldByFailures,
	frontier.HeldByAddress:    "shares an address",
}

// wait is the wait in words: "120 URLs, one each 1s (delay)".
func (h *HeldHost) wait() string {
	urls := count(int(h.URLs), "URL")
	if h.URLs == 0 {
		return fmt.Sprintf("not before %s (%s)", h.Next.Local().Format(time.TimeOnly), h.Because)
	}
	if wait := time.Duration(h.Wait); wait > 2*time.Duration(h.Delay) && wait > time.Second {
		return fmt.Sprintf("%s, next in %s (%s)", urls, wait.Round(time.Second), h.Because)
	}
	return fmt.Sprintf("%s, one each %s (%s)", urls, time.Duration(h.Delay).Round(time.Millisecond), h.Because)
}

// String is the host on one line.
func (h HeldHost) String() string { return h.Host + ": " + h.wait() }

// heldHosts returns the hosts that hold a run of fetchers up, with what crawldb has of them.
func (w *work) heldHosts(f *fetching) (list []HeldHost) {
	now := w.now()
	for _, h := range f.frontier.Held(heldHostsShown) {
		v := HeldHost{
			Host: h.Host.String(), URLs: uint64(h.URLs), Delay: Duration(h.Delay), Because: heldWords[h.Because],
			Wait: Duration(max(h.Next.Sub(now), 0)), Next: h.Next,
		}
		if h.More || h.URLs == 0 {
			v.URLs = max(v.URLs, w.dueURLs(h.Host))
		}
		list = append(list, v)
	}
	return list
}
