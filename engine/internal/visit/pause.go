// SPDX-License-Identifier: Apache-2.0

package visit

import (
	"time"

	"github.com/seine-crawler/seine/storage"
	"github.com/seine-crawler/seine/storage/urlkey"
)

// What makes a host's pause longer than the crawl's delay is written like the rests that hosts demand, soon: the first
// request of the next process must wait for it too, after a crash as well.

// rememberDelay stores a host's Crawl-delay.
func (h *Hosts) rememberDelay(host urlkey.HostKey, d time.Duration) {
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
