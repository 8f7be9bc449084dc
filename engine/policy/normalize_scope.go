// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"fmt"
	"slices"
	"strings"
)

// NormalizerScope says where a URL comes from, by Nutch's names. Its other scopes (partition, generate, crawldb,
// linkdb, indexer) are for URLs that are stored already: here a stored URL has the spelling that it shall have.
type NormalizerScope string

// The scopes.
const (
	NormalizeInject  NormalizerScope = "inject"  // a seed
	NormalizeOutlink NormalizerScope = "outlink" // a link of a page, an entry of a sitemap, a sitemap of robots.txt
	NormalizeFetcher NormalizerScope = "fetcher" // where a redirect or a refresh leads
)

// NormalizerScopeNames are all scopes, for errors and help.
var NormalizerScopeNames = []NormalizerScope{NormalizeInject, NormalizeOutlink, NormalizeFetcher}

// ParseNormalizerScope reads a scope's name. The error names the text and the scopes there are.
func ParseNormalizerScope(s string) (NormalizerScope, error) {
	if scope := NormalizerScope(s); slices.Contains(NormalizerScopeNames, scope) {
		return scope, nil
	}
	return "", fmt.Errorf("normalizer scope %q: want inject, outlink or fetcher", s)
}

// NormalizerScopes are chains for URLs of some scopes, in place of the one for all.
type NormalizerScopes map[NormalizerScope]URLNormalizers

// Of returns the chain of a scope, rest where it has none of its own.
func (s NormalizerScopes) Of(scope NormalizerScope, rest URLNormalizers) URLNormalizers {
	if ns, ok := s[scope]; ok {
		return ns
	}
	return rest
}

// ParseScopedFiles reads "inject=FILE,outlink=FILE". The error names the part that is wrong.
func ParseScopedFiles(s string) (map[NormalizerScope]string, error) {
	files := map[NormalizerScope]string{}
	for _, part := range strings.Split(s, ",") {
		name, file, ok := strings.Cut(strings.TrimSpace(part), "=")
		if !ok || file == "" {
			return nil, fmt.Errorf("%q: want SCOPE=FILE", part)
		}
		scope, err := ParseNormalizerScope(name)
		if err != nil {
			return nil, err
		}
		if files[scope] != "" {
			return nil, fmt.Errorf("%q: scope %s has %s already", part, scope, files[scope])
		}
		files[scope] = file
	}
	return files, nil
}
