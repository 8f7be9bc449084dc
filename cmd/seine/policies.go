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

// normalizers are those that are asked for, in the order in which they are applied, with the substitutions of a
// file ("": none).
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

// siteNormalizer reads the files that name hosts.
func (s *settings) siteNormalizer() (*policy.SiteNormalizer, error) {
	var rules policy.SiteRules
	var files []string
	for _, f := range []struct {
		name string
		to   *[]byte
	}{{s.RewriteHosts, &rules.HostAliases}, {s.Protocols, &rules.Protocols}, {s.Slashes, &rules.Slashes}} {
		if f.name == "" {
			continue
		}
		text, err := os.ReadFile(f.name)
		if err != nil {
			return nil, err
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

// scopedNormalizers are the chains of scopes that have a file of substitutions of their own.
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

// policies are the settings that choose between what decides and what reads.
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
	if s.Requisites || s.SuffixFile != "" { // whatever a file's name ends with; or as the file says
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

// liveFilters are the files of filters that are followed while a crawl runs, in the order in which they are asked.
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

// parseScopedFiles reads "inject=FILE,outlink=FILE". The error names the part that is wrong.
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
