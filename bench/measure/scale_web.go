// SPDX-License-Identifier: Apache-2.0

package measure

import (
	"fmt"
	"math"
	"slices"
	"sort"
	"strings"

	"github.com/seine-crawler/seine/storage/urlkey"
)

// scaleWeb is a web of any number of URLs of which only the hosts are in memory. The n-th URL is a function of n. Few
// hosts have many URLs and many have few, and a link mostly stays on its host and prefers the host's first URLs.
type scaleWeb struct {
	n     int
	hosts []scaleHost // in key order
}

type scaleHost struct {
	key   string // as in URL keys
	first int    // number of its first URL
	n     int
}

// hostURLs is the mean number of URLs of a host: 10^7 URLs have some 33,000 hosts.
const hostURLs = 300

var (
	scaleWords = []string{
		"alpine", "amber", "archive", "atlas", "autumn", "bakery", "bridge", "cabin", "canvas", "cedar", "city",
		"coffee", "copper", "daily", "delta", "design", "garden", "glacier", "global", "harbor", "health", "history",
		"island", "journal", "kitchen", "language", "library", "market", "meadow", "museum", "music", "nature", "north",
		"ocean", "orchard", "paper", "pioneer", "planet", "portal", "quartz", "radio", "review", "river", "school",
		"science", "silver", "sports", "spring", "stone", "studio", "summit", "theatre", "travel", "valley", "village",
		"weather", "window", "winter", "world", "yellow",
	}
	scaleEnds     = []string{"com", "org", "net", "de", "fr", "uk,co", "jp", "info", "br,com", "edu"}
	scaleLabels   = []string{"www", "blog", "", "shop", "news", "www", "en", ""}
	scaleSections = []string{"articles", "blog/2024", "category", "docs/reference", "forum/topic", "news/world",
		"p", "product", "tags", "wiki"}
)

// mix is a hash of a number (splitmix64).
func mix(n uint64) uint64 {
	n += 0x9e3779b97f4a7c15
	n = (n ^ n>>30) * 0xbf58476d1ce4e5b9
	n = (n ^ n>>27) * 0x94d049bb133111eb
	return n ^ n>>31
}

// unit maps a hash to [0, 1).
func unit(hash uint64) float64 { return float64(hash>>11) / (1 << 53) }

func newScaleWeb(n int) *scaleWeb {
	w := &scaleWeb{n: n, hosts: make([]scaleHost, max(1, n/hostURLs))}
	left, weights := n, 0.0
	weight := func(i int) float64 { return math.Pow(float64(i+10), -0.7) }
	for i := range w.hosts {
		weights += weight(i)
	}
	for i := range w.hosts {
		size := max(1, int(float64(n)*weight(i)/weights))
		if i == len(w.hosts)-1 || size > left {
			size = left
		}
		left -= size
		w.hosts[i] = scaleHost{key: scaleHostKey(i), n: size}
	}
	slices.SortFunc(w.hosts, func(a, b scaleHost) int { return strings.Compare(a.key, b.key) })
	first := 0
	for i := range w.hosts {
		w.hosts[i].first = first
		first += w.hosts[i].n
	}
	return w
}

func scaleHostKey(i int) string {
	h := mix(uint64(i))
	pick := func(list []string) string {
		s := list[h%uint64(len(list))]
		h = mix(h)
		return s
	}
	end, label := pick(scaleEnds), pick(scaleLabels)
	if label != "" {
		label += ","
	}
	return fmt.Sprintf("%s,%s-%s%d,%s)", end, pick(scaleWords), pick(scaleWords), i, label)
}

// appendKey appends the key of the i-th URL of a host. i may be beyond its last one.
func (h *scaleHost) appendKey(dst []byte, i int) []byte {
	if i == 0 {
		return append(append(dst, h.key...), "/ https"...)
	}
	x := mix(uint64(i)<<20 ^ uint64(len(h.key))<<56 ^ uint64(h.first))
	word := func() string {
		s := scaleWords[x%uint64(len(scaleWords))]
		x = mix(x)
		return s
	}
	dst = append(dst, h.key...)
	section := scaleSections[x%uint64(len(scaleSections))]
	switch x = mix(x); i % 4 {
	case 0:
		return fmt.Appendf(dst, "/%s/%s-%s-%s-%d.html https", section, word(), word(), word(), i)
	case 1:
		return fmt.Appendf(dst, "/%s/%d/%s-%s https", section, i, word(), word())
	case 2:
		return fmt.Appendf(dst, "/%s/%s/?id=%d https", section, word(), i)
	}
	return fmt.Appendf(dst, "/%s/%s-%s-the-%s-of-%s-%d/ https", section, word(), word(), word(), word(), i)
}

// host returns the host of the n-th URL.
func (w *scaleWeb) host(n int) *scaleHost {
	return &w.hosts[sort.Search(len(w.hosts), func(i int) bool { return w.hosts[i].first > n })-1]
}

// segmentHosts is how many hosts the pages of a segment are of, on average: as many in a large crawldb as in a small
// one, because a crawl works on so many at a time.
const segmentHosts = 3333

// pages returns about so many URLs of some hosts, in key order; round chooses other ones.
func (w *scaleWeb) pages(count, round int) []scalePage {
	var chosen []*scaleHost
	urls := 0
	for h := range w.hosts {
		host := &w.hosts[h]
		if unit(mix(uint64(h)<<16^uint64(round)))*float64(len(w.hosts)) < segmentHosts {
			chosen = append(chosen, host)
			urls += host.n
		}
	}
	list := make([]scalePage, 0, count+count/8)
	for _, host := range chosen {
		from := len(list)
		for i := range host.n {
			x := mix(uint64(host.first+i)<<8 ^ uint64(round))
			if unit(x)*float64(urls) < float64(count) {
				list = append(list, scalePage{host: host, seed: x, key: string(host.appendKey(nil, i))})
			}
		}
		slices.SortFunc(list[from:], func(a, b scalePage) int { return strings.Compare(a.key, b.key) })
	}
	return list
}

// scalePage is a page to be fetched.
type scalePage struct {
	host *scaleHost
	seed uint64
	key  string
}

// links appends the targets of a page's links: of 20, 16 lead to known pages of its host and three to known pages of
// others, both rather to a host's first pages; one is new.
func (w *scaleWeb) links(dst []urlkey.Key, p *scalePage, count int) []urlkey.Key {
	var buf [256]byte
	for l := range count {
		x := mix(p.seed + uint64(l))
		host, i := p.host, 0
		switch kind := x % 20; {
		case kind == 0:
			i = host.n + int(mix(x)%uint64(w.n))
		case kind <= 3:
			host = w.host(int(mix(x) % uint64(w.n)))
			fallthrough
		default:
			u := unit(mix(x + 1))
			i = int(u * u * float64(host.n))
		}
		dst = append(dst, urlkey.Key(host.appendKey(buf[:0], i)))
	}
	return dst
}
