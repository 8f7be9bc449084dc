// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"fmt"
	"net/netip"
	"strings"

	"github.com/seine-crawler/seine/engine/fetch"
	"github.com/seine-crawler/seine/engine/internal/visit"
	"github.com/seine-crawler/seine/storage/urlkey"
)

// Cause says why a crawl or fetch ended, or what holds it up while it runs. The zero Cause says nothing.
type Cause struct {
	Kind CauseKind `json:"kind"`
	Text string    `json:"text"`           // for people
	Help string    `json:"help,omitempty"` // the flag or command that helps; "": nothing does, or nothing is wrong
}

// String is the text, with the help behind it.
func (c Cause) String() string {
	if c.Help == "" {
		return c.Text
	}
	return c.Text + ": " + c.Help
}

// CauseKind names a cause, for programs.
type CauseKind string

// The causes. Those up to CauseNone are of a crawl that runs or ended as it should.
const (
	CauseNone        CauseKind = "none"        // nothing holds it up
	CauseDone        CauseKind = "done"        // nothing is due any more
	CauseNothingDue  CauseKind = "nothing_due" // nothing was due when it began
	CauseLimit       CauseKind = "limit"       // of CrawlOptions.Limits
	CauseInterrupted CauseKind = "interrupted"
	CausePaused      CauseKind = "paused"
	CausePoliteness  CauseKind = "politeness"  // the hosts that have URLs left wait for their delay
	CauseFetchers    CauseKind = "fetchers"    // all are busy
	CauseProcessors  CauseKind = "processors"  // all are busy, with this process or with others
	CauseBacklog     CauseKind = "backlog"     // updatedb or the index is behind
	CauseDelete      CauseKind = "delete"      // fetchers wait until URLs are deleted
	CauseDiskFull    CauseKind = "disk_full"   //
	CauseDiskSilent  CauseKind = "disk_silent" // a sync does not end
	CauseSilent      CauseKind = "silent"      // requests are under way, and none ends
	CauseWriter      CauseKind = "writer"      // an index writer gets the rest, at the end
	CauseNetwork     CauseKind = "network"     // the local network seems to be cut
	CauseNoSeeds     CauseKind = "no_seeds"    // crawldb is empty
	CauseDNS         CauseKind = "dns"
	CauseAddress     CauseKind = "address"   // private, or without a contact not loopback
	CausePort        CauseKind = "port"      // neither 80 nor 443
	CauseNoAnswer    CauseKind = "no_answer" // refused, unreachable, timeout, broken
	CauseTLS         CauseKind = "tls"
	CauseProxy       CauseKind = "proxy"
	CauseRobots      CauseKind = "robots"    // robots.txt forbids everything, or cannot be read
	CauseThrottled   CauseKind = "throttled" // hosts demand a pause (429, 503)
	CauseHTTP        CauseKind = "http"      // all answers are errors
	CauseScope       CauseKind = "scope"     // all that was found is outside of it
	CauseBudget      CauseKind = "budget"    // what is due is beyond the budgets of hosts and domains
	CauseFailed      CauseKind = "failed"    // the error that Crawl returned
)

// StopReason says why a crawl ended.
type StopReason string

// The reasons.
const (
	StopDone        StopReason = "done"        // nothing is due any more
	StopMaxPages    StopReason = "max-pages"   // Limits.MaxPages was reached
	StopMaxBytes    StopReason = "max-bytes"   // Limits.MaxBytes was reached
	StopMaxTime     StopReason = "max-time"    // Limits.MaxTime was reached
	StopInterrupted StopReason = "interrupted" // the context ended, or Close was called
	StopAborted     StopReason = "aborted"     // CrawlOptions.Abort ended
	StopFailed      StopReason = "failed"      // the error that Crawl returned
	StopKilled      StopReason = "killed"      // its process ended before it did; only Status says so
)

// laterHelp is what helps where only time does.
const laterHelp = "run it again later"

// isNeverPermitted reports whether a host is an address that no setting permits.
func isNeverPermitted(h urlkey.HostKey) bool {
	a, err := netip.ParseAddr(strings.Trim(h.Host(), "[]"))
	return err == nil && fetch.CheckAddr(a, true) != nil
}

// troubleCause says in words why hosts give nothing.
func troubleCause(t visit.Trouble) Cause {
	who, it := t.Example.String(), "it"
	if t.Hosts > 1 {
		who, it = fmt.Sprintf("%d hosts, such as %s,", t.Hosts, t.Example), "they"
	}
	do := func(one, more string) string { return isOrAre(t.Hosts, one, more) }
	f := t.Failure
	switch {
	case f == "" && t.Robots >= 300:
		return Cause{CauseRobots, fmt.Sprintf("%s %s robots.txt with status %d, which forbids everything", who,
			do("answers", "answer"), t.Robots), laterHelp}
	case f == "" && t.Robots > 0:
		return Cause{CauseRobots, fmt.Sprintf("%s %s a robots.txt that cannot be read whole, which forbids everything",
			who, do("has", "have")), laterHelp}
	case f == "":
		return Cause{CauseRobots, fmt.Sprintf("robots.txt of %s could not be fetched a while ago, so %s %s left alone",
			strings.TrimSuffix(who, ","), it, do("is", "are")), laterHelp}
	case t.Unanswered:
		return Cause{CauseRobots, fmt.Sprintf("%s %s not answer the request for robots.txt (%s), without which "+
			"nothing of a host is fetched", who, do("does", "do"), f), laterHelp}
	case f == fetch.FailDNSNotFound:
		return Cause{CauseDNS, fmt.Sprintf("%s %s not in DNS", who, do("is", "are")),
			"check the spelling, or give a hosts file with --hosts (/etc/hosts is not read)"}
	case isDNS(f):
		return Cause{CauseDNS, fmt.Sprintf("DNS does not answer for %s", strings.TrimSuffix(who, ",")),
			"check the network and its name servers, or give others with --set resolver=ADDRESS"}
	case f == fetch.FailContact:
		return Cause{CauseAddress, fmt.Sprintf("%s %s not loopback, and without a contact nothing else is crawled", who,
			do("is", "are")), "give --contact https://your.site/crawler (or a mail address)"}
	case f == fetch.FailAddress && isNeverPermitted(t.Example):
		return Cause{CauseAddress, fmt.Sprintf("%s %s a special address, to which nothing is ever sent", who,
			do("has", "have")), ""}
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
	case f == fetch.FailDialTimeout || f == fetch.FailHeadTimeout || f == fetch.FailWriteTimeout ||
		f == fetch.FailTooSlow:
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

// count is a number of things in words.
func count[N int | uint64](n N, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

func isOrAre(n int, one, more string) string {
	if n == 1 {
		return one
	}
	return more
}

func isDNS(f fetch.Failure) bool {
	return f == fetch.FailDNS || f == fetch.FailDNSNotFound || f == fetch.FailDNSTimeout
}
