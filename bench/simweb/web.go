// SPDX-License-Identifier: Apache-2.0

package simweb

import (
	"errors"
	"fmt"
	"strconv"
)

// Web computes hosts and pages; New makes one. It is immutable and safe for concurrent use. Hosts are numbered from 0
// to Hosts()-1, the pages of a host from 0 to Pages(host)-1; its methods may panic for other numbers.
type Web struct {
	p        Params
	port     int
	suffix   string // ":8080", or "" for port 80
	names    hostNames
	tongues  tongues
	langEnds []float64 // running sums of the shares of Params.Languages
	langs    []int     // their numbers
	minPages float64   // lower end of the power law

	sizes, degrees, latencies, jitter *[quantiles]int32
}

// New returns the web of the given parameters. port is the port in its URLs; 0 and 80: none. Making a web of any size
// takes some milliseconds and a few megabytes. The error names every parameter that is out of range.
func New(p Params, port int) (*Web, error) {
	if err := p.Validate(); err != nil {
		return nil, err
	}
	if port < 0 || port > 65535 {
		return nil, fmt.Errorf("synthetic web: port %d: want 0 to 65535", port)
	}
	if len(p.Languages) == 0 {
		return nil, errors.New("synthetic web: no languages")
	}
	w := &Web{p: p, names: newHostNames(p.Hosts, p.HostsPerDomain), tongues: newTongues(&p)}
	sum := 0.0
	for _, part := range p.Languages {
		sum += part.Share
	}
	end := 0.0
	for _, part := range p.Languages {
		if part.Share == 0 {
			continue
		}
		end += part.Share / sum
		w.langEnds, w.langs = append(w.langEnds, end), append(w.langs, languageByTag(part.Name))
	}
	w.minPages = smallestPages(float64(p.MeanPages), p.PagesExponent, float64(p.MaxPages))
	w.sizes = logNormal(float64(p.PageBytes), p.PageSigma, 0, maxPageBytes)
	w.degrees = logNormal(float64(p.Links), p.LinksSigma, 0, maxLinks)
	w.latencies = logNormal(float64(p.Latency.Microseconds()), p.LatencySigma, 0, 1<<30)
	w.jitter = logNormal(1000, p.LatencySigma/2, 1, 1<<20)
	return w.withPort(port), nil
}

// withPort returns the same web with another port in its URLs.
func (w *Web) withPort(port int) *Web {
	c := *w
	c.port, c.suffix = port, ""
	if port != 0 && port != 80 {
		c.suffix = ":" + strconv.Itoa(port)
	}
	return &c
}

// Params returns the parameters that the web was made with.
func (w *Web) Params() Params { return w.p }

// hostFacts are what is drawn for a host. They are computed when needed, in some tens of nanoseconds.
type hostFacts struct {
	number int
	pages  int
	text   *rendition
	native bool // its paths are in its own script
}

func (w *Web) host(i int) hostFacts {
	h := hostFacts{number: i, pages: w.Pages(i), text: w.tongues[w.language(i)][0]}
	if old := w.tongues[h.text.number][1:]; len(old) > 0 {
		if x := w.spread(alphaSqrt3, i); unit(x) < w.p.OldCharsets {
			h.text = old[mix(x, 1)%uint64(len(old))]
		}
	}
	h.native = w.p.NativePaths > 0 && h.text.number != 0 && unit(w.spread(alphaSqrt5, i)) < w.p.NativePaths
	return h
}

func (w *Web) language(host int) int {
	u := unit(uint64(host) * alphaGolden) // so host 0 has the first language, whatever the seed
	for i, end := range w.langEnds {
		if u < end {
			return w.langs[i]
		}
	}
	return w.langs[len(w.langs)-1]
}

// Hosts returns the number of hosts.
func (w *Web) Hosts() int { return w.p.Hosts }

// Pages returns the number of pages of a host, including those that are redirects, missing or forbidden.
func (w *Web) Pages(host int) int {
	return int(powerLaw(w.minPages, w.p.PagesExponent, float64(w.p.MaxPages), unit(w.spread(alphaSqrt2, host))))
}

// Host returns the name of a host, without port.
func (w *Web) Host(host int) string { return string(w.names.append(nil, host)) }

// Language returns the language tag (such as zh) and the charset (such as gbk) of a host's pages.
func (w *Web) Language(host int) (tag, charset string) {
	t := w.host(host).text
	return t.lang.tag, t.charset
}

// Address returns the loopback address of a host.
func (w *Web) Address(host int) string { return address(w.addressOf(host)).String() }

// addressOf returns the number of a host's address. In each block of PerAddress hosts all share the address of the
// first, except those that have their own, so numbers are unique without a table.
func (w *Web) addressOf(host int) int {
	if host%w.p.PerAddress == 0 || unit(w.spread(alphaSqrt7, host)) < w.p.OwnAddress {
		return host
	}
	return host - host%w.p.PerAddress
}

// Root returns the URL of a host's first page.
func (w *Web) Root(host int) string { return w.URL(host, 0) }

// URL returns the URL of a page, in canonical form.
func (w *Web) URL(host, n int) string { return string(w.AppendURL(nil, host, n)) }

// AppendURL appends the URL of a page to dst and returns it.
func (w *Web) AppendURL(dst []byte, host, n int) []byte {
	h := w.host(host)
	d := w.draw(&h, n)
	return w.appendPath(w.appendBase(dst, host), &h, n, &d, false)
}

func (w *Web) appendBase(dst []byte, host int) []byte {
	return w.appendAuthority(append(dst, scheme(w.https(host))...), host)
}
