// SPDX-License-Identifier: Apache-2.0

package simweb

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Field is one parameter of a Web as a command line sees it.
type Field struct {
	Name, Usage string // of a flag
	Value       Value  // bound to the parameter
}

// Value reads and writes a parameter as text. It satisfies flag.Value and pflag.Value. Set returns an error that says
// which values are valid.
type Value interface {
	String() string
	Set(string) error
	Type() string
}

// Fields lists all parameters, bound to p: setting a Value changes p. Names have no prefix; a command that has flags of
// its own may add one.
func (p *Params) Fields() []Field {
	return []Field{
		{"seed", "seed of the web: equal seeds and parameters give equal bytes", (*seedValue)(&p.Seed)},
		{"web-hosts", "number of hosts", count(&p.Hosts, 1, maxHosts)},
		{"hosts-per-domain", "mean number of hosts of a registered domain", number(&p.HostsPerDomain, 1, 1000)},
		{"pages", "mean number of pages of a host", count(&p.MeanPages, 1, maxPagesPerHost)},
		{"max-pages", "most pages of a host", count(&p.MaxPages, 1, maxPagesPerHost)},
		{"pages-exponent", "exponent of the power law of pages per host", number(&p.PagesExponent, 1.05, 10)},
		{"per-address", "hosts that share an IP address", count(&p.PerAddress, 1, maxHosts)},
		{"own-address", "share of hosts that have an address of their own all the same", share(&p.OwnAddress)},
		{"page-bytes", "median size of a page", count(&p.PageBytes, 0, maxPageBytes)},
		{"page-sigma", "sigma of the log-normal of page sizes", number(&p.PageSigma, 0, 3)},
		{"links", "median number of links of a page, beside navigation", count(&p.Links, 0, maxLinks)},
		{"links-sigma", "sigma of the log-normal of links", number(&p.LinksSigma, 0, 3)},
		{"external", "share of links that leave the host", share(&p.External)},
		{"nav-links", "navigation links on every page", count(&p.NavLinks, 0, maxLinks)},
		{"fanout", "pages that each page introduces", count(&p.Fanout, 1, maxLinks)},
		{"title-anchors", "share of links whose text is the title of their target", share(&p.TitleAnchors)},
		{"nofollow-links", "share of links off the host with rel=nofollow", share(&p.NoFollowLinks)},
		{"duplicates", "share of exact duplicates", share(&p.Duplicate)},
		{"near-duplicates", "share of near-duplicates", share(&p.NearDuplicate)},
		{"redirects", "share of redirects", share(&p.Redirects)},
		{"temporary", "share of redirects that are temporary", share(&p.Temporary)},
		{"redirects-out", "share of redirects to another host", share(&p.RedirectsOut)},
		{"missing", "share of pages that answer 404 or 410", share(&p.Missing)},
		{"errors", "share of pages that answer 5xx", share(&p.Errors)},
		{"noindex", "share of pages with robots noindex", share(&p.NoIndex)},
		{"nofollow", "share of pages with robots nofollow", share(&p.NoFollow)},
		{"queries", "share of pages with a query in their URL", share(&p.Queries)},
		{"restricted", "share of hosts whose robots.txt forbids /private/", share(&p.Restricted)},
		{"forbidden", "share of the pages of those hosts that are in /private/", share(&p.Forbidden)},
		{"no-robots", "share of hosts without robots.txt", share(&p.NoRobots)},
		{"robots-errors", "share of hosts that answer 503 for robots.txt", share(&p.RobotsErrors)},
		{"delayed", "share of hosts with a Crawl-delay", share(&p.Delayed)},
		{"crawl-delay", "the Crawl-delay of those hosts", (*timeValue)(&p.CrawlDelay)},
		{"sitemaps", "share of hosts with a sitemap", share(&p.Sitemaps)},
		{"https", "share of hosts whose URLs are https; needs --tls", share(&p.HTTPS)},
		{"languages", "shares of hosts by language", &p.Languages},
		{"old-charsets", "share of hosts that are not in UTF-8", share(&p.OldCharsets)},
		{"charset-in-header", "share of hosts whose Content-Type names the charset", share(&p.CharsetInHeader)},
		{"native-paths", "share of hosts with paths in their own script", share(&p.NativePaths)},
		{"latency", "median time to the first byte", (*timeValue)(&p.Latency)},
		{"latency-sigma", "sigma of the log-normal of times", number(&p.LatencySigma, 0, 3)},
		{"slow-hosts", "share of slow hosts", share(&p.SlowHosts)},
		{"slow-latency", "time to the first byte of a slow host", (*timeValue)(&p.SlowLatency)},
		{"change-every", "mean time between changes of a page (0: never)", (*timeValue)(&p.ChangeEvery)},
	}
}

// Validate reports every parameter that is out of its bounds.
func (p *Params) Validate() error {
	var errs []error
	for _, f := range p.Fields() {
		if c, ok := f.Value.(interface{ check() error }); ok {
			if err := c.check(); err != nil {
				errs = append(errs, fmt.Errorf("%s: %w", f.Name, err))
			}
		}
	}
	if p.MaxPages < p.MeanPages {
		errs = append(errs, fmt.Errorf("max-pages: %d is less than the mean of %d pages", p.MaxPages, p.MeanPages))
	}
	if sum := p.Duplicate + p.NearDuplicate + p.Redirects + p.Missing + p.Errors; sum > 1 {
		errs = append(
			errs,
			fmt.Errorf("duplicates, near-duplicates, redirects, missing and errors add up to %v: want at most 1", sum),
		)
	}
	if p.NoRobots+p.RobotsErrors+max(p.Restricted, p.Delayed) > 1 {
		errs = append(errs, errors.New("no-robots, robots-errors and restricted (or delayed) add up to more than 1"))
	}
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("parameters of the synthetic web: %w", err)
	}
	return nil
}

type seedValue uint64

func (v *seedValue) String() string { return strconv.FormatUint(uint64(*v), 10) }
func (v *seedValue) Type() string   { return "uint" }
func (v *seedValue) Set(s string) error {
	n, err := strconv.ParseUint(s, 0, 64)
	*v = seedValue(n)
	return err
}

type intValue struct {
	p      *int
	lo, hi int
}

func count(p *int, lo, hi int) *intValue { return &intValue{p, lo, hi} }
func (v *intValue) String() string       { return strconv.Itoa(*v.p) }
func (v *intValue) Type() string         { return "int" }
func (v *intValue) Set(s string) error {
	n, err := strconv.Atoi(s)
	if *v.p = n; err != nil || v.check() != nil {
		return fmt.Errorf("want a whole number, %d to %d", v.lo, v.hi)
	}
	return nil
}
func (v *intValue) check() error {
	if *v.p < v.lo || *v.p > v.hi {
		return fmt.Errorf("%d: want %d to %d", *v.p, v.lo, v.hi)
	}
	return nil
}

type floatValue struct {
	p      *float64
	lo, hi float64
}

func number(p *float64, lo, hi float64) *floatValue { return &floatValue{p, lo, hi} }
func share(p *float64) *floatValue                  { return &floatValue{p, 0, 1} }
func (v *floatValue) String() string                { return strconv.FormatFloat(*v.p, 'g', -1, 64) }
func (v *floatValue) Type() string                  { return "float" }
func (v *floatValue) Set(s string) error {
	x, err := strconv.ParseFloat(s, 64)
	if *v.p = x; err != nil || v.check() != nil {
		return fmt.Errorf("want a number, %v to %v", v.lo, v.hi)
	}
	return nil
}
func (v *floatValue) check() error {
	if !(*v.p >= v.lo && *v.p <= v.hi) { // so that NaN is refused
		return fmt.Errorf("%v: want %v to %v", *v.p, v.lo, v.hi)
	}
	return nil
}

type timeValue time.Duration

func (v *timeValue) String() string { return time.Duration(*v).String() }
func (v *timeValue) Type() string   { return "duration" }
func (v *timeValue) Set(s string) error {
	d, err := time.ParseDuration(s)
	if *v = timeValue(d); err != nil || v.check() != nil {
		return errors.New("want a duration such as 500ms or 2s, 0s or more")
	}
	return nil
}
func (v *timeValue) check() error {
	if *v < 0 {
		return fmt.Errorf("%s: want no negative time", time.Duration(*v))
	}
	return nil
}

// Mix is a list of languages with their shares, written "en=0.5,de=0.5". Shares are scaled to add up to 1.
type Mix []Part

// Part is one language of a Mix.
type Part struct {
	Name  string  // en, de, zh, ja, ar or ru
	Share float64 // 0 or more
}

// String returns the mix in the form that Set reads.
func (m *Mix) String() string {
	var b strings.Builder
	for i, p := range *m {
		if i > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, "%s=%g", p.Name, p.Share)
	}
	return b.String()
}

// Type returns the kind of value for a usage text.
func (m *Mix) Type() string { return "shares" }

// Set reads a mix. A name without a share counts 1. The error names an unknown language or a bad share.
func (m *Mix) Set(s string) error {
	*m = nil
	for _, part := range strings.Split(s, ",") {
		name, text, has := strings.Cut(part, "=")
		x := 1.0
		if has {
			var err error
			if x, err = strconv.ParseFloat(text, 64); err != nil {
				return fmt.Errorf("share of %s: %w", name, err)
			}
		}
		*m = append(*m, Part{strings.TrimSpace(name), x})
	}
	return m.check()
}

func (m *Mix) check() error {
	sum := 0.0
	for _, p := range *m {
		if languageByTag(p.Name) < 0 {
			return fmt.Errorf("language %q: want en, de, zh, ja, ar or ru", p.Name)
		}
		if !(p.Share >= 0 && p.Share <= 1e6) {
			return fmt.Errorf("share of %s is %v: want 0 or more", p.Name, p.Share)
		}
		sum += p.Share
	}
	if sum <= 0 {
		return errors.New("no language has a share")
	}
	return nil
}
