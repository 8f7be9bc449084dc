// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/seine-crawler/seine/engine"
	"github.com/seine-crawler/seine/index"
)

// addValueFlags adds the flags of values beside documents: orders, counts, and what keeps hits from crowding.
func addValueFlags(fs *pflag.FlagSet, o *engine.SearchOptions) {
	fs.Var((*orderFlag)(&o.Order), "sort", "order of the hits: "+strings.Join(index.OrderNames(), ", "))
	fs.StringSliceVar(&o.Facets, "facets", nil, "count the matches by lang, type, host, year and fields of filters")
	addCount(fs, &o.PerHost, "per-host", 0, 0, "hits of one host at most; 0: any number")
	fs.BoolVar(&o.Collapse, "collapse", true, "leave out near-duplicates of better hits")
}

// orderFlag is a flag with the name of an order.
type orderFlag index.Order

// String, Set and Type implement pflag.Value.
func (f *orderFlag) String() string { return index.Order(*f).String() }

func (f *orderFlag) Set(text string) error {
	o, err := index.ParseOrder(text)
	*f = orderFlag(o)
	return err
}

func (f *orderFlag) Type() string { return "order" }

// aboutHit returns a line with the values of a hit, "" if it has none.
func aboutHit(h *engine.Hit) string {
	var parts []string
	add := func(has bool, part string) {
		if has {
			parts = append(parts, part)
		}
	}
	add(!h.Date.IsZero(), h.Date.Format(time.DateOnly))
	add(h.Language != "", h.Language)
	add(h.Type != "", h.Type)
	add(h.More > 0, fmt.Sprintf("%d more of this host", h.More))
	add(h.Duplicates > 0, fmt.Sprintf("%d nearly the same", h.Duplicates))
	return strings.Join(parts, " · ")
}

// facets prints counts, a facet a line.
func (c *console) facets(list []index.Facet) {
	for _, f := range list {
		fmt.Fprintf(c.out, "%s:", printable(f.Name))
		for i, v := range f.Values {
			if i > 0 {
				fmt.Fprint(c.out, ",")
			}
			fmt.Fprintf(c.out, " %s (%d)", printable(v.Value), v.Count)
		}
		if more := f.Distinct - len(f.Values); more > 0 {
			fmt.Fprintf(c.out, " and %d others", more)
		}
		fmt.Fprintln(c.out)
	}
}
