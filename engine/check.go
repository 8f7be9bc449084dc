// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"fmt"
	"net/netip"
	"strings"
	"time"

	"github.com/seine-crawler/seine/engine/fetch"
	"github.com/seine-crawler/seine/engine/internal/admission"
	"github.com/seine-crawler/seine/engine/internal/inspect"
	"github.com/seine-crawler/seine/engine/internal/phases"
	"github.com/seine-crawler/seine/engine/internal/segment"
	"github.com/seine-crawler/seine/engine/internal/visit"
	"github.com/seine-crawler/seine/engine/policy"
	"github.com/seine-crawler/seine/storage"
	"github.com/seine-crawler/seine/storage/urlkey"
)

// URLCheck says what the crawler makes of one URL: `seine check url`.
type URLCheck struct {
	URL       string `json:"url"`       // as given
	Canonical string `json:"canonical"` // after the normalizers; "": it cannot be crawled, and Reason says why
	Key       string `json:"key"`
	Host      string `json:"host"`
	Domain    string `json:"domain"` // registered domain
	Accepted  bool   `json:"accepted"`
	Reason    string `json:"reason"` // why not; "" if accepted
	// Rule is what decided: an entry of a list of hosts, a rule of a file, a closed prefix; "" if that has no name.
	Rule string `json:"rule,omitempty"`
	// Blocked says why the client may not connect to the host, although the URL is accepted: its address or its port;
	// "" if nothing forbids it. Names are not resolved.
	Blocked string `json:"blocked,omitempty"`

	// Known is what the data directory has of the URL; nil from a URLChecker, which has none.
	Known *URLKnown `json:"known,omitempty"`
}

// URLKnown is what a data directory has of a URL and its host: the answer to "why was this not fetched?"
type URLKnown struct {
	Status storage.Status `json:"status"`       // in crawldb; 0 (in JSON ""): it is not there
	Due    time.Time      `json:"due,omitzero"` // when the next fetch is due, in UTC
	// Robots is what robots.txt says: "allowed", "denied", "unreachable", or "unknown" if it was not requested yet.
	Robots string `json:"robots"`
	// Waits says why a URL that is due is not fetched yet: the host's pause, a budget. Empty means that nothing known
	// delays it.
	Waits []string `json:"waits,omitempty"`
}

// String writes a check for people, on several lines. Control characters of the URL are spaces.
func (c URLCheck) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n  canonical  %s\n  key        %s\n  host       %s\n",
		strings.Map(onePrintable, c.URL), c.Canonical, c.Key, c.Host)
	if k := c.Known; k != nil {
		status := "not known"
		if k.Status != 0 {
			status = k.Status.String() + ", due " + timeText(k.Due)
		}
		fmt.Fprintf(&b, "  crawldb    %s\n  robots     %s\n", status, k.Robots)
		for _, why := range k.Waits {
			fmt.Fprintf(&b, "  waits      %s\n", strings.Map(onePrintable, why))
		}
	}
	verdict := "accepted"
	switch {
	case !c.Accepted:
		verdict = "refused: " + c.Reason
	case c.Blocked != "":
		verdict = "blocked: " + c.Blocked
	}
	if c.Rule != "" {
		verdict += " (" + c.Rule + ")"
	}
	b.WriteString("  " + strings.Map(onePrintable, verdict))
	return b.String()
}

// newURLCheck canonicalizes and normalizes a URL; scope says where it comes from. If that fails, u is zero and the
// check has the reason; otherwise the check is not decided yet.
func newURLCheck(o *Options, raw string, scope policy.NormalizerScope) (c URLCheck, u urlkey.URL) {
	c.URL = raw
	parse := urlkey.Parse
	if scope == policy.NormalizeInject || scope == "" {
		parse = func(raw string) (urlkey.URL, error) {
			u, _, err := phases.ParseSeed(raw)
			return u, err
		}
	}
	u, err := parse(raw)
	if err == nil {
		u, err = o.normalizers(scope).Normalize(u)
	}
	if err != nil {
		c.Reason = err.Error()
		return c, urlkey.URL{}
	}
	host := u.HostKey()
	c.Canonical, c.Key, c.Host, c.Domain = u.String(), string(u.Key()), host.String(), host.Domain()
	return c, u
}

// decide completes a check.
func (c *URLCheck) decide(v admission.Verdict) {
	c.Accepted, c.Reason, c.Rule = v.OK(), v.Reason, v.Rule
}

// blocked is URLCheck.Blocked.
func (o *Options) blocked(u urlkey.URL) string {
	if o.Protocol != nil {
		return ""
	}
	var f fetch.Failure
	a, err := netip.ParseAddr(strings.Trim(u.Host(), "[]"))
	switch port := u.Port(); { // in the order of the client
	case !o.AllowPrivate && port != 80 && port != 443:
		f = fetch.FailPort
	case err == nil && fetch.CheckAddr(a, o.AllowPrivate) != nil:
		f = fetch.FailAddress
	default:
		return ""
	}
	return troubleCause(visit.Trouble{Failure: f, Hosts: 1, Example: u.HostKey()}).String()
}

// URLChecker says what the crawler would make of URLs, without a data directory. NewURLChecker makes one; any goroutine
// may use it.
type URLChecker struct {
	o       Options
	filters *admission.Admission
}

// NewURLChecker returns a checker with the normalizers and filters of the options. Other options are ignored.
func NewURLChecker(o Options) *URLChecker {
	o = o.withDefaults()
	return &URLChecker{o, o.filtersAlone()}
}

// filtersAlone returns an admission without seeds and store: only filters can refuse.
func (o *Options) filtersAlone() *admission.Admission {
	return admission.New(admission.Options{
		Filters: o.Filters, Live: o.LiveFilters, Scope: policy.ScopeAny, Now: o.Now,
	})
}

// Check canonicalizes, normalizes and filters a URL; scope says where it comes from, "" means nowhere special. The
// scope of the crawl does not count, because it depends on the seeds. A text that is no URL gives a check with a
// Reason.
func (k *URLChecker) Check(url string, scope policy.NormalizerScope) URLCheck {
	c, u := newURLCheck(&k.o, url, scope)
	if !u.IsZero() {
		c.decide(k.filters.Explain(u, admission.Facts{}))
		c.Blocked = k.o.blocked(u)
	}
	return c
}

// viewKnown makes a view of an explanation, with what delays the URL.
func (o *Options) viewKnown(u urlkey.URL, x *inspect.Explanation) *URLKnown {
	k := &URLKnown{Robots: "unknown"}
	if x.Known {
		k.Status, k.Due = x.Record.Status, timeOf(x.Record.FetchTime)
	}
	wait := func(format string, args ...any) { k.Waits = append(k.Waits, fmt.Sprintf(format, args...)) }
	switch {
	case x.Unreachable:
		k.Robots = "unreachable"
		again := "before the next fetch"
		if expires := timeOf(x.RobotsExpires); o.Now == nil || o.Now().Before(expires) {
			again = "after " + timeText(expires)
		}
		wait("robots.txt is unreachable: it is requested again %s", again)
	case x.Robots == admission.RobotsAllowed:
		k.Robots = "allowed"
	case x.Robots == admission.RobotsDenied:
		k.Robots = "denied"
		if x.Denied == segment.FailureCrawlDelay {
			wait("robots.txt demands a longer Crawl-delay than max-crawl-delay = %s accepts", o.MaxCrawlDelay)
		}
	}
	if x.PausedUntil > 0 {
		after := "because it failed, or demanded it" // a host that sleeps has its failures counted as sleeps
		if x.Failures > 0 {
			after = fmt.Sprintf("after %d failed visits in a row", x.Failures)
		}
		wait("the host is paused until %s, %s", timeText(timeOf(x.PausedUntil)), after)
	}
	for _, s := range append(o.spentParts(u.HostKey(), hostBudget, x.Host),
		o.spentParts(u.HostKey(), domainBudget, x.Domain)...) {
		if !s.pages || !x.Known || x.Record.IsNew() {
			wait("%s", &s)
		}
	}
	return k
}
