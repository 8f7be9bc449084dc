// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/seine-crawler/seine/engine"
	"github.com/seine-crawler/seine/engine/policy"
)

// normalizers are the normalizers of the settings in the order in which they run; rewrite is the file of substitutions
// ("": none).
func (s *settings) normalizers(rewrite string) (policy.URLNormalizers, error) {
	ns := policy.URLNormalizers{}
	if s.StripParams {
		ns = append(ns, policy.ParameterNormalizer{})
	}
	if rewrite != "" {
		text, err := os.ReadFile(rewrite)
		if err != nil {
			return nil, fmt.Errorf("--url-rewrite: %w", err)
		}
		n, err := policy.ParseSubstitutions(text)
		if err != nil {
			return nil, fmt.Errorf("--url-rewrite: %s: %w", rewrite, err)
		}
		ns = append(ns, n)
	}
	if s.MergeSlashes {
		ns = append(ns, policy.SlashNormalizer{})
	}
	if s.RewriteHosts+s.Protocols+s.Slashes != "" {
		n, err := s.siteNormalizer()
		if err != nil {
			return nil, err
		}
		ns = append(ns, n)
	}
	if s.SortQuery {
		ns = append(ns, policy.QueryNormalizer{})
	}
	return ns, nil
}

// siteNormalizer reads the files of --rewrite-hosts, --protocols and --slashes.
func (s *settings) siteNormalizer() (*policy.SiteNormalizer, error) {
	var rules policy.SiteRules
	var files []string
	for _, f := range []struct {
		flag, name string
		to         *[]byte
	}{
		{"--rewrite-hosts", s.RewriteHosts, &rules.HostAliases},
		{"--protocols", s.Protocols, &rules.Protocols},
		{"--slashes", s.Slashes, &rules.Slashes},
	} {
		if f.name == "" {
			continue
		}
		text, err := os.ReadFile(f.name)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", f.flag, err)
		}
		*f.to = text
		files = append(files, f.name)
	}
	n, err := policy.ParseSiteRules(rules)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", strings.Join(files, ", "), err)
	}
	return n, nil
}

// scopedNormalizers are the normalizers of the scopes that have their own file of substitutions.
func (s *settings) scopedNormalizers() (policy.NormalizerScopes, error) {
	if s.RewriteIn == "" {
		return nil, nil
	}
	files, err := parseScopedFiles(s.RewriteIn)
	if err != nil {
		return nil, fmt.Errorf("--url-rewrite-scopes: %w", err)
	}
	scopes := policy.NormalizerScopes{}
	for scope, file := range files {
		if scopes[scope], err = s.normalizers(file); err != nil {
			return nil, err
		}
	}
	return scopes, nil
}

// policies sets the filters, normalizers, parsers, scorer and schedule.
func (s *settings) policies(o *engine.Options) (err error) {
	if s.PDF {
		if o.Parsers.Parsers, err = pdfParsers(); err != nil {
			return err
		}
	}
	o.Parsers.Requisites, o.Parsers.Forms = s.Requisites, s.Forms
	if s.Requisites && s.RefuseTypes == defaults().RefuseTypes {
		o.RefuseTypes = []string{}
	}
	// The built-in list of suffixes would refuse page requisites, and a file of suffixes replaces it.
	if s.Requisites || s.SuffixFile != "" {
		o.Filters = policy.URLFilters{policy.TrapFilter{Year: time.Now().Year()}}
	}
	if o.LiveFilters, err = s.liveFilters(); err != nil {
		return err
	}
	if o.Normalizers, err = s.normalizers(s.Rewrite); err != nil {
		return &usageError{err}
	}
	if o.NormalizerScopes, err = s.scopedNormalizers(); err != nil {
		return &usageError{err}
	}
	switch s.Scoring {
	case "vote":
	case "opic":
		o.Scorer = policy.OPICScorer{}
	default:
		return &usageError{fmt.Errorf("--scoring %q: want vote or opic", s.Scoring)}
	}
	switch s.Schedule {
	case "fixed":
	case "adaptive":
		o.Schedule = policy.AdaptiveSchedule{}
	default:
		return &usageError{fmt.Errorf("--schedule %q: want fixed or adaptive", s.Schedule)}
	}
	return nil
}

// liveFilters are the filters of files, which a crawl reads again when they change, in the order in which they run.
func (s *settings) liveFilters() (live []policy.LiveFilter, err error) {
	var errs []error
	add := func(path string, open func() (*policy.WatchedFilter, error)) {
		if path == "" {
			return
		}
		f, err := open()
		if err != nil {
			errs = append(errs, err)
			return
		}
		live = append(live, f)
	}
	add(s.DenyHosts, func() (*policy.WatchedFilter, error) {
		return policy.WatchFile(s.DenyHosts, "denied hosts", policy.ParseDeniedHosts)
	})
	add(s.AllowHosts, func() (*policy.WatchedFilter, error) {
		return policy.WatchFile(s.AllowHosts, "allowed hosts", policy.ParseAllowedHosts)
	})
	add(s.PrefixFile, func() (*policy.WatchedFilter, error) {
		return policy.WatchFile(s.PrefixFile, "URL prefixes", policy.ParsePrefixes)
	})
	add(s.SuffixFile, func() (*policy.WatchedFilter, error) {
		return policy.WatchFile(s.SuffixFile, "URL suffixes", policy.ParseSuffixes)
	})
	add(s.FilterFile, func() (*policy.WatchedFilter, error) {
		return policy.WatchFile(s.FilterFile, "URL rules", policy.ParseRules)
	})
	return live, errors.Join(errs...)
}

// parseScopedFiles reads "inject=FILE,outlink=FILE". Its error names the faulty part.
func parseScopedFiles(s string) (map[policy.NormalizerScope]string, error) {
	files := map[policy.NormalizerScope]string{}
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
