// SPDX-License-Identifier: Apache-2.0

package phases

import (
	"slices"
	"strings"

	"github.com/seine-crawler/seine/engine/policy"
	"github.com/seine-crawler/seine/storage"
)

// A seed without a scheme is tried with https, and with http when no https connection can be made. The attempt with
// https is stored as a redirect to the URL with http, but it is none: the two are one seed in two spellings. So no
// bound of redirects, no rule about links and no bound of additions keeps the second one out, and it gets what the line
// of the seed says.

// triesInstead reports whether a fetch of a seed says that the seed is tried by another URL.
func triesInstead(seed *storage.Record, o *storage.FetchOutcome) bool {
	return seed.IsSeed() && o.Redirect != "" && o.Failure != "" && o.Status == storage.FetchRedirTemp
}

// lineMeta is the metadata of a record without the notes that are seine's own.
func lineMeta(r *storage.Record) []storage.Field {
	return slices.DeleteFunc(slices.Clone(r.Meta), func(f storage.Field) bool {
		return f.Name == policy.MetaRedirectURL || strings.HasPrefix(f.Name, "seine.")
	})
}
