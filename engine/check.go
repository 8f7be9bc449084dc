// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"github.com/seine-crawler/seine/storage/urlkey"
)

// URLCheck is what the crawler makes of one URL: `seine check url`.
type URLCheck struct {
	URL       string `json:"url"`
	Canonical string `json:"canonical"`
	Key       string `json:"key"`
	Host      string `json:"host"`
	Accepted  bool   `json:"accepted"`
	Reason    string `json:"reason"`
}

// CheckURL canonicalises, normalises and filters a URL as inject would, without touching a store.
// The scope plays no part, since it belongs to a crawl's seeds.
func CheckURL(o Options, raw string) URLCheck {
	o = o.withDefaults()
	c := URLCheck{URL: raw}
	u, err := urlkey.Parse(raw)
	if err == nil {
		u, err = o.Normalizers.Normalize(u)
	}
	if err != nil {
		c.Reason = err.Error()
		return c
	}
	c.Canonical, c.Key, c.Host = u.String(), string(u.Key()), u.HostKey().String()
	c.Reason = o.Filters.Accept(u)
	c.Accepted = c.Reason == ""
	return c
}
