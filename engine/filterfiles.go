// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"errors"
	"time"

	"github.com/seine-crawler/seine/engine/policy"
	"github.com/seine-crawler/seine/storage/urlkey"
)

// fileFilter is a filter in a file that people edit while a crawl runs.
type fileFilter interface {
	policy.URLFilter
	Explain(u urlkey.URL) string
	Refresh() (changed bool, err error)
}

// fileFilters are those of a crawl, in the order in which they are asked.
type fileFilters []fileFilter

// openFilterFiles reads the files that the options name.
func (o *Options) openFilterFiles() (fs fileFilters, err error) {
	var errs []error
	add := func(path string, open func(string) (fileFilter, error)) {
		if path == "" {
			return
		}
		f, err := open(path)
		if err != nil {
			errs = append(errs, err)
			return
		}
		fs = append(fs, f)
	}
	add(o.DenyHosts, func(path string) (fileFilter, error) { return policy.NewDeniedHosts(path) })
	add(o.AllowHosts, func(path string) (fileFilter, error) { return policy.NewAllowedHosts(path) })
	add(o.PrefixFile, func(path string) (fileFilter, error) { return policy.NewPrefixFilter(path) })
	add(o.SuffixFile, func(path string) (fileFilter, error) { return policy.NewSuffixFile(path) })
	add(o.FilterFile, func(path string) (fileFilter, error) { return policy.NewRulesFilter(path) })
	return fs, errors.Join(errs...)
}

// explain returns the first refusal, and which entry or rule decided.
func (fs fileFilters) explain(u urlkey.URL) (reason, rule string) {
	for _, f := range fs {
		rule = f.Explain(u)
		if reason = f.Accept(u); reason != "" {
			break
		}
	}
	return reason, rule
}

// Accept returns the first refusal.
func (fs fileFilters) Accept(u urlkey.URL) string {
	for _, f := range fs {
		if reason := f.Accept(u); reason != "" {
			return reason
		}
	}
	return ""
}

// refuseHost asks the lists of hosts only: what robots.txt files there are is not a matter of rules for URLs.
func (fs fileFilters) refuseHost(u urlkey.URL) bool {
	for _, f := range fs {
		if hosts, ok := f.(*policy.HostsFilter); ok && hosts.Accept(u) != "" {
			return true
		}
	}
	return false
}

// refreshFilters reads files that have changed again, and reports whether one has. A broken one is reported
// to the operator, and what it said before holds.
func (e *Engine) refreshFilters() (changed bool) {
	for _, f := range e.files {
		is, err := f.Refresh()
		if err != nil {
			e.warn(err)
		}
		changed = changed || is
	}
	return changed
}

// followFilters has the files of filters looked at now and then. What they refuse from now on is not asked
// for any more, and what is under way of it is cut off: the whole takes less than a second.
func (f *fetching) followFilters() {
	if time.Since(f.followed) < filtersInterval {
		return
	}
	f.followed = time.Now()
	if f.e.refreshFilters() {
		f.cutRefused()
	}
}

// mayChange asks the filters whose verdict may have changed since a URL was chosen.
func (e *Engine) mayChange(u urlkey.URL) (reason string) {
	if reason = e.files.Accept(u); reason == "" {
		reason = e.traps.Accept(u)
	}
	return reason
}
