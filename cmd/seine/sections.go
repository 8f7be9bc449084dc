// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"time"

	"github.com/seine-crawler/seine/engine/policy"
)

// section is a section of a settings file: what differs for a host, for a domain and all hosts below it, or for the
// URLs that begin with a text. A pointer is nil where the section says nothing, since 0 means no limit.
//
//	[domain."example.com"]
//	delay = "5s"
//	headers = { X-Key = "…" }
//	[host."www.example.com"]
//	max-pages = 1000
//	[prefix."https://www.example.com/news/"]
//	interval = "1h"
type section struct {
	Delay     *string           `toml:"delay"`
	Headers   map[string]string `toml:"headers"`
	Cookies   map[string]string `toml:"cookies"`
	Username  *string           `toml:"username"`
	Password  *string           `toml:"password"`
	PlainAuth *bool             `toml:"plain-auth"`
	UserAgent *string           `toml:"user-agent"`
	Scope     *string           `toml:"scope"`
	MaxDepth  *int64            `toml:"max-depth"`
	Interval  *string           `toml:"interval"`
	MaxPages  *int64            `toml:"max-pages"`
	MaxBytes  *string           `toml:"max-bytes"`
	MaxTime   *string           `toml:"max-time"`
	Timeout   *string           `toml:"timeout"`
	MaxBody   *string           `toml:"max-body"`
}

// hostsOwn are the keys that a section of a prefix cannot have: they belong to the host.
var hostsOwn = []string{"delay", "user-agent", "max-pages", "max-bytes", "max-time"}

// sectionKeys are the keys of each kind of section, with the kinds of their values.
var sectionKeys = func() map[string]map[string]reflect.Kind {
	all := map[string]reflect.Kind{}
	for f := range reflect.TypeFor[section]().Fields() {
		all[f.Tag.Get("toml")] = f.Type.Kind()
	}
	ofPrefix := maps.Clone(all)
	maps.DeleteFunc(ofPrefix, func(key string, _ reflect.Kind) bool { return slices.Contains(hostsOwn, key) })
	return map[string]map[string]reflect.Kind{"host": all, "domain": all, "prefix": ofPrefix}
}()

// sectionExamples show each kind of section.
var sectionExamples = map[string]string{
	"host": `host."www.example.org"`, "domain": `domain."example.org"`, "prefix": `prefix."https://www.example.org/a/"`,
}

// sectionsText ends the settings file of "seine init".
const sectionsText = `
# ---- Settings of single hosts, domains and URLs ----

# The most specific section that sets something decides; what it leaves open comes from the next one, at last from
# the settings above. A prefix of URLs comes before a host, a host before a domain. Keys: delay, headers, cookies,
# username, password, plain-auth, user-agent, scope, max-depth, interval, max-pages, max-bytes, max-time, timeout and
# max-body.

# [domain."example.org"]        # example.org and all hosts below it
# delay = "10s"
# headers = { X-Api-Key = "…" }

# [host."www.example.org"]
# max-pages = 1000

# [prefix."https://www.example.org/news/"]
# interval = "1h"
`

// sections are the sections of settings files by kind and name.
type sections map[sectionName]placedSection

type sectionName struct{ kind, name string }

func (n sectionName) String() string { return fmt.Sprintf("[%s.%q]", n.kind, n.name) }

// placedSection is a section with the file that holds it.
type placedSection struct {
	section
	file string
}

// under puts the sections of a stronger file over these, key by key.
func (s sections) under(over sections) sections {
	all := sections{}
	maps.Copy(all, s)
	for name, upper := range over {
		lower, both := all[name]
		if both {
			to, from := reflect.ValueOf(&upper.section).Elem(), reflect.ValueOf(lower.section)
			for i := range to.NumField() {
				if to.Field(i).IsZero() {
					to.Field(i).Set(from.Field(i))
				}
			}
		}
		all[name] = upper
	}
	return all
}

// names are the headings of the sections, sorted.
func (s sections) names() (list []string) {
	for name := range s {
		list = append(list, name.String())
	}
	slices.Sort(list)
	return list
}

// policy makes a policy of the sections; nil if there are none.
func (s sections) policy() (policy.HostPolicy, error) {
	if len(s) == 0 {
		return nil, nil
	}
	entries := map[string]policy.HostSettings{}
	files := map[string]bool{}
	for name, of := range s {
		set, err := of.settings()
		entry := name.name
		if name.kind == "domain" {
			entry = "*." + entry
		}
		if _, twice := entries[entry]; twice && err == nil {
			err = errors.New("another section says the same")
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %s: %w", of.file, name, err)
		}
		entries[entry] = set
		files[of.file] = true
	}
	table, err := policy.NewHostTable(entries)
	if err != nil {
		// Not a nil *HostTable, which would be no nil interface.
		return nil, fmt.Errorf("%s: %w", slices.Sorted(maps.Keys(files)), err)
	}
	return table, nil
}

// settings are the values of a section. The error names the key.
func (h *section) settings() (s policy.HostSettings, err error) {
	s = policy.HostSettings{
		Header: fields(h.Headers), Cookies: fields(h.Cookies), Username: orZero(h.Username),
		Password: orZero(h.Password), PlainAuth: orZero(h.PlainAuth), UserAgent: orZero(h.UserAgent),
	}
	if h.Scope != nil {
		scope, err := policy.ParseScope(*h.Scope)
		if err != nil {
			return s, err // it names scope
		}
		s.Scope = &scope
	}
	var depth int64
	err = errors.Join(
		limit("max-depth", h.MaxDepth, &depth),
		limit("max-pages", h.MaxPages, &s.MaxPages),
		read("delay", h.Delay, parseDuration, &s.Delay, -1),
		read("max-time", h.MaxTime, parseDuration, &s.MaxTime, -1),
		read("max-bytes", h.MaxBytes, parseBytes, &s.MaxBytes, -1),
		read("interval", h.Interval, parseLong, &s.Interval, 0),
		read("timeout", h.Timeout, parseLong, &s.Timeout, 0),
		read("max-body", h.MaxBody, parseBytes, &s.MaxBody, 0),
	)
	s.MaxDepth = int(depth)
	return s, err
}

// limit reads a number; 0 is no limit.
func limit(key string, n *int64, to *int64) error {
	switch {
	case n == nil:
	case *n < 0:
		return fmt.Errorf("%s %d: want 0 (no limit) or more", key, *n)
	case *n == 0:
		*to = -1
	default:
		*to = *n
	}
	return nil
}

// read reads a value; zero is what 0 means.
func read[T ~int64](key string, text *string, parse func(string) (T, error), to *T, zero T) error {
	if text == nil {
		return nil
	}
	v, err := parse(*text)
	if err != nil {
		return fmt.Errorf("%s %q: %w", key, *text, err)
	}
	if v == 0 {
		v = zero
	}
	*to = v
	return nil
}

// parseLong reads a duration of more than 0.
func parseLong(text string) (time.Duration, error) {
	d, err := parseDuration(text)
	if err == nil && d <= 0 {
		err = errors.New("want a duration of more than 0, such as 2s or 12h")
	}
	return d, err
}

// orZero is what p points to; the zero value for nil.
func orZero[T any](p *T) (v T) {
	if p != nil {
		v = *p
	}
	return v
}

// fields are header fields or cookies, sorted by name.
func fields(of map[string]string) (list []policy.HeaderField) {
	for _, name := range slices.Sorted(maps.Keys(of)) {
		list = append(list, policy.HeaderField{Name: name, Value: of[name]})
	}
	return list
}
