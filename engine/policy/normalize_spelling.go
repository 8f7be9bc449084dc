// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"fmt"
	"slices"
	"strings"

	"github.com/seine-crawler/seine/storage/urlkey"
)

// SlashNormalizer makes one slash of several in a path. Most servers answer both spellings alike. Some serve another
// page under the one with two slashes, so it is not a default.
type SlashNormalizer struct{}

// Normalize returns u itself if its path has no doubled slash.
func (SlashNormalizer) Normalize(u urlkey.URL) (urlkey.URL, error) {
	path := u.Path()
	if !strings.Contains(path, "//") {
		return u, nil
	}
	parts := slices.DeleteFunc(strings.SplitAfter(path, "/")[1:], func(s string) bool { return s == "/" })
	return withPath(u, u.Scheme(), u.Authority(), "/"+strings.Join(parts, ""))
}

// QueryNormalizer sorts a query's parameters by name (Nutch: urlnormalizer-querystring), for sites that write them in
// any order. Parameters of the same name keep their order, since it may have a meaning.
type QueryNormalizer struct{}

// Normalize returns u itself if its parameters are in order.
func (QueryNormalizer) Normalize(u urlkey.URL) (urlkey.URL, error) {
	query, _ := u.Query()
	if !strings.Contains(query, "&") {
		return u, nil
	}
	parts := strings.Split(query, "&")
	name := func(p string) string {
		n, _, _ := strings.Cut(p, "=")
		return n
	}
	order := func(a, b string) int { return strings.Compare(name(a), name(b)) }
	if slices.IsSortedFunc(parts, order) {
		return u, nil
	}
	slices.SortStableFunc(parts, order)
	next, err := urlkey.Parse(u.Scheme() + "://" + u.Authority() + u.Path() + "?" + strings.Join(parts, "&"))
	if err != nil {
		return urlkey.URL{}, fmt.Errorf("%s: sorting its query: %w", u, err)
	}
	return next, nil
}

// withPath returns the URL with another scheme, authority and path, and its own query.
func withPath(u urlkey.URL, scheme, authority, path string) (urlkey.URL, error) {
	s := scheme + "://" + authority + path
	if query, has := u.Query(); has {
		s += "?" + query
	}
	next, err := urlkey.Parse(s)
	if err != nil {
		return urlkey.URL{}, fmt.Errorf("%s became %q: %w", u, s, err)
	}
	return next, nil
}
