// SPDX-License-Identifier: Apache-2.0

package measure_test

import (
	"math/bits"
	"testing"

	"github.com/seine-crawler/seine/bench/simweb"
	"github.com/seine-crawler/seine/engine/parse"
	"github.com/seine-crawler/seine/storage"
	"github.com/seine-crawler/seine/storage/urlkey"
)

// nearPage is a page of simweb with its fingerprint.
type nearPage struct {
	hash     uint64
	original int  // number of the page whose text it has
	near     bool // it is a near-duplicate of that
}

// nearPages parses the first pages of each host of the default web, in all languages, and leaves out those with too
// little prose to tell.
func nearPages(tb testing.TB, hosts, each int) (list []nearPage) {
	p := simweb.Default()
	p.Hosts = hosts
	web, err := simweb.New(p, 80)
	if err != nil {
		tb.Fatal(err)
	}
	parsers, page := parse.New(parse.Options{}), new(parse.Page)
	for host := range hosts {
		_, charset := web.Language(host)
		number := map[int]int{}
		for n := range min(web.Pages(host), each) {
			of := web.Page(host, n)
			if of.Status != 200 {
				continue
			}
			u, err := urlkey.Parse(of.URL)
			if err != nil {
				tb.Fatal(err)
			}
			body := web.AppendHTML(nil, host, n, someDay)
			err = parsers.Parse(&parse.Input{URL: u, ContentType: "text/html; charset=" + charset, Body: body}, page)
			if err != nil {
				tb.Fatal(err)
			}
			if page.SimHash == 0 {
				continue
			}
			entry := nearPage{hash: page.SimHash, original: len(list)}
			if at, ok := number[of.Original]; ok && of.Original != n {
				entry.original, entry.near = list[at].original, of.Kind == simweb.KindNearDuplicate
			}
			number[n] = len(list)
			list = append(list, entry)
		}
	}
	return list
}

// nearCounts are what fingerprints within some bits find.
type nearCounts struct {
	known, found int // near-duplicates of simweb, with the page whose text they have
	right, wrong int // pairs of pages that are found
}

func countNear(list []nearPage, most int) (c nearCounts) {
	for i, p := range list {
		if p.near {
			c.known++
			if bits.OnesCount64(p.hash^list[p.original].hash) <= most {
				c.found++
			}
		}
		for _, q := range list[:i] {
			switch {
			case bits.OnesCount64(p.hash^q.hash) > most:
			case p.original == q.original:
				c.right++
			default:
				c.wrong++
			}
		}
	}
	return c
}

// BenchmarkNearDuplicates says what the fingerprints find of simweb's near-duplicates, whose text differs in a line and
// whose links are others, for each number of bits that may differ: recall is the share of them that is found, precision
// the share of true ones among the pairs of pages that are. It parses the first 60 pages of each of 1,000 hosts.
func BenchmarkNearDuplicates(b *testing.B) {
	list := nearPages(b, 1000, 60)
	for _, most := range []int{0, 1, 2, storage.NearDistance, 4, 6, 8} {
		b.Run(string(rune('0'+most))+"-bits", func(b *testing.B) {
			var c nearCounts
			for b.Loop() {
				c = countNear(list, most)
			}
			b.ReportMetric(float64(len(list)), "pages")
			b.ReportMetric(float64(c.found)/float64(c.known), "recall")
			b.ReportMetric(float64(c.right)/float64(c.right+c.wrong), "precision")
		})
	}
}

// TestNearDuplicates: at the distance that groups have, nearly all of simweb's near-duplicates are found, and hardly
// anything else.
func TestNearDuplicates(t *testing.T) {
	c := countNear(nearPages(t, 60, 40), storage.NearDistance)
	if c.known < 30 || c.found*10 < c.known*9 || c.wrong*20 > c.right {
		t.Errorf("%+v: want at least 30 known, 9 in 10 found and 1 pair in 20 wrong", c)
	}
}
