// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/seine-crawler/seine/engine"
	"github.com/seine-crawler/seine/engine/policy"
)

// normalizers are the normalizers of the settings in the order in which they run; rewrite is the file of substitutions
// ("": none), which a setting names.
func (f *flags) normalizers(setting, rewrite string) (policy.URLNormalizers, error) {
	ns := policy.URLNormalizers{}
	if f.on("strip-tracking") {
		ns = append(ns, policy.ParameterNormalizer{})
	}
	if rewrite != "" {
		text, err := os.ReadFile(rewrite)
		if err != nil {
			return nil, f.fault(setting, fileError(rewrite, err))
		}
		n, err := policy.ParseSubstitutions(text)
		if err != nil {
			return nil, f.fault(setting, fmt.Errorf("%s: %w", rewrite, err))
		}
		ns = append(ns, n)
	}
	if f.on("merge-slashes") {
		ns = append(ns, policy.SlashNormalizer{})
	}
	if f.text("rewrite-hosts")+f.text("protocols")+f.text("slashes") != "" {
		n, err := f.siteNormalizer()
		if err != nil {
			return nil, err
		}
		ns = append(ns, n)
	}
	if f.on("sort-query") {
		ns = append(ns, policy.QueryNormalizer{})
	}
	return ns, nil
}

// siteNormalizer reads the files of rewrite-hosts, protocols and slashes.
func (f *flags) siteNormalizer() (*policy.SiteNormalizer, error) {
	var rules policy.SiteRules
	var files []string
	for setting, to := range map[string]*[]byte{
		"rewrite-hosts": &rules.HostAliases, "protocols": &rules.Protocols, "slashes": &rules.Slashes,
	} {
		name := f.text(setting)
		if name == "" {
			continue
		}
		text, err := os.ReadFile(name)
		if err != nil {
			return nil, f.fault(setting, fileError(name, err))
		}
		*to = text
		files = append(files, name)
	}
	n, err := policy.ParseSiteRules(rules)
	if err != nil {
		slices.Sort(files)
		return nil, &usageError{fmt.Errorf("%s: %w", strings.Join(files, ", "), err)}
	}
	return n, nil
}

// scopedNormalizers are the normalizers of the scopes that have their own file of substitutions.
func (f *flags) scopedNormalizers() (policy.NormalizerScopes, error) {
	files, err := parseScopedFiles(f.text("url-rewrite-scopes"))
	if err != nil || len(files) == 0 {
		return nil, err // resolve has checked it
	}
	scopes := policy.NormalizerScopes{}
	for scope, file := range files {
		if scopes[scope], err = f.normalizers("url-rewrite-scopes", file); err != nil {
			return nil, err
		}
	}
	return scopes, nil
}

// policies sets the filters, normalizers, parsers, scorer and schedule.
func (f *flags) policies(o *engine.Options) (err error) {
	if f.on("pdf") {
		if o.Parsers.Parsers, err = pdfParsers(); err != nil {
			return err
		}
	}
	if f.on("requisites") && f.run.values["refuse-types"].from == fromDefault {
		o.RefuseTypes = []string{}
	}
	switch traps := (policy.TrapFilter{Year: time.Now().Year()}); {
	case f.text("url-suffixes") != "": // the file replaces the built-in list
		o.Filters = policy.URLFilters{traps}
	case f.on("requisites"):
		o.Filters = policy.URLFilters{traps, policy.NewSuffixFilter(neverShown()...)}
	}
	if o.LiveFilters, err = f.liveFilters(); err != nil {
		return err
	}
	if o.Normalizers, err = f.normalizers("url-rewrite", f.text("url-rewrite")); err != nil {
		return err
	}
	if o.NormalizerScopes, err = f.scopedNormalizers(); err != nil {
		return err
	}
	if o.Scorer, err = f.scorer(); err != nil {
		return err
	}
	o.Links.ByDomain = f.text("ignore-by") == "domain"
	longest := uint32(o.MaxInterval / time.Second)
	switch f.text("schedule") {
	case "adaptive":
		// A page whose interval is longer than max-interval is unfetched: no least one may be.
		o.Schedule = policy.AdaptiveSchedule{MinInterval: min(policy.DefaultMinInterval, longest)}
	case "freshness":
		o.Schedule = policy.FreshnessSchedule{
			Price:       cmp.Or(o.Interval, policy.DefaultInterval*time.Second).Seconds() / 4,
			MinInterval: min(policy.DefaultMinInterval, longest), MaxInterval: longest,
		}
	}
	for _, text := range splitList(f.text("type-schedule")) {
		rule, err := policy.ParseTypeRule(text)
		if err != nil {
			return f.fault("type-schedule", err)
		}
		if slices.ContainsFunc(o.TypeSchedules, func(r policy.TypeRule) bool { return r.Type == rule.Type }) {
			return f.fault("type-schedule", fmt.Errorf("%s has a rule already: join the two", rule.Type))
		}
		o.TypeSchedules = append(o.TypeSchedules, rule)
	}
	return f.indexWriters(o)
}

// neverShown are the built-in suffixes but those of what pages are displayed with: images, sound, video, fonts, scripts
// and style sheets.
func neverShown() []string {
	const shown = " avi bmp css eot flac flv gif ico jpeg jpg js m4a m4v mid mkv mov mp3 mp4 mpeg mpg ogg ogv otf " +
		"png svg swf tif tiff ttf wasm wav webm webp wma wmv woff woff2 "
	return slices.DeleteFunc(policy.DefaultSuffixes(), func(suffix string) bool {
		return strings.Contains(shown, " "+suffix+" ")
	})
}

// scorer is the scorer of the settings, with the weights of links.
func (f *flags) scorer() (policy.Scorer, error) {
	var weights [2]float64
	for i, name := range []string{"score-internal", "score-external"} {
		v, err := aNumber.parse(f.text(name))
		if err != nil {
			return nil, f.fault(name, err)
		}
		if weights[i] = v.(float64); weights[i] == 0 {
			weights[i] = -1 // none; a scorer's 0 is a default
		}
	}
	in, ex := weights[0], weights[1]
	switch f.text("scoring") {
	case "opic":
		return policy.OPICScorer{Internal: in, External: ex, CountFiltered: f.on("score-filtered")}, nil
	case "opic-distinct":
		return policy.DistinctOPICScorer{Internal: in, External: ex}, nil
	case "depth":
		return policy.BreadthScorer{}, nil
	}
	return policy.VoteScorer{Internal: in, External: ex}, nil
}

// liveFilters are the filters of files, which a crawl reads again when they change, in the order in which they run.
func (f *flags) liveFilters() (live []policy.LiveFilter, err error) {
	var errs []error
	for _, list := range []struct {
		setting string
		watch   func(path string) (*policy.WatchedFilter, error)
	}{
		{"deny-hosts", watch("denied hosts", policy.ParseDeniedHosts)},
		{"allow-hosts", watch("allowed hosts", policy.ParseAllowedHosts)},
		{"url-prefixes", watch("URL prefixes", policy.ParsePrefixes)},
		{"url-suffixes", watch("URL suffixes", policy.ParseSuffixes)},
		{"url-filter", watch("URL rules", policy.ParseRules)},
	} {
		name := f.text(list.setting)
		if name == "" {
			continue
		}
		filter, err := list.watch(name)
		if err != nil {
			errs = append(errs, f.fault(list.setting, fileError(name, err)))
			continue
		}
		live = append(live, filter)
	}
	return live, errors.Join(errs...)
}

// watch returns a function that opens a filter of a file.
func watch[F policy.URLFilter](
	what string, parse func(text []byte) (F, error),
) func(path string) (*policy.WatchedFilter, error) {
	return func(path string) (*policy.WatchedFilter, error) { return policy.WatchFile(path, what, parse) }
}

// parseScopedFiles reads "inject=FILE,outlink=FILE". Its error names the faulty part.
func parseScopedFiles(s string) (map[policy.NormalizerScope]string, error) {
	files := map[policy.NormalizerScope]string{}
	if s == "" {
		return files, nil
	}
	for _, part := range strings.Split(s, ",") {
		name, file, ok := strings.Cut(strings.TrimSpace(part), "=")
		if !ok || file == "" {
			return nil, fmt.Errorf("%q: want SCOPE=FILE", part)
		}
		scope, err := policy.ParseNormalizerScope(name)
		if err != nil {
			return nil, err
		}
		if files[scope] != "" {
			return nil, fmt.Errorf("%q: scope %s has the file %s already", part, scope, files[scope])
		}
		files[scope] = file
	}
	return files, nil
}
