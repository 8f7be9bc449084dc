// SPDX-License-Identifier: Apache-2.0

package simweb

import (
	"fmt"
	"math"
	"time"
)

// Params describe a web. Shares are of pages, between 0 and 1.
type Params struct {
	Seed  uint64
	Hosts int
	// MeanPages is the mean number of pages of a host; numbers follow a power law with exponent 1.8
	// (Huberman and Adamic 1999), so a few hosts are large and many have a page or two. MaxPages cuts
	// the tail.
	MeanPages, MaxPages int
	// PageBytes is the median size; sizes are log-normal with sigma 0.6.
	PageBytes int
	// Links is the mean number of links beside navigation, External the share of them that leave the
	// host (0.19 of links on 2,008 real pages).
	Links    int
	External float64
	// Duplicate pages have the content of another page of their host (2.8% of captures in Common
	// Crawl 2024-42), Redirects answer 301 or 302 (8.4% of fetches there), Missing 404 (4.9%), NoIndex
	// pages carry a robots meta tag.
	Duplicate, Redirects, Missing, NoIndex float64
	// Restricted is the share of hosts whose robots.txt forbids /private/.
	Restricted float64
	// PerAddress is how many hosts share an IP address.
	PerAddress int
	// Latency is added to each response.
	Latency time.Duration
}

// Small is a lively web of about 30 hosts and 3,000 pages, for demonstrations and tests.
func Small() Params {
	return Params{Seed: 1, Hosts: 30, MeanPages: 100, MaxPages: 600, PageBytes: 6000, Links: 20, External: 0.19,
		Duplicate: 0.03, Redirects: 0.05, Missing: 0.03, NoIndex: 0.02, Restricted: 0.3, PerAddress: 1}
}

func (p *Params) validate() error {
	switch {
	case p.Hosts < 1 || p.Hosts > 1_000_000:
		return fmt.Errorf("simweb: %d hosts: want 1 to 1000000", p.Hosts)
	case p.MeanPages < 1 || p.MaxPages < p.MeanPages:
		return fmt.Errorf("simweb: %d pages a host, at most %d: want at least 1, and no more than the most", p.MeanPages, p.MaxPages)
	case p.PageBytes < 200 || p.PageBytes > 1<<20:
		return fmt.Errorf("simweb: pages of %d bytes: want 200 to 1048576", p.PageBytes)
	case p.Links < 0 || p.Links > 1000:
		return fmt.Errorf("simweb: %d links: want 0 to 1000", p.Links)
	case p.PerAddress < 1:
		return fmt.Errorf("simweb: %d hosts an address: want at least 1", p.PerAddress)
	}
	for _, share := range []float64{p.External, p.Duplicate, p.Redirects, p.Missing, p.NoIndex, p.Restricted} {
		if !(share >= 0 && share <= 1) {
			return fmt.Errorf("simweb: a share of %v: want 0 to 1", share)
		}
	}
	return nil
}

// rng is splitmix64 (Steele, Lea and Flood 2014): a stream of numbers from any few words of state.
type rng uint64

func newRNG(words ...uint64) rng {
	r := rng(0x9e3779b97f4a7c15)
	for _, w := range words {
		r ^= rng(w)
		r = rng(r.next())
	}
	return r
}

func (r *rng) next() uint64 {
	*r += 0x9e3779b97f4a7c15
	z := uint64(*r)
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}

func (r *rng) below(n int) int       { return int(r.next() % uint64(n)) }
func (r *rng) share() float64        { return float64(r.next()>>11) / (1 << 53) }
func (r *rng) chance(p float64) bool { return r.share() < p }

// normal is a standard normal number (Box and Muller 1958).
func (r *rng) normal() float64 {
	return math.Sqrt(-2*math.Log(1-r.share())) * math.Cos(2*math.Pi*r.share())
}
