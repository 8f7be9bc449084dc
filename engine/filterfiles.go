// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"errors"

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

// refreshFilters reads files that have changed again. A broken one is reported, and what it said before
// holds.
func (e *Engine) refreshFilters() {
	for _, f := range e.files {
		if _, err := f.Refresh(); err != nil {
			e.warn(err)
		}
	}
}

// mayChange asks the filters whose verdict may have changed since a URL was chosen.
func (e *Engine) mayChange(u urlkey.URL) (reason string) {
	if reason = e.files.Accept(u); reason == "" {
		reason = e.traps.Accept(u)
	}
	return reason
}
