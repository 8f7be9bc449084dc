// SPDX-License-Identifier: Apache-2.0

package visit

import (
	"time"

	"github.com/seine-crawler/seine/storage"
	"github.com/seine-crawler/seine/storage/urlkey"
)

// What makes a host's pause longer than the crawl's delay is written like the rests that hosts demand, soon: the first
// request of the next process must wait for it too, after a crash as well.

// rememberDelay stores the Crawl-delay that the robots.txt for a URL demands. 0: it demands none, and what is stored of
// the host is forgotten, unless the robots.txt of the other scheme demands one.
func (h *Hosts) rememberDelay(u urlkey.URL, d time.Duration) {
	host := u.HostKey()
	if d == 0 {
		f, err := h.stateOf(host)
		if err != nil {
			h.env.Warn(err)
		}
		if f.CrawlDelayMS == 0 {
			return
		}
		d = h.otherDelay(u)
	}
	ms, news := clampMS(d), false
	a := h.changeIf(host, func(f *storage.HostFacts) bool {
		news = f.CrawlDelayMS != ms
		f.CrawlDelayMS = ms
		return news
	})
	if news && d > h.delayOf(host) {
		h.demands(a)
	}
}

// otherDelay returns the Crawl-delay that is known of the robots.txt for a URL's host with the other scheme; 0: none.
func (h *Hosts) otherDelay(u urlkey.URL) time.Duration {
	a, err := h.get(storage.AuthorityKey(u.HostKey(), otherScheme(u.Scheme())))
	if err != nil {
		h.env.Warn(err)
		return 0
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	rules := a.rules
	if rules == nil && a.facts.RobotsStatus != 0 {
		rules, _ = RobotsRules(&a.facts, h.agentOf(a.key))
	}
	if rules == nil || delayTooLong(rules, h.env.MaxCrawlDelay) {
		return 0
	}
	d, _ := rules.CrawlDelay()
	return d
}

// rememberResponse stores how long a host took to answer, if that is longer than the crawl's delay. What is stored
// grows at once, and falls when it is twice too long, so that a slow host costs few writes. Without a delay the host
// does not wait for it.
func (h *Hosts) rememberResponse(host urlkey.HostKey, took time.Duration) {
	delay := h.delayOf(host)
	slow := took > delay
	if delay < 0 || !slow && h.peek(storage.HostStateKey(host)) == nil {
		return
	}
	ms, longer := clampMS(took+time.Millisecond-1), false
	a := h.changeIf(host, func(f *storage.HostFacts) bool {
		longer = slow && ms > f.ResponseMS
		if !longer && ms >= f.ResponseMS/2 {
			return false
		}
		f.ResponseMS = ms
		return true
	})
	if longer {
		h.demands(a)
	}
}
