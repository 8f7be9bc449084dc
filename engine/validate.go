// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"errors"
	"fmt"
	"math"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/seine-crawler/seine/engine/fetch"
	"github.com/seine-crawler/seine/engine/internal/crawllog"
	"github.com/seine-crawler/seine/engine/internal/phases"
	"github.com/seine-crawler/seine/engine/policy"
	"github.com/seine-crawler/seine/storage"
)

// OptionError is a fault of one field of Options. A program that takes options from people can name its own setting in
// place of the field.
type OptionError struct {
	Field string // of Options
	Value any    // without secrets
	Rule  string // what is wrong with it, or what it must be
}

func (e *OptionError) Error() string {
	if text, ok := e.Value.(string); ok {
		return fmt.Sprintf("%s %q: %s", e.Field, text, e.Rule)
	}
	return fmt.Sprintf("%s %v: %s", e.Field, e.Value, e.Rule)
}

// Validate reports all faults of the options together; each is an *OptionError. Open, Repair and Rebuild do the
// same. It reads no file and sends nothing.
func (o Options) Validate() error {
	o = o.withDefaults()
	return o.validate()
}

// validate is Validate of options that have their defaults.
func (o *Options) validate() error {
	var faults []error
	fault := func(field string, value any, rule string, args ...any) {
		faults = append(faults, &OptionError{field, value, fmt.Sprintf(rule, args...)})
	}
	if o.Dir == "" {
		fault("Dir", o.Dir, "name a data directory")
	}
	if o.Memory < memoryMin {
		fault("Memory", o.Memory, "want 64MB or more")
	}
	if o.URLLength < 0 {
		fault("URLLength", o.URLLength, "want 0 or more")
	}
	if o.Signature != "" && !slices.Contains(signerNames, o.Signature) {
		fault("Signature", o.Signature, "want %s", strings.Join(signerNames, ", "))
	}
	if o.ParseLater && o.NoContent {
		fault("ParseLater", true, "it contradicts storing no content, of which nothing can be parsed later: choose one")
	}
	if f := crawllog.Format(o.CrawlLog.Format); f != "" && f != crawllog.JSON && f != crawllog.Heritrix {
		fault("CrawlLog", o.CrawlLog.Format, "want the format %s or %s", crawllog.JSON, crawllog.Heritrix)
	}
	if o.PageWorkers < 0 {
		fault("PageWorkers", o.PageWorkers, "want 0 (one for each processor) or more")
	}
	if o.MaxInterval < time.Second || o.MaxInterval/time.Second > math.MaxUint32 {
		fault("MaxInterval", o.MaxInterval, "want 1s to %s", math.MaxUint32*time.Second)
	} else if o.Interval < time.Second || o.Interval > o.MaxInterval {
		fault("Interval", o.Interval, "want 1s to the longest interval, which is %s", o.MaxInterval)
	}
	if math.IsNaN(o.SeedScore) || math.IsInf(o.SeedScore, 0) {
		fault("SeedScore", o.SeedScore, "want a number")
	}
	if _, ok := graphNodes[o.LinkRank]; !ok && o.LinkRank != rankInlinkDomains {
		fault("LinkRank", o.LinkRank, "want page, host, domain, %s or nothing", rankInlinkDomains)
	} else if o.LinkRank != "" && o.byDepth() {
		fault("LinkRank", o.LinkRank, rankBesideDepth)
	}
	if _, err := phases.ParseDedupOrder(o.DedupOrder); err != nil {
		fault("DedupOrder", o.DedupOrder, "%s", err)
	}
	if !slices.Contains(policy.Scopes(), o.Scope) {
		fault("Scope", o.Scope, "want one of %v", policy.Scopes())
	}
	if o.NearDuplicates != nearCollapse && o.NearDuplicates != nearMark {
		fault("NearDuplicates", o.NearDuplicates, "want %s or %s", nearCollapse, nearMark)
	}
	if strings.ContainsFunc(o.UserAgent, notPrintableASCII) && !strings.ContainsFunc(o.Contact, notPrintableASCII) {
		fault("UserAgent", o.UserAgent, "want printable ASCII only")
	}
	if o.Contact != "" && !reachable(o.Contact) {
		fault("Contact", o.Contact, "want a URL such as https://your.site/crawler, or a mail address")
	}
	if err := fetch.CheckProxy(o.Proxy); err != nil {
		fault("Proxy", fetch.RedactProxy(o.Proxy), "%s", err)
	}
	for _, t := range o.RefuseTypes {
		if !isTypeOrGroup(t) {
			fault("RefuseTypes", strings.Join(o.RefuseTypes, ","),
				"%q is no media type: want some such as video/* or application/zip", t)
		}
	}
	return errors.Join(slices.Concat(faults, o.outOfRange(), o.nilPolicies(), o.writerFaults())...)
}

// nilPolicies are the faults of lists of which an element is nil.
func (o *Options) nilPolicies() (faults []error) {
	for _, list := range []struct {
		field string
		isNil bool
	}{
		{"Normalizers", slices.Contains(o.Normalizers, nil)}, {"Filters", slices.Contains(o.Filters, nil)},
		{"LiveFilters", slices.Contains(o.LiveFilters, nil)}, {"IndexFilters", slices.Contains(o.IndexFilters, nil)},
		{"Parsers", slices.Contains(o.Parsers.Filters, nil)},
	} {
		if list.isNil {
			faults = append(faults, &OptionError{list.field, nil, "one of the list is nil"})
		}
	}
	for scope, chain := range o.NormalizerScopes {
		if slices.Contains(chain, nil) {
			faults = append(faults, &OptionError{"NormalizerScopes", scope, "one of the list is nil"})
		}
	}
	return faults
}

// writerFaults are the faults of IndexWriters.
func (o *Options) writerFaults() (faults []error) {
	names := map[string]bool{}
	for _, w := range o.IndexWriters {
		if w == nil {
			faults = append(faults, &OptionError{"IndexWriters", nil, "one of the list is nil"})
			continue
		}
		name := w.Name()
		if name == "" || len(name) > writerNameMax || names[name] {
			rule := fmt.Sprintf("want a name of 1 to %d bytes, and each writer once", writerNameMax)
			faults = append(faults, &OptionError{"IndexWriters", name, rule})
		}
		names[name] = true
	}
	return faults
}

// isTypeOrGroup reports whether a text is a media type, or the beginning of some with "*" after it.
func isTypeOrGroup(t string) bool {
	group, sub, ok := strings.Cut(t, "/")
	return ok && group != "" && sub != "" && !strings.ContainsAny(t, " \t;,") &&
		!strings.Contains(strings.TrimSuffix(t, "*"), "*")
}

// rankBesideDepth says why links are not ranked: each of the two would undo what the other writes.
const rankBesideDepth = "it contradicts a scoring by depth, which writes scores too: choose one"

// byDepth reports whether scores follow from depths.
func (o *Options) byDepth() bool {
	_, is := o.Scorer.(policy.DepthScorer)
	return is
}

// outOfRange are the faults of numbers that have bounds and no other rule.
func (o *Options) outOfRange() (faults []error) {
	for _, n := range []struct {
		field       string
		value       int
		least, most int
	}{
		{"Concurrency", o.Concurrency, 1, concurrencyMax},
		{"Processors", o.Processors, 1, processorsMax}, {"PerHost", o.PerHost, 1, perHostMax},
		{"MaxInlinks", o.MaxInlinks, 1, inlinksMax},
		{"AnchorLength", o.AnchorLength, 1, storage.AnchorMaxBytes},
		{"MaxDepth", o.MaxDepth, 0, depthMax},
		{"MaxRedirects", o.MaxRedirects, 0, redirectsMax},
	} {
		if n.value < n.least || n.value > n.most {
			faults = append(faults, &OptionError{n.field, n.value, fmt.Sprintf("want %d to %d", n.least, n.most)})
		}
	}
	if now := o.Now().UTC(); now.Year() < clockFirst || now.Year() > clockLast {
		faults = append(faults, &OptionError{
			"Now", now.Format(time.RFC3339), fmt.Sprintf("want a year from %d to %d", clockFirst, clockLast),
		})
	}
	if o.TrapDuplicates > 100 {
		faults = append(faults, &OptionError{"TrapDuplicates", o.TrapDuplicates, "want a percentage, 0 to 100"})
	}
	for _, b := range []struct {
		field string
		value any
		below bool
	}{
		{"HostPages", o.HostPages, o.HostPages < 0}, {"DomainPages", o.DomainPages, o.DomainPages < 0},
		{"HostBytes", o.HostBytes, o.HostBytes < 0}, {"DomainBytes", o.DomainBytes, o.DomainBytes < 0},
		{"HostTime", o.HostTime, o.HostTime < 0}, {"DomainTime", o.DomainTime, o.DomainTime < 0},
	} {
		if b.below {
			faults = append(faults, &OptionError{b.field, b.value, "want 0 (no bound) or more"})
		}
	}
	for _, d := range []struct {
		field string
		value time.Duration
		zero  string
	}{
		{"FetchTimeout", o.FetchTimeout, "60s"},
		{"GoneUnlinked", o.GoneUnlinked, "never"}, {"OrphanUnlinked", o.OrphanUnlinked, "never"},
	} {
		if d.value < 0 {
			faults = append(faults, &OptionError{d.field, d.value, fmt.Sprintf("want 0 (%s) or more", d.zero)})
		}
	}
	return faults
}

func notPrintableASCII(r rune) bool { return r < ' ' || r > '~' }

// reachable reports whether a contact leads a webmaster anywhere: a web page, or a mail address.
func reachable(contact string) bool {
	if strings.ContainsFunc(contact, func(r rune) bool { return r == ' ' || notPrintableASCII(r) }) {
		return false
	}
	if u, err := url.Parse(contact); err == nil && (u.Scheme == "http" || u.Scheme == "https") {
		return u.Hostname() != ""
	}
	name, host, ok := strings.Cut(strings.TrimPrefix(contact, "mailto:"), "@")
	return ok && name != "" && host != "" && !strings.Contains(host, "@")
}
