// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"maps"
	"slices"

	"github.com/seine-crawler/seine/engine/policy"
)

// hostSection is a section of the TOML file with the settings of one host, or of a domain and all hosts below it:
//
//	[host."*.example.com"]
//	delay = "5s"
//	headers = { X-Key = "…" }
//	cookies = { session = "…" }
//	username = "…"
//	password = "…"
//	scope = "prefix"
//	max-pages = 1000
type hostSection struct {
	Delay     string            `toml:"delay"`
	Headers   map[string]string `toml:"headers"`
	Cookies   map[string]string `toml:"cookies"`
	Username  string            `toml:"username"`
	Password  string            `toml:"password"`
	PlainAuth bool              `toml:"plain-auth"`
	Scope     string            `toml:"scope"`
	MaxPages  int64             `toml:"max-pages"`
	MaxBytes  string            `toml:"max-bytes"`
	MaxTime   string            `toml:"max-time"`
}

// hostPolicy makes a policy of the sections; nil if there are none.
func hostPolicy(sections map[string]hostSection) (policy.HostPolicy, error) {
	if len(sections) == 0 {
		return nil, nil
	}
	entries := make(map[string]policy.HostSettings, len(sections))
	for name, section := range sections {
		s, err := section.settings()
		if err != nil {
			return nil, fmt.Errorf("[host.%q]: %w", name, err)
		}
		entries[name] = s
	}
	table, err := policy.NewHostTable(entries)
	if err != nil {
		return nil, err // an interface that holds a nil *HostTable would not be nil
	}
	return table, nil
}

// settings are the values of a section. The error names the key.
func (h *hostSection) settings() (s policy.HostSettings, err error) {
	s = policy.HostSettings{
		Header:    fields(h.Headers),
		Cookies:   fields(h.Cookies),
		Username:  h.Username,
		Password:  h.Password,
		PlainAuth: h.PlainAuth,
		MaxPages:  h.MaxPages,
	}
	if h.MaxPages < 0 {
		return s, fmt.Errorf("max-pages %d: want 0 (the crawl's) or more", h.MaxPages)
	}
	if h.Delay != "" {
		if s.Delay, err = parseDuration(h.Delay); err != nil {
			return s, fmt.Errorf("delay %q: %w", h.Delay, err)
		}
		if s.Delay == 0 {
			s.Delay = -1 // none; 0 is the crawl's
		}
	}
	if h.Scope != "" {
		scope, err := policy.ParseScope(h.Scope)
		if err != nil {
			return s, err // it names scope
		}
		s.Scope = &scope
	}
	if h.MaxBytes != "" {
		if s.MaxBytes, err = parseBytes(h.MaxBytes); err != nil {
			return s, fmt.Errorf("max-bytes %q: %w", h.MaxBytes, err)
		}
	}
	if h.MaxTime != "" {
		if s.MaxTime, err = parseDuration(h.MaxTime); err != nil {
			return s, fmt.Errorf("max-time %q: %w", h.MaxTime, err)
		}
	}
	return s, nil
}

// fields are header fields or cookies, sorted by name.
func fields(of map[string]string) (list []policy.HeaderField) {
	for _, name := range slices.Sorted(maps.Keys(of)) {
		list = append(list, policy.HeaderField{Name: name, Value: of[name]})
	}
	return list
}
