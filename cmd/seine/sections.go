// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"maps"
	"reflect"
	"slices"

	"github.com/seine-crawler/seine/engine/policy"
)

// section is a section of the TOML file with the settings of one host, or of a domain and all hosts below it:
//
//	[host."*.example.com"]
//	delay = "5s"
//	headers = { X-Key = "…" }
//	cookies = { session = "…" }
//	username = "…"
//	password = "…"
//	scope = "prefix"
//	max-pages = 1000
type section struct {
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

// sectionKeys are the keys of each kind of section, with the kinds of their values.
var sectionKeys = map[string]map[string]reflect.Kind{"host": keysOf(reflect.TypeFor[section]())}

// sectionExamples show each kind of section.
var sectionExamples = map[string]string{"host": `host."www.example.org"`}

func keysOf(t reflect.Type) map[string]reflect.Kind {
	known := map[string]reflect.Kind{}
	for f := range t.Fields() {
		known[f.Tag.Get("toml")] = f.Type.Kind()
	}
	return known
}

// sections are the sections of settings files.
type sections struct {
	file string // for errors
	of   map[string]section
}

// under puts sections over these: those of a stronger file. A section of the same name is replaced.
func (s sections) under(over sections) sections {
	if len(over.of) == 0 {
		return s
	}
	all := maps.Clone(s.of)
	if all == nil {
		all = map[string]section{}
	}
	maps.Copy(all, over.of)
	return sections{over.file, all}
}

// names are the headings of the sections, sorted.
func (s sections) names() (list []string) {
	for _, name := range slices.Sorted(maps.Keys(s.of)) {
		list = append(list, fmt.Sprintf("host.%q", name))
	}
	return list
}

// sectionsText ends the settings file of "seine init".
const sectionsText = `
# ---- Settings of single hosts ----

# [host."*.example.org"]        # example.org and all hosts below it
# delay = "10s"
# max-pages = 1000
`

// policy makes a policy of the sections; nil if there are none.
func (s sections) policy() (policy.HostPolicy, error) {
	if len(s.of) == 0 {
		return nil, nil
	}
	entries := make(map[string]policy.HostSettings, len(s.of))
	for name, section := range s.of {
		set, err := section.settings()
		if err != nil {
			return nil, fmt.Errorf("%s: [host.%q]: %w", s.file, name, err)
		}
		entries[name] = set
	}
	table, err := policy.NewHostTable(entries)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", s.file, err) // not a nil *HostTable, which would be no nil interface
	}
	return table, nil
}

// settings are the values of a section. The error names the key.
func (h *section) settings() (s policy.HostSettings, err error) {
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
