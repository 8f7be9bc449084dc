// SPDX-License-Identifier: Apache-2.0

package inspect

import (
	"fmt"

	"github.com/seine-crawler/seine/engine/internal/admission"
	"github.com/seine-crawler/seine/storage"
	"github.com/seine-crawler/seine/storage/urlkey"
)

// Explanation says whether a URL may be crawled, why not, and what delays it. Times are in ms since 1970.
type Explanation struct {
	Verdict admission.Verdict
	// Known reports whether crawldb has a record; Record is zero if not.
	Known  bool
	Record storage.Record
	// Robots is what the newest robots.txt of the URL's authority says, and Denied why it denies the URL. With
	// Unreachable set it says nothing: robots.txt is requested again after RobotsExpires.
	Robots        admission.Robots
	Denied        string
	Unreachable   bool
	RobotsExpires int64
	// PausedUntil is when the host may be visited next, after Failures failed visits in a row; 0: now.
	PausedUntil int64
	Failures    uint16
	// Host and Domain are the budgets of the URL's host and registered domain.
	Host, Domain admission.Budget
}

// Explain collects what the store knows of a URL and of its host, and asks admission. It requests nothing.
func (in *Inspect) Explain(u urlkey.URL) (x Explanation, err error) {
	if x.Known, err = in.env.Store.Record(u.Key(), &x.Record); err != nil {
		return x, err
	}
	if err := in.explainRobots(u, &x); err != nil {
		return x, err
	}
	host := u.HostKey()
	var state storage.HostFacts
	if _, err := in.env.Store.HostFacts(storage.HostStateKey(host), &state); err != nil {
		return x, fmt.Errorf("hostdb facts of %s: %w", host, err)
	}
	if state.NextFetch > in.env.Now().UnixMilli() {
		x.PausedUntil, x.Failures = state.NextFetch, state.Failures
	}
	if x.Host, err = in.env.Admission.HostBudget(host); err != nil {
		return x, err
	}
	if x.Domain, err = in.env.Admission.DomainBudgetNow(host.DomainKey()); err != nil {
		return x, fmt.Errorf("budget of %s: %w", host.Domain(), err)
	}
	// Not Hops: a redirect chain is only judged when its next URL is found.
	x.Verdict = in.env.Admission.Explain(u, admission.Facts{Depth: int(x.Record.Depth), Robots: x.Robots})
	return x, nil
}

func (in *Inspect) explainRobots(u urlkey.URL, x *Explanation) error {
	var f storage.HostFacts
	ok, err := in.env.Store.HostFacts(storage.AuthorityKey(u.HostKey(), u.Scheme()), &f)
	if err != nil {
		return fmt.Errorf("hostdb facts of %s, %s: %w", u.HostKey(), u.Scheme(), err)
	}
	if !ok || f.RobotsFetched == 0 {
		return nil
	}
	x.RobotsExpires = f.RobotsExpires
	switch reachable, denied := in.env.Robots(&f, u); {
	case !reachable:
		x.Unreachable = true
	case denied == "":
		x.Robots = admission.RobotsAllowed
	default:
		x.Robots, x.Denied = admission.RobotsDenied, denied
	}
	return nil
}
