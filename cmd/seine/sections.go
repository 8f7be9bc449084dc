// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/seine-crawler/seine/engine/policy"
)

// sectionSetting is what a section of a settings file can set: for a host, for a domain and all hosts below it, or for
// the URLs that begin with a text.
//
//	[domain."example.com"]
//	delay = "5s"
//	headers = { X-Key = "…" }
//	[host."www.example.com"]
//	max-pages = 1000
//	[prefix."https://www.example.com/news/"]
//	interval = "1h"
type sectionSetting struct {
	name       string
	kind       kind
	table      bool // names with values
	ofHost     bool // it belongs to the host: a section of a prefix cannot have it
	zeroIsNone bool // 0 means none where the policy's 0 leaves it open
	secret     bool // nobody is shown the value
	help       string
	into       func(s *policy.HostSettings) any // the field that the value is for
}

// sectionSettings is the one table of what sections can set.
var sectionSettings = []sectionSetting{
	{name: "delay", kind: aDuration, ofHost: true, zeroIsNone: true, help: "as `--delay`",
		into: func(s *policy.HostSettings) any { return &s.Delay }},
	{name: "per-host", kind: aPositive, ofHost: true, help: "as `per-host`",
		into: func(s *policy.HostSettings) any { return &s.PerHost }},
	{name: "headers", table: true, secret: true, help: "fields of the request's header: `{ X-Key = \"…\" }`",
		into: func(s *policy.HostSettings) any { return &s.Header }},
	{name: "cookies", table: true, secret: true, help: "cookies: `{ session = \"…\" }`",
		into: func(s *policy.HostSettings) any { return &s.Cookies }},
	{name: "username", kind: aText, help: "for basic authentication, with what the same section has of the two below",
		into: func(s *policy.HostSettings) any { return &s.Username }},
	{name: "password", kind: aText, secret: true, help: "for basic authentication",
		into: func(s *policy.HostSettings) any { return &s.Password }},
	{name: "plain-auth", kind: aSwitch, help: "send the password over http, too",
		into: func(s *policy.HostSettings) any { return &s.PlainAuth }},
	{name: "user-agent", kind: aText, ofHost: true, help: "as `--user-agent`",
		into: func(s *policy.HostSettings) any { return &s.UserAgent }},
	{name: "scope", kind: aScope, help: "as `--scope`, for these URLs",
		into: func(s *policy.HostSettings) any { return &s.Scope }},
	{name: "max-depth", kind: aCount, zeroIsNone: true, help: "as `--max-depth`",
		into: func(s *policy.HostSettings) any { return &s.MaxDepth }},
	{name: "interval", kind: aTime, help: "as `interval`",
		into: func(s *policy.HostSettings) any { return &s.Interval }},
	{name: "min-interval", kind: aTime, help: "shortest interval that the schedule may choose, " +
		"at most the crawl's max-interval",
		into: func(s *policy.HostSettings) any { return &s.MinInterval }},
	{name: "max-interval", kind: aTime,
		help: "longest interval that the schedule may choose, if the crawl's is not less",
		into: func(s *policy.HostSettings) any { return &s.MaxInterval }},
	{name: "max-pages", kind: aCount, ofHost: true, zeroIsNone: true, help: "as `host-pages`",
		into: func(s *policy.HostSettings) any { return &s.MaxPages }},
	{name: "max-bytes", kind: aSize, ofHost: true, zeroIsNone: true, help: "as `host-bytes`",
		into: func(s *policy.HostSettings) any { return &s.MaxBytes }},
	{name: "max-time", kind: aDuration, ofHost: true, zeroIsNone: true, help: "as `host-time`",
		into: func(s *policy.HostSettings) any { return &s.MaxTime }},
	{name: "timeout", kind: aTime, help: "as `timeout`",
		into: func(s *policy.HostSettings) any { return &s.Timeout }},
	{name: "max-body", kind: aSomeSize, help: "most bytes of one response; what is longer is cut off",
		into: func(s *policy.HostSettings) any { return &s.MaxBody }},
}

// sectionKinds are the settings of each kind of section, by name.
var sectionKinds = func() map[string]map[string]*sectionSetting {
	all, ofPrefix := map[string]*sectionSetting{}, map[string]*sectionSetting{}
	for i := range sectionSettings {
		s := &sectionSettings[i]
		all[s.name] = s
		if !s.ofHost {
			ofPrefix[s.name] = s
		}
	}
	return map[string]map[string]*sectionSetting{"host": all, "domain": all, "prefix": ofPrefix}
}()

// sectionExamples show each kind of section.
var sectionExamples = map[string]string{
	"host": `[host."www.example.org"]`, "domain": `[domain."example.org"]`,
	"prefix": `[prefix."https://www.example.org/a/"]`,
}

// sectionList names all kinds of sections.
func sectionList() string {
	return fmt.Sprintf("%s, %s or %s", sectionExamples["host"], sectionExamples["domain"], sectionExamples["prefix"])
}

// sectionsText ends the settings file of "seine init".
const sectionsText = `
# ---- Settings of single hosts, domains and URLs ----

# The most specific section that sets something decides; what it leaves open comes from the next one, at last from
# the settings above. A prefix of URLs comes before a host, a host before a domain. Keys: delay, per-host, headers,
# cookies, username, password, plain-auth, user-agent, scope, max-depth, interval, min-interval, max-interval,
# max-pages, max-bytes, max-time, timeout and max-body.

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

// other is what a section is whose name is that of another kind; the zero value: its name fits. A section of a host
// that held for some of its URLs, or one of a prefix that held for more, would not do what its heading says.
func (n sectionName) other() sectionName {
	switch isURL := strings.Contains(n.name, "://"); {
	case n.kind == "prefix" && !isURL && strings.Contains(n.name, "/"):
		return sectionName{"prefix", "https://" + n.name}
	case n.kind == "prefix" && !isURL:
		return sectionName{"host", n.name}
	case n.kind != "prefix" && isURL:
		return sectionName{"prefix", n.name}
	}
	return sectionName{}
}

// placedSection is a section with the place where it begins.
type placedSection struct {
	values map[string]sectionValue
	where  string
}

// sectionValue is a value of a section with its place. It has fields instead of a text if its setting is a table.
type sectionValue struct {
	text   string
	fields map[string]string
	where  string
}

// under puts the sections of a stronger file over these, key by key.
func (s sections) under(over sections) sections {
	all := sections{}
	maps.Copy(all, s)
	for name, upper := range over {
		values := maps.Clone(all[name].values)
		if values == nil {
			values = map[string]sectionValue{}
		}
		maps.Copy(values, upper.values)
		all[name] = placedSection{values, upper.where}
	}
	return all
}

// names are the sections, sorted.
func (s sections) names() []sectionName {
	return slices.SortedFunc(maps.Keys(s), func(a, b sectionName) int {
		return cmp.Or(cmp.Compare(a.kind, b.kind), cmp.Compare(a.name, b.name))
	})
}

// policy makes a policy of the sections; nil if there are none. The error lists all faults with their places.
func (s sections) policy() (policy.HostPolicy, error) {
	if len(s) == 0 {
		return nil, nil
	}
	entries := map[string]policy.HostSettings{}
	var faults []error
	for _, name := range s.names() {
		set := s[name].settings()
		entry := name.name
		if name.kind == "domain" {
			entry = "*." + entry
		}
		_, twice := entries[entry]
		entries[entry] = set
		err := policy.CheckHostSettings(entry, set)
		if other := name.other(); other != (sectionName{}) {
			err = fmt.Errorf("that is no %s: write %s", name.kind, other)
		} else if twice {
			err = errors.New("another section says the same")
		} else if s[name].halfLogin() {
			err = errors.New("plain-auth belongs to the username and the password, which stand in one section: " +
				"give them here too")
		}
		if err != nil {
			faults = append(faults, fmt.Errorf("%s: %s: %w", s[name].where, name, err))
		}
	}
	if len(faults) > 0 {
		return nil, errors.Join(faults...)
	}
	table, err := policy.NewHostTable(entries)
	if err != nil {
		return nil, err // not a nil *HostTable, which would be no nil interface
	}
	return table, nil
}

// halfLogin reports whether a section says how to send a login and has none: a login comes from one section as a whole.
func (s placedSection) halfLogin() bool {
	_, plain := s.values["plain-auth"]
	_, named := s.values["username"]
	_, secret := s.values["password"]
	return plain && !named && !secret
}

// settings are the values of a section, which have been checked.
func (s placedSection) settings() (h policy.HostSettings) {
	for key, v := range s.values {
		setting := sectionKinds["host"][key]
		field := reflect.ValueOf(setting.into(&h)).Elem()
		if setting.table {
			field.Set(reflect.ValueOf(headerFields(v.fields)))
			continue
		}
		parsed, err := setting.kind.parse(v.text)
		if err != nil {
			panic(key + " was not checked: " + err.Error())
		}
		to := reflect.ValueOf(parsed)
		if setting.zeroIsNone && to.IsZero() {
			parsed = -1
		}
		if field.Kind() == reflect.Pointer {
			field.Set(reflect.New(field.Type().Elem()))
			field = field.Elem()
		}
		field.Set(reflect.ValueOf(parsed).Convert(field.Type()))
	}
	return h
}

// headerFields are header fields or cookies, sorted by name.
func headerFields(of map[string]string) (list []policy.HeaderField) {
	for _, name := range slices.Sorted(maps.Keys(of)) {
		list = append(list, policy.HeaderField{Name: name, Value: of[name]})
	}
	return list
}
