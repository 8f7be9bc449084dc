// SPDX-License-Identifier: Apache-2.0

package visit

import (
	"encoding/base64"
	"strings"
	"time"

	"github.com/seine-crawler/seine/engine/fetch"
	"github.com/seine-crawler/seine/engine/policy"
	"github.com/seine-crawler/seine/storage/urlkey"
)

// Request returns a request for a URL with what the settings of its host add to it. Any goroutine may call it.
func (h *Hosts) Request(u urlkey.URL) *fetch.Request { return h.request(u.HostKey(), u, 0) }

// request is Request for a URL whose host's key is known. maxBody is in bytes; 0 means the client's own bound.
func (h *Hosts) request(host urlkey.HostKey, u urlkey.URL, maxBody int64) *fetch.Request {
	req := &fetch.Request{URL: u, MaxBody: maxBody}
	if s := h.env.Admission.HostSettings(host); s != nil {
		req.Header = headerOf(s, u.Scheme() == "https")
	}
	return req
}

// headerOf returns the header fields that a host's settings add to a request. The password is sent over https only,
// unless the settings permit plain text.
func headerOf(s *policy.HostSettings, secure bool) []fetch.Header {
	var fields []fetch.Header
	for _, f := range s.Header {
		fields = append(fields, fetch.Header{Name: f.Name, Value: f.Value})
	}
	if len(s.Cookies) > 0 {
		var pairs []string
		for _, c := range s.Cookies {
			pairs = append(pairs, c.Name+"="+c.Value)
		}
		fields = append(fields, fetch.Header{Name: "Cookie", Value: strings.Join(pairs, "; ")})
	}
	if (s.Username != "" || s.Password != "") && (secure || s.PlainAuth) {
		token := base64.StdEncoding.EncodeToString([]byte(s.Username + ":" + s.Password))
		fields = append(fields, fetch.Header{Name: "Authorization", Value: "Basic " + token})
	}
	return fields
}

// delayOf returns the delay between two requests to a host: its own setting, else the crawl's; negative: none.
func (h *Hosts) delayOf(host urlkey.HostKey) time.Duration {
	if s := h.env.Admission.HostSettings(host); s != nil && s.Delay != 0 {
		return s.Delay
	}
	return h.env.Delay()
}
