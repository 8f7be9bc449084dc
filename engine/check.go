// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"github.com/seine-crawler/seine/engine/policy"
	"github.com/seine-crawler/seine/storage/urlkey"
)

// URLCheck is what the crawler makes of one URL: `seine check url`.
type URLCheck struct {
	URL       string `json:"url"`
	Canonical string `json:"canonical"`
	Key       string `json:"key"`
	Host      string `json:"host"`
	Domain    string `json:"domain"` // registered domain
	Accepted  bool   `json:"accepted"`
	Reason    string `json:"reason"`
	Rule      string `json:"rule,omitempty"` // of Options.FilterFile, that decided
}

// URLChecker says what the crawler would make of URLs.
type URLChecker struct {
	o     Options
	rules *policy.RulesFilter
}

// NewURLChecker reads the file of rules that the options name, if any.
func NewURLChecker(o Options) (*URLChecker, error) {
	c := &URLChecker{o: o.withDefaults()}
	if o.FilterFile != "" {
		var err error
		if c.rules, err = policy.NewRulesFilter(o.FilterFile); err != nil {
			return nil, err
		}
	}
	return c, nil
}

// Check canonicalises, normalises and filters a URL as inject would, without touching a store. The scope
// plays no part, since it belongs to a crawl's seeds.
func (k *URLChecker) Check(raw string) URLCheck {
	o, rules := &k.o, k.rules
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
	c.Domain = u.HostKey().Domain()
	if c.Reason = o.Filters.Accept(u); c.Reason == "" && rules != nil {
		c.Reason = rules.Accept(u)
		c.Rule = rules.Explain(u)
	}
	c.Accepted = c.Reason == ""
	return c
}
