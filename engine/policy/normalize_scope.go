// SPDX-License-Identifier: Apache-2.0

package policy

import "fmt"

// NormalizerScope says where a URL comes from, by Nutch's names. Nutch's other scopes (partition, generate, crawldb,
// linkdb, indexer) are for URLs that are already stored; in seine, stored URLs are normalized.
type NormalizerScope string

// The scopes.
const (
	NormalizeInject  NormalizerScope = "inject"  // a seed
	NormalizeOutlink NormalizerScope = "outlink" // a link of a page, an entry of a sitemap, a sitemap of robots.txt
	NormalizeFetcher NormalizerScope = "fetcher" // the target of a redirect or refresh
)

// ParseNormalizerScope reads a scope's name. The error names the text and the possible names.
func ParseNormalizerScope(s string) (NormalizerScope, error) {
	switch scope := NormalizerScope(s); scope {
	case NormalizeInject, NormalizeOutlink, NormalizeFetcher:
		return scope, nil
	}
	return "", fmt.Errorf("normalizer scope %q: want inject, outlink or fetcher", s)
}

// NormalizerScopes are chains for URLs of some scopes, each in place of the chain for all URLs.
type NormalizerScopes map[NormalizerScope]URLNormalizers

// Of returns the chain of a scope, or rest if the scope has none.
func (s NormalizerScopes) Of(scope NormalizerScope, rest URLNormalizers) URLNormalizers {
	if ns, ok := s[scope]; ok {
		return ns
	}
	return rest
}
