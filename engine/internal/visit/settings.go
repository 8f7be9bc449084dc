// SPDX-License-Identifier: Apache-2.0

package visit

import (
	"encoding/base64"
	"strings"
	"time"

	"github.com/seine-crawler/seine/engine/fetch"
	"github.com/seine-crawler/seine/engine/policy"
	"github.com/seine-crawler/seine/storage"
	"github.com/seine-crawler/seine/storage/urlkey"
)

// Request returns a request for a URL with what its settings add to it. Any goroutine may call it.
func (h *Hosts) Request(u urlkey.URL) *fetch.Request { return h.request(u, 0) }

// request is Request with a bound of the body in bytes; 0 means that of the settings or of the client.
func (h *Hosts) request(u urlkey.URL, maxBody int64) *fetch.Request {
	req := &fetch.Request{URL: u, MaxBody: maxBody}
	if s := h.env.Admission.URLSettings(u); s != nil {
		req.Header = headerOf(s, u.Scheme() == "https")
		req.UserAgent, req.Timeout = s.UserAgent, s.Timeout
		if maxBody == 0 {
			req.MaxBody = s.MaxBody
		}
	}
	return req
}

// robotsRequest is Request for a robots.txt: its type does not matter, it must be read.
func (h *Hosts) robotsRequest(u urlkey.URL) *fetch.Request {
	req := h.request(u, robotsBodyMax)
	req.AnyType = true
	return req
}

// agentOf returns the product token by which robots.txt of an authority is read.
func (h *Hosts) agentOf(authority urlkey.HostKey) string {
	if !h.env.Admission.HasSettings() || h.env.AgentOf == nil {
		return h.env.Agent
	}
	host, _ := storage.SplitAuthorityKey(authority)
	return h.env.AgentOf(host)
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
