// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"fmt"
	"time"

	"github.com/seine-crawler/seine/engine/policy"
	"github.com/seine-crawler/seine/frontier"
	"github.com/seine-crawler/seine/storage"
	"github.com/seine-crawler/seine/storage/urlkey"
)

// URLCheck is what the crawler makes of one URL: `seine check url`.
type URLCheck struct {
	URL       string `json:"url"`
	Canonical string `json:"canonical"`
	Key       string `json:"key"`
	Host      string `json:"host"`
	Domain    string `json:"domain"` // registered domain
	Accepted  bool   `json:"accepted"`
	Reason    string `json:"reason"`
	Rule      string `json:"rule,omitempty"` // of Options.FilterFile, of a list of hosts, or the closed prefix, that decided

	// Known is what the store says, nil without one.
	Known *URLKnown `json:"known,omitempty"`
}

// URLKnown is what a store knows of a URL and its host: the answer to "why was this not fetched?"
type URLKnown struct {
	Status string `json:"status"` // in crawldb, "" when it is not there
	Due    string `json:"due,omitempty"`
	// Robots is "allowed", "denied", "unreachable" or "unknown": robots.txt was not fetched yet.
	Robots string `json:"robots"`
	// Waits says why a URL that is due is not fetched yet: the host's pause, a budget. Empty if nothing
	// is known to hold it.
	Waits []string `json:"waits,omitempty"`
}

// URLChecker says what the crawler would make of URLs.
type URLChecker struct {
	o     Options
	files fileFilters
}

// NewURLChecker reads the files of rules and hosts that the options name, if any.
func NewURLChecker(o Options) (*URLChecker, error) {
	files, err := o.openFilterFiles()
	if err != nil {
		return nil, err
	}
	return &URLChecker{o.withDefaults(), files}, nil
}

// Check canonicalises, normalises and filters a URL that comes from where the normalizer scope says, without
// touching a store. The crawl's scope plays no part, since it belongs to its seeds.
func (k *URLChecker) Check(raw string, scope policy.NormalizerScope) URLCheck {
	o := &k.o
	c := URLCheck{URL: raw}
	u, err := urlkey.Parse(raw)
	if err == nil {
		u, err = o.normalizers(scope).Normalize(u)
	}
	if err != nil {
		c.Reason = err.Error()
		return c
	}
	c.Canonical, c.Key, c.Host = u.String(), string(u.Key()), u.HostKey().String()
	c.Domain = u.HostKey().Domain()
	if c.Reason = o.Filters.Accept(u); c.Reason == "" {
		c.Reason, c.Rule = k.files.explain(u)
	}
	c.Accepted = c.Reason == ""
	return c
}

// CheckURL is URLChecker.Check of a seed with what belongs to this crawl: its scope, what was found to be a trap,
// robots.txt as it was last fetched, the URL's record, its host's state and budgets. It fetches nothing.
func (e *Engine) CheckURL(raw string) (URLCheck, error) {
	return e.CheckURLIn(raw, policy.NormalizeInject)
}

// CheckURLIn is CheckURL of a URL that comes from where the normalizer scope says.
func (e *Engine) CheckURLIn(raw string, scope policy.NormalizerScope) (URLCheck, error) {
	c := (&URLChecker{e.o, e.files}).Check(raw, scope)
	if c.Canonical == "" {
		return c, nil
	}
	u, err := urlkey.Parse(c.Canonical)
	if err != nil {
		return c, err
	}
	if p := e.traps.closing([]byte(c.Key)); c.Accepted && p != "" && e.traps.percent > 0 {
		c.Accepted, c.Reason, c.Rule = false, reasonDuplicates, "closed: "+spelledPrefix(p)
	}
	if reason := e.scope.Accept(u); c.Accepted && reason != "" {
		c.Accepted, c.Reason = false, reason
	}
	c.Known, err = e.knownOf(u)
	if err == nil && c.Accepted && c.Known.Robots == "denied" {
		c.Accepted, c.Reason = false, failureRobots
	}
	return c, err
}

// knownOf asks crawldb and hostdb.
func (e *Engine) knownOf(u urlkey.URL) (*URLKnown, error) {
	k := &URLKnown{Robots: "unknown"}
	var r storage.Record
	ok, err := e.store.Record(u.Key(), &r)
	if err != nil {
		return nil, err
	}
	if ok {
		k.Status, k.Due = r.Status.String(), timeText(r.FetchTime)
	}
	var f storage.HostFacts
	if ok, err = e.store.HostFacts(urlkey.HostKey(authorityKey(u)), &f); err != nil {
		return nil, err
	}
	if ok && f.RobotsFetched > 0 {
		switch rules := robotsRules(&f, e.o.agentToken()); {
		case f.RobotsStatus == robotsStatusUnreachable:
			k.Robots = "unreachable"
			k.Waits = append(k.Waits, "robots.txt is unreachable; it is asked for again after "+timeText(f.RobotsExpires))
		case rules.Allowed(u.RequestTarget()):
			k.Robots = "allowed"
		default:
			k.Robots = "denied"
		}
	}
	return k, e.waits(u.HostKey(), k)
}

// waits adds what holds a host back.
func (e *Engine) waits(host urlkey.HostKey, k *URLKnown) error {
	var f storage.HostFacts
	if _, err := e.store.HostFacts(urlkey.HostKey(stateKey(host)), &f); err != nil {
		return err
	}
	if f.NextFetch > e.nowMS() {
		k.Waits = append(k.Waits, fmt.Sprintf("the host is left alone until %s, after %d failures in a row", timeText(f.NextFetch), f.Failures))
	}
	var c storage.HostCounts
	if _, err := e.store.HostCounts(host, &c); err != nil {
		return err
	}
	k.Waits = append(k.Waits, overspent("the host", "host", costOf(&c), frontier.Cost{URLs: e.o.HostPages, Bytes: e.o.HostBytes, Time: e.o.HostTime})...)
	b, err := e.domainBudget(e.store, host.DomainKey())
	if err == nil {
		k.Waits = append(k.Waits, overspent(host.Domain(), "domain", b.used, b.limit)...)
	}
	return err
}

// overspent tells which budgets are used up; flag is the beginning of their flags' names.
func overspent(who, flag string, used, limit frontier.Cost) (waits []string) {
	if limit.URLs > 0 && used.URLs >= limit.URLs {
		waits = append(waits, fmt.Sprintf("%s has had %d pages of the %d that it may have (--%s-pages, or its reputation)", who, used.URLs, limit.URLs, flag))
	}
	if limit.Bytes > 0 && used.Bytes >= limit.Bytes {
		waits = append(waits, fmt.Sprintf("%s has sent %d bytes of the %d that it may (--%s-bytes)", who, used.Bytes, limit.Bytes, flag))
	}
	if limit.Time > 0 && used.Time >= limit.Time {
		waits = append(waits, fmt.Sprintf("%s has taken %s of the %s that it may (--%s-time)", who, used.Time.Round(time.Millisecond), limit.Time, flag))
	}
	return waits
}
