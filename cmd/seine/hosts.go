// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"maps"
	"slices"

	"github.com/seine-crawler/seine/engine/policy"
)

// hostSection is what the TOML file may say of one host, or of a domain with all below it:
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

// hostPolicy makes the policy of hosts of the file's sections; nil when there are none.
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
		return nil, err // not table: an interface that holds a nil pointer is not nil
	}
	return table, nil
}

func (h *hostSection) settings() (s policy.HostSettings, err error) {
	s = policy.HostSettings{Header: fields(h.Headers), Cookies: fields(h.Cookies), Username: h.Username, Password: h.Password,
		PlainAuth: h.PlainAuth, MaxPages: h.MaxPages}
	if h.Delay != "" {
		if s.Delay, err = parseDuration(h.Delay); err != nil {
			return s, fmt.Errorf("delay %q: %w", h.Delay, err)
		}
		if s.Delay == 0 {
			s.Delay = -1 // none
		}
	}
	if h.Scope != "" {
		scope, err := policy.ParseScope(h.Scope)
		if err != nil {
			return s, err
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

// fields are header fields or cookies in the order of their names.
func fields(of map[string]string) (list []policy.HeaderField) {
	for _, name := range slices.Sorted(maps.Keys(of)) {
		list = append(list, policy.HeaderField{Name: name, Value: of[name]})
	}
	return list
}
