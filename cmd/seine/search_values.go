// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/seine-crawler/seine/engine"
	"github.com/seine-crawler/seine/index"
)

// addValueFlags adds the flags of values beside documents: orders, counts, and what keeps hits from crowding.
func addValueFlags(fs *pflag.FlagSet, o *engine.SearchOptions) {
	fs.Var((*orderFlag)(&o.Order), "sort", "order of the hits: "+strings.Join(index.OrderNames(), ", "))
	fs.StringSliceVar(&o.Facets, "facets", nil, "count the matches by lang, type, host, year and fields of filters")
	addCount(fs, &o.PerHost, "per-host", 0, 0, "hits of one host at most; 0: any number")
	fs.Var((*totalFlag)(&o.TotalAtLeast), "count", "matches to count: exact, or a number at which counting may stop")
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

// totalFlag is a flag with the number of matches that are counted at least; 0: all.
type totalFlag int

// String, Set and Type implement pflag.Value.
func (f *totalFlag) String() string {
	if *f == 0 {
		return "exact"
	}
	return strconv.Itoa(int(*f))
}

func (f *totalFlag) Set(text string) error {
	if text == "exact" {
		*f = 0
		return nil
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 {
		return errors.New("want exact or a whole number, 1 or more")
	}
	*f = totalFlag(n)
	return nil
}

func (f *totalFlag) Type() string { return "exact|number" }

// searchPatience is how long a search on the command line may take: who waits for one rather waits than misses hits.
const searchPatience = 10 * time.Second

// checkSearch sets the deadline, reads the freshness, and returns an error if flags of a search contradict each other
// or want more than there is.
func checkSearch(cmd *cobra.Command, o *engine.SearchOptions, freshness string, complete bool) (err error) {
	o.Deadline = searchPatience
	if o.Freshness, err = parseDuration(freshness); err != nil {
		return &usageError{fmt.Errorf("--freshness %q: %w", freshness, err)}
	}
	if last := o.Limit + o.Offset; last > index.HitsMax {
		return &usageError{fmt.Errorf("--limit %d and --offset %d: the hits up to %d can be seen, not up to %d",
			o.Limit, o.Offset, index.HitsMax, last)}
	}
	if o.TotalAtLeast > 0 {
		if err := together(cmd, "count", "facets"); err != nil {
			return err
		}
	}
	if !complete {
		return nil
	}
	for _, flag := range []string{
		"strict", "offset", "sort", "facets", "per-host", "count", "collapse", "freshness", "explain", "explain-query",
	} {
		if err := together(cmd, flag, "complete"); err != nil {
			return err
		}
	}
	return nil
}

// showsFetched reports whether a search asks for times of fetches, by its order or by a filter.
func showsFetched(o *engine.SearchOptions, r *engine.SearchResult) bool {
	return o.Order == index.OrderFetched || strings.Contains(r.Query, "fetched:")
}

// aboutHit returns a line with the values of a hit, "" if it has none.
func aboutHit(h *engine.Hit, fetched bool) string {
	var parts []string
	add := func(has bool, part string) {
		if has {
			parts = append(parts, part)
		}
	}
	add(!h.Date.IsZero(), h.Date.Format(time.DateOnly))
	add(fetched && !h.Fetched.IsZero(), "fetched "+h.Fetched.Format(time.DateOnly))
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
