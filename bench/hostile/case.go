// SPDX-License-Identifier: Apache-2.0

package hostile

import (
	"cmp"
	"context"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"time"
)

// Case is one thing that a server does, and the outcome that is required of a client. Cases come from Cases, Find and
// Replay; the zero value can be given to Judge but not served. Server.URL says what to fetch.
type Case struct {
	Number int    // of the row in the list of behaviors that it belongs to; several cases may share one
	Name   string // a host label; the case's host is Name.hostile.test
	Group  string // such as "framing" or "dns"
	Does   string // what the server does, for people
	Want   Want

	// URL is what to fetch, if it is not on the case's host; "": it is. PORT in it stands for the server's port.
	URL string
	// Path of the page to fetch on the case's host; "": "/".
	Path string
	// Policy cases are about addresses and ports that must not be touched. A client meets them with its rules for the
	// public web, under which it could not reach the server itself.
	Policy bool
	// TLS cases are fetched by https.
	TLS bool

	atAccept bool // serve is called before a request was read, with nil for it
	robots   bool // serve answers robots.txt too; otherwise that is a 404
	serve    func(c *conn, q *request)
	tls      func(s *Server, name string) *tlsServer                    // nil: plain TCP
	dns      func(ctx context.Context, s *Server) ([]netip.Addr, error) // nil: the case's address
}

// Want is the required outcome of a case.
type Want struct {
	// Results are those that are allowed, see Outcome.Result; nil: any.
	Results []string
	// Requests is how many requests one fetch may send; 0: 1, less than 0: none.
	Requests int
	// Within is the deadline that ends the fetch: "head", "dial", "tls", "dns" or "total" of Limits; "": it ends by
	// itself, within Limits.Total.
	Within string
	// Alloc is how many bytes the fetch may allocate, beside eight times what it received; 0: 4 MiB. It counts what the
	// server allocates too, if that runs in the same process.
	Alloc int64
	// Bytes is how many bytes the client may receive, TLS and framing included; 0: 10 MiB, which is more than twice the
	// largest body.
	Bytes int64
	// Closed: the connection must not be used for another request.
	Closed bool
	// Again is the body that a second fetch of the URL must have, made when the server has said all that it says to the
	// first, so that Tally.InFlight is 0; "": none is made. A client may make it once more if its kept connection was
	// closed.
	Again string
	// Body is the decoded body; "": any.
	Body string
	// Absent are texts that no request may contain.
	Absent []string
	// Crawl are the statuses, by Nutch's names, that the page may have after a crawl; nil: any. Judge does not look at
	// it.
	Crawl []string
	// CrawlApart are statuses that it may have, too, where each request to the host had a connection of its own: a
	// crawler that is slow finds none that was kept.
	CrawlApart []string
	// CrawlRequests is how many requests the host may get in a crawl, robots.txt included; 0: any number. Judge does
	// not look at it.
	CrawlRequests int
	// Text says, for people, what else is required that one fetch cannot show.
	Text string
}

// Outcome is the outcome of one fetch of a case by a client.
type Outcome struct {
	// Result is the name of a failure, such as "timeout_head"; or the status, followed by the reason why the body is
	// not whole: "200", "200 length", "200 time", "200 disconnect"; "200 decode" if its content coding could not be
	// decoded, "200 cut" if it was not decoded to its end. "bad_url" is a URL that was refused. The names are in
	// Want.Results of the cases.
	Result   string
	Requests int           // sent; Tally.Requests counts them
	Wall     time.Duration // from the call to its end
	Alloc    int64         // bytes allocated; 0: not judged
	Received int64         // bytes from the server, as far as the client read them
	Body     []byte        // decoded
	Again    []byte        // of the second fetch, if Want.Again demands one
	Reused   bool          // the connection served another request afterwards
	Sent     string        // all request heads; Tally.Heads has them
}

// Limits are the deadlines of the client that is judged. A case that ends at a deadline fails if the fetch takes longer
// than that deadline and Slack.
type Limits struct {
	Total, Head, Dial, TLS, DNS time.Duration
	Slack                       time.Duration // for a busy machine
}

// Judge returns an error that names everything in an outcome that breaks the case's Want, nil if nothing does.
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
	limit := map[string]time.Duration{
		"": l.Total, "total": l.Total, "head": l.Head, "dial": l.Dial, "tls": l.TLS, "dns": l.DNS,
	}[c.Want.Within]
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
	if bytes := cmp.Or(c.Want.Bytes, 10<<20); o.Received > bytes {
		say("%d bytes received, want at most %d", o.Received, bytes)
	}
	if c.Want.Again != "" && string(o.Again) != c.Want.Again {
		say("the body of the second fetch is %.60q, want %.60q", o.Again, c.Want.Again)
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

// Cases returns all cases of the package, group by group, in the same order each time. The slice is the caller's.
func Cases() []Case { return slices.Clone(allCases()) }

// allCases are made once, when first needed: some are large.
var allCases = sync.OnceValue(func() (out []Case) {
	for _, group := range []struct {
		name  string
		cases []Case
	}{
		{"transport", transportCases()},
		{"dns", dnsCases()},
		{"framing", framingCases()},
		{"coding", codingCases()},
		{"urls", urlCases()},
		{"traps", trapCases()},
		{"robots", robotsCases()},
		{"retry-after", retryCases()},
		{"html", htmlCases()},
		{"tls", tlsCases()},
		{"files", fileCases()},
		{"wire", wireCases()},
		{"reuse", reuseCases()},
		{"members", memberCases()},
		{"whole-robots", wholeRobotsCases()},
	} {
		for _, c := range group.cases {
			c.Group = group.name
			out = append(out, c)
		}
	}
	return out
})

// Find returns the case with a name, false if there is none.
func Find(name string) (Case, bool) {
	for _, c := range allCases() {
		if c.Name == name {
			return c, true
		}
	}
	return Case{}, false
}

// String is what became of the exchange: its result, the bytes received and the time it took.
func (o Outcome) String() string {
	return fmt.Sprintf("%s, %d bytes, %s", o.Result, o.Received, o.Wall.Round(time.Millisecond))
}

// Result is a case with the verdict on it.
type Result struct {
	Case Case
	Err  error  // of Judge; nil: passed
	Note string // shown if it passed
}

// Table returns results as text, a line each: number, name, group, pass or FAIL, and the note or the error; then how
// many passed.
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
