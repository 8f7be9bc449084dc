// SPDX-License-Identifier: Apache-2.0

package hostile

import (
	"context"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"time"
)

// Case is one thing that servers do, and what must come of it.
type Case struct {
	Number int    // of the row that it belongs to; several cases may share one
	Name   string // its host is Name.hostile.test
	Group  string
	Does   string // what the server does, for people
	Want   Want

	// URL is what to fetch, if it is not the first page of the case's host. PORT in it stands for the
	// server's port.
	URL string
	// Path of the page to fetch on the case's host; "": "/".
	Path string
	// Policy cases are about addresses and ports that must not be touched: a client meets them with its
	// rules for the public web, under which the server itself is out of reach.
	Policy bool
	// TLS cases are fetched by https.
	TLS bool

	atAccept bool // serve is called before a request was read
	robots   bool // serve answers for robots.txt too; else that is 404
	serve    func(c *Conn, q *Request)
	tls      func(s *Server, name string) *tlsServer
	dns      func(ctx context.Context, s *Server) ([]netip.Addr, error)
}

// Want is the required outcome of a case.
type Want struct {
	// Results are those that are allowed, see Outcome.Result; nil: any.
	Results []string
	// Requests is how many may be on the wire for one fetch; 0: 1, less than 0: none.
	Requests int
	// Within is the deadline that ends it: "head", "dial", "tls", "dns", "total"; "": it ends by itself.
	Within string
	// Alloc is how many bytes the fetch may allocate beside eight times what it received; 0: 256 KiB.
	// Where it is much more, that is what a server in the same process takes to make the response.
	Alloc int64
	// Closed: the connection must not be used for another request.
	Closed bool
	// Body is the body, decoded; "": any.
	Body string
	// Absent must not be in any request.
	Absent []string
	// Crawl are the statuses that the page's record may have after a crawl; nil: not judged there.
	Crawl []string
	// CrawlRequests is how many requests the host may get in a crawl, robots.txt included; 0: not
	// judged.
	CrawlRequests int
	// Text says what else must come of it, where one fetch cannot show it.
	Text string
}

// Outcome is what a client made of a case.
type Outcome struct {
	// Result is the name of a failure, such as "timeout_head"; or the status, and behind it why the body
	// is not whole: "200", "200 length", "200 time", "200 disconnect"; with "decode" if its content coding
	// could not be undone and "cut" if it was not undone to the end. "bad_url" is a URL that was refused.
	Result   string
	Requests int
	Wall     time.Duration
	Alloc    int64 // bytes allocated
	Received int64 // bytes
	Body     []byte
	Reused   bool   // the connection served another request afterwards
	Sent     string // all request heads
}

// Limits are the deadlines of the client that is judged.
type Limits struct {
	Total, Head, Dial, TLS, DNS time.Duration
	Slack                       time.Duration // for a busy machine
}

// Judge says what is wrong with an outcome; nil: nothing.
func Judge(c *Case, o Outcome, l Limits) error {
	var wrong []string
	say := func(format string, args ...any) { wrong = append(wrong, fmt.Sprintf(format, args...)) }
	if c.Want.Results != nil && !slices.Contains(c.Want.Results, o.Result) {
		say("result %q, want %s", o.Result, strings.Join(c.Want.Results, " or "))
	}
	most := max(c.Want.Requests, 0)
	if c.Want.Requests == 0 {
		most = 1
	}
	if o.Requests > most {
		say("%d requests, want at most %d", o.Requests, most)
	}
	limit := map[string]time.Duration{"": l.Total, "total": l.Total, "head": l.Head, "dial": l.Dial, "tls": l.TLS, "dns": l.DNS}[c.Want.Within]
	if o.Wall > limit+l.Slack {
		say("took %s, want at most %s", o.Wall, limit)
	}
	alloc := c.Want.Alloc
	if alloc == 0 {
		alloc = 4 << 20 // the whole process is counted; what these cases try is tens of megabytes and more
	}
	if o.Alloc > alloc+8*o.Received {
		say("%d bytes allocated for %d received, want at most %d more", o.Alloc, o.Received, alloc)
	}
	if c.Want.Closed && o.Reused {
		say("the connection was used again")
	}
	if c.Want.Body != "" && string(o.Body) != c.Want.Body {
		say("body %.60q, want %.60q", o.Body, c.Want.Body)
	}
	for _, a := range c.Want.Absent {
		if strings.Contains(o.Sent, a) {
			say("%q was sent", a)
		}
	}
	if wrong == nil {
		return nil
	}
	return fmt.Errorf("%s: %s", c.Name, strings.Join(wrong, "; "))
}

// Host returns the name of the case's host.
func (c *Case) Host() string { return c.Name + domain }

const domain = ".hostile.test"

// Cases returns all of them, by group.
func Cases() []Case { return slices.Clone(allCases()) }

// allCases are made once: some are large.
var allCases = sync.OnceValue(func() (out []Case) {
	for _, group := range []struct {
		name  string
		cases []Case
	}{{"transport", transportCases()}, {"dns", dnsCases()}, {"framing", framingCases()}, {"coding", codingCases()}, {"urls", urlCases()}, {"traps", trapCases()},
		{"robots", robotsCases()}, {"retry-after", retryCases()}, {"html", htmlCases()}, {"tls", tlsCases()}, {"files", fileCases()}} {
		for _, c := range group.cases {
			c.Group = group.name
			out = append(out, c)
		}
	}
	return out
})

// Find returns the case of a name.
func Find(name string) (Case, bool) {
	for _, c := range allCases() {
		if c.Name == name {
			return c, true
		}
	}
	return Case{}, false
}

// Result is a case with what came of it.
type Result struct {
	Case Case
	Err  error // nil: passed
	Note string
}

// Table prints results, the ones that failed with what is wrong.
func Table(results []Result) string {
	var b strings.Builder
	passed := 0
	for _, r := range results {
		verdict := "pass"
		if r.Err != nil {
			verdict = "FAIL"
		} else {
			passed++
		}
		note := r.Note
		if r.Err != nil {
			note = r.Err.Error()
		}
		fmt.Fprintf(&b, "%3d %-26s %-12s %s %s\n", r.Case.Number, r.Case.Name, r.Case.Group, verdict, note)
	}
	fmt.Fprintf(&b, "%d of %d pass\n", passed, len(results))
	return b.String()
}
