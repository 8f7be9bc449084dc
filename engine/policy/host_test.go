// SPDX-License-Identifier: Apache-2.0

package policy_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/seine-crawler/seine/engine/policy"
	"github.com/seine-crawler/seine/engine/policy/policytest"
	"github.com/seine-crawler/seine/storage/urlkey"
)

func hostKey(t testing.TB, host string) urlkey.HostKey {
	t.Helper()
	return must(urlkey.ParseHost(host))(t)
}

// TestHostTable: the most specific entry that sets something decides.
func TestHostTable(t *testing.T) {
	entries := map[string]policy.HostSettings{}
	for i, name := range []string{
		"www.example.org", "www.example.org:8080", "*.example.org", "*.example.org:8080", "*.deep.example.org",
		"*.org", "192.0.2.1", "[2001:db8::1]:81", "Bücher.example", "single", "*.two.single", "*.port.example:81",
	} {
		entries[name] = policy.HostSettings{MaxPages: int64(i + 1)}
	}
	table := must(policy.NewHostTable(entries))(t)
	var hosts []string
	for host, want := range map[string]string{
		"www.example.org":       "www.example.org",
		"www.example.org:81":    "www.example.org",
		"www.example.org:8080":  "www.example.org:8080",
		"example.org":           "*.example.org",
		"example.org:8080":      "*.example.org:8080",
		"a.b.example.org":       "*.example.org",
		"x.www.example.org":     "*.example.org",
		"notexample.org":        "*.org",
		"deep.example.org":      "*.deep.example.org",
		"deep.example.org:8080": "*.deep.example.org", // a longer domain before a port
		"a.deep.example.org":    "*.deep.example.org",
		"org":                   "*.org",
		"example.com":           "",
		"192.0.2.1:8080":        "192.0.2.1",
		"192.0.2.2":             "",
		"[2001:db8::1]":         "",
		"[2001:db8::1]:81":      "[2001:db8::1]:81",
		"xn--bcher-kva.example": "Bücher.example",
		"a.bücher.example":      "",
		"single":                "single",
		"a.single":              "",
		"a.two.single":          "*.two.single",
		"port.example":          "",
		"port.example:81":       "*.port.example:81",
		"a.b.port.example:81":   "*.port.example:81",
	} {
		hosts = append(hosts, host)
		var got policy.HostSettings
		if s := table.Settings(hostKey(t, host)); s != nil {
			got = *s
		}
		if got.MaxPages != entries[want].MaxPages {
			t.Errorf("%s: entry %d, want %q (%d)", host, got.MaxPages, want, entries[want].MaxPages)
		}
	}
	policytest.HostPolicy(t, table, hosts)
	policytest.HostPolicy(t, must(policy.NewHostTable(nil))(t), hosts)
	only := &policy.HostSettings{Delay: -1}
	policytest.HostPolicy(t, policy.HostPolicyFunc(func(urlkey.HostKey) *policy.HostSettings { return only }), hosts)
}

// TestHostTableModel: for any table, each setting comes from the entry that a search through all of them finds to be
// the most specific of those that set it.
func TestHostTableModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		host := rapid.StringMatching(`(a\.|b\.|aa\.){0,3}(a|b)(:81|:82)?`)
		path := rapid.StringMatching(`/(a|b|aa|){0,3}`)
		name := rapid.Custom(func(t *rapid.T) string {
			switch rapid.SampledFrom([]string{"host", "domain", "prefix"}).Draw(t, "kind") {
			case "domain":
				return "*." + host.Draw(t, "host")
			case "prefix":
				return "http://" + host.Draw(t, "host") + path.Draw(t, "path")
			}
			return host.Draw(t, "host")
		})
		entries := map[string]policy.HostSettings{}
		for i, e := range rapid.SliceOfNDistinct(name, 0, 12, rapid.ID).Draw(t, "entries") {
			var s policy.HostSettings
			if rapid.Bool().Draw(t, "depth") {
				s.MaxDepth = i + 1
			}
			if rapid.Bool().Draw(t, "body") {
				s.MaxBody = int64(i + 1)
			}
			if rapid.Bool().Draw(t, "header") {
				s.Header = []policy.HeaderField{{Name: "X", Value: fmt.Sprint(i + 1)}}
			}
			entries[e] = s
		}
		table, err := policy.NewHostTable(entries)
		if err != nil {
			t.Fatal(err)
		}
		asked := host.Draw(t, "asked")
		u, err := urlkey.Parse("http://" + asked + path.Draw(t, "of"))
		if err != nil {
			t.Fatal(err)
		}
		type answer struct {
			depth  int
			body   int64
			header string
		}
		find := func(url string) (a answer) {
			var depth, body, header int
			for e, s := range entries {
				rank := specificity(e, asked, url)
				if rank > depth && s.MaxDepth != 0 {
					depth, a.depth = rank, s.MaxDepth
				}
				if rank > body && s.MaxBody != 0 {
					body, a.body = rank, s.MaxBody
				}
				if rank > header && len(s.Header) > 0 {
					header, a.header = rank, s.Header[0].Value
				}
			}
			return a
		}
		of := func(s *policy.HostSettings) (a answer) {
			if s != nil {
				a.depth, a.body = s.MaxDepth, s.MaxBody
				for _, f := range s.Header {
					a.header += f.Value
				}
			}
			return a
		}
		if got, want := of(table.URLSettings(u)), find(u.String()); got != want {
			t.Fatalf("%s in %v: %v, want %v", u, entries, got, want)
		}
		if got, want := of(table.Settings(u.HostKey())), find(""); got != want {
			t.Fatalf("%s in %v: %v, want %v", asked, entries, got, want)
		}
	})
}

// specificity ranks the entries that hold for a URL of a host, or with "" for the host; 0 means that an entry does not.
func specificity(entry, host, url string) int {
	if strings.Contains(entry, "://") {
		if url == "" || !strings.HasPrefix(url, entry) {
			return 0
		}
		return 10_000 + len(entry)
	}
	name, port, _ := strings.Cut(host, ":")
	of, below := strings.CutPrefix(entry, "*.")
	of, ofPort, _ := strings.Cut(of, ":")
	if ofPort != "" && ofPort != port || name != of && !(below && strings.HasSuffix(name, "."+of)) {
		return 0
	}
	rank := 2*len(of) + 1
	if ofPort != "" {
		rank++
	}
	if !below {
		rank += 1000
	}
	return rank
}

// TestHostTableIsAValue: what the caller does with the entries afterwards has no effect.
func TestHostTableIsAValue(t *testing.T) {
	scope := policy.ScopeDomain
	entries := map[string]policy.HostSettings{"a": {
		Header:  []policy.HeaderField{{"X-A", "1"}},
		Cookies: []policy.HeaderField{{"c", "2"}},
		Scope:   &scope,
	}}
	table := must(policy.NewHostTable(entries))(t)
	entries["a"].Header[0].Value, entries["a"].Cookies[0].Value, scope = "x", "x", policy.ScopeAny
	s := table.Settings(hostKey(t, "a"))
	if s.Header[0].Value != "1" || s.Cookies[0].Value != "2" || *s.Scope != policy.ScopeDomain {
		t.Errorf("%+v, %v, %v, %s", s, s.Header[0].Value, s.Cookies[0].Value, *s.Scope)
	}
}

// TestFaultyHostTable: an error names every entry and field that is wrong, and no secret.
func TestFaultyHostTable(t *testing.T) {
	scope := policy.Scope(9)
	const secret = "hunter2"
	field := func(name, value string) []policy.HeaderField { return []policy.HeaderField{{name, value}} }
	for says, s := range map[string]policy.HostSettings{
		`header "Host" cannot be set`:              {Header: field("Host", secret)},
		`header "user-agent" cannot be set`:        {Header: field("user-agent", secret)},
		`header "Connection" cannot be set`:        {Header: field("Connection", secret)},
		`header "Content-Length" cannot be set`:    {Header: field("Content-Length", secret)},
		`header "Transfer-Encoding" cannot be set`: {Header: field("Transfer-Encoding", secret)},
		`header "ACCEPT-ENCODING" cannot be set`:   {Header: field("ACCEPT-ENCODING", secret)},
		`header "If-None-Match" cannot be set`:     {Header: field("If-None-Match", secret)},
		`header "Cookie" cannot be set: give cook`: {Header: field("Cookie", secret)},
		`header "": the name is empty`:             {Header: field("", secret)},
		`header "X Y": the name has ' '`:           {Header: field("X Y", secret)},
		`header "X\n": the name has '\n'`:          {Header: field("X\n", secret)},
		`header "X": byte 8 of the value is '\r'`:  {Header: field("X", secret+"\r\nY: z")},
		`header "X": the value begins or ends`:     {Header: field("X", secret+" ")},
		`header "Authorization": username and pas`: {Header: field("Authorization", secret), Password: secret},
		`cookie "c": byte 8 of the value is ';'`:   {Cookies: field("c", secret+"; d=e")},
		`cookie "c=d": the name has '='`:           {Cookies: field("c=d", secret)},
		`username: basic authentication allows no`: {Username: "a:b", Password: secret},
		`username: byte 2 of the value is '\x00'`:  {Username: "a\x00", Password: secret},
		`password: byte 8 of the value is '\x7f'`:  {Password: secret + "\x7f"},
		`scope: 9 is not a scope`:                  {Scope: &scope},
		`user agent "ü": want printable ASCII`:     {UserAgent: "ü"},
		`interval: 1.5s: want whole seconds`:       {Interval: 1500 * time.Millisecond},
		`timeout: -1s is negative`:                 {Timeout: -time.Second},
		`longest body: -1 is negative`:             {MaxBody: -1},
	} {
		_, err := policy.NewHostTable(map[string]policy.HostSettings{"*.a.example": s})
		if err == nil || !strings.Contains(err.Error(), `settings of host "*.a.example": `+says) {
			t.Errorf("%v, want %q in it", err, says)
		}
		if err != nil && strings.Contains(err.Error(), secret) {
			t.Errorf("%v shows a secret", err)
		}
	}
	for _, name := range []string{"", "*", "*.", "a b", "http://A/", "a/b", "*.192.0.2.1", "*.[::1]", "a:x", "*.*.a"} {
		_, err := policy.NewHostTable(map[string]policy.HostSettings{name: {}})
		if err == nil || !strings.Contains(err.Error(), fmt.Sprintf("settings of host %q: ", name)) {
			t.Errorf("%q: %v", name, err)
		}
	}
	_, err := policy.NewHostTable(map[string]policy.HostSettings{
		"a.example": {MaxBody: -1, Timeout: -1}, "A.example": {}, "b c": {},
	})
	fails(t, func(string) error { return err }, "",
		`host "a.example": timeout: `, `host "a.example": longest body: `,
		`host "a.example": another entry names the same host`, `host "b c": want HOST`)
}

// TestHostIntervals: each bound of intervals comes from the most specific entry that sets it. Where the two would
// contradict, the more specific one counts.
func TestHostIntervals(t *testing.T) {
	const day = 24 * time.Hour
	type pair [2]time.Duration
	for _, v := range []struct{ host, domain, want pair }{
		{pair{time.Hour, 0}, pair{0, day}, pair{time.Hour, day}},
		{pair{0, day}, pair{time.Hour, 0}, pair{time.Hour, day}},
		{pair{0, day}, pair{time.Hour, 2 * day}, pair{time.Hour, day}},
		{pair{time.Hour, day}, pair{time.Second, time.Minute}, pair{time.Hour, day}},
		{pair{}, pair{time.Hour, day}, pair{time.Hour, day}},
		{pair{0, time.Hour}, pair{day, 2 * day}, pair{time.Hour, time.Hour}},
		{pair{2 * day, 0}, pair{0, day}, pair{2 * day, 2 * day}},
	} {
		table := must(policy.NewHostTable(map[string]policy.HostSettings{
			"www.a.example": {MinInterval: v.host[0], MaxInterval: v.host[1]},
			"*.a.example":   {MinInterval: v.domain[0], MaxInterval: v.domain[1]},
		}))(t)
		s := table.Settings(hostKey(t, "www.a.example"))
		if got := (pair{s.MinInterval, s.MaxInterval}); got != v.want {
			t.Errorf("%v over %v is %v, want %v", v.host, v.domain, got, v.want)
		}
	}
}

// TestHostSettingsText: no way to print settings shows a secret.
func TestHostSettingsText(t *testing.T) {
	scope := policy.ScopeDomain
	s := policy.HostSettings{
		Delay:    2 * time.Second,
		Header:   []policy.HeaderField{{"X-Api-Key", "secret1"}},
		Cookies:  []policy.HeaderField{{"session", "secret3"}},
		Username: "seine", Password: "secret4", PlainAuth: true, UserAgent: "other/1", Scope: &scope, MaxDepth: 3,
		Interval: time.Hour, MaxPages: 5, MaxBytes: 6, MaxTime: time.Minute, Timeout: time.Second, MaxBody: 7,
	}
	bearer := policy.HostSettings{Header: []policy.HeaderField{{"Authorization", "Bearer secret2"}}}
	const want = `delay 2s, header X-Api-Key: …, cookie session: …, ` +
		`username "seine", password …, plain authentication, user agent "other/1", scope domain, ` +
		`at most 3 links from a seed, fetched again after 1h0m0s, at most 5 pages, at most 6 bytes, at most 1m0s, ` +
		`at most 1s for a fetch, at most 7 bytes of a body`
	if s.String() != want {
		t.Errorf("%s\nwant %s", s, want)
	}
	table := must(policy.NewHostTable(map[string]policy.HostSettings{"a": s, "b": bearer}))(t)
	for _, v := range []any{
		s, &s, bearer, s.Header, s.Cookies[0], []policy.HostSettings{s}, map[string]policy.HostSettings{"a": s},
		struct{ S policy.HostSettings }{s}, table, table.Settings(hostKey(t, "a")),
	} {
		for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q"} {
			if text := fmt.Sprintf(verb, v); strings.Contains(text, "secret") {
				t.Errorf("%s of a %T: %s", verb, v, text)
			}
		}
	}
	for text, s := range map[string]policy.HostSettings{
		"the crawl's settings": {}, "no delay": {Delay: -1},
		"any depth, any number of pages, any number of bytes, any time": {
			MaxDepth: -1, MaxPages: -1, MaxBytes: -1, MaxTime: -1,
		},
	} {
		if s.String() != text {
			t.Errorf("%s, want %s", s, text)
		}
	}
}

// TestHostTableFingerprint: equal tables have one fingerprint, also in another process; each setting is part of it.
func TestHostTableFingerprint(t *testing.T) {
	sum := func(entries map[string]policy.HostSettings) uint64 {
		t.Helper()
		return must(policy.NewHostTable(entries))(t).Fingerprint()
	}
	scope, other := policy.ScopeDomain, policy.ScopeDomain
	field := []policy.HeaderField{{Name: "a", Value: "b"}}
	all := policy.HostSettings{
		Delay: time.Second, Header: field, Cookies: field, Username: "u", Password: "p", PlainAuth: true,
		UserAgent: "a", Scope: &scope, MaxDepth: 4, Interval: time.Second, MaxPages: 1, MaxBytes: 2, MaxTime: 3,
		Timeout: 5, MaxBody: 6,
	}
	again := all
	again.Scope = &other
	got := sum(map[string]policy.HostSettings{"a.example": all, "*.B.example:80": {}})
	if want := sum(map[string]policy.HostSettings{"*.b.example:80": {}, "A.example": again}); got != want {
		t.Errorf("%x and %x for equal tables", got, want)
	}
	if before := uint64(0xab5edc1f83b7ae3b); got != before {
		t.Errorf("%x, in another process %x", got, before)
	}
	one := func(change func(s *policy.HostSettings)) map[string]policy.HostSettings {
		s := all
		change(&s)
		return map[string]policy.HostSettings{"a.example": s}
	}
	tables := []map[string]policy.HostSettings{
		nil,
		{"a.example": {}}, {"*.a.example": {}}, {"a.example:81": {}}, {"b.example": {}},
		{"a.example": {}, "b.example": {}},
		one(func(s *policy.HostSettings) {}),
		one(func(s *policy.HostSettings) { s.Delay = -1 }),
		one(func(s *policy.HostSettings) { s.Header = nil }),
		one(func(s *policy.HostSettings) { s.Cookies = nil }),
		one(func(s *policy.HostSettings) { s.Header = []policy.HeaderField{{Name: "ab"}} }),
		one(func(s *policy.HostSettings) { s.Username, s.Password = "up", "" }),
		one(func(s *policy.HostSettings) { s.Password = "q" }),
		one(func(s *policy.HostSettings) { s.PlainAuth = false }),
		one(func(s *policy.HostSettings) { s.Scope = nil }),
		one(func(s *policy.HostSettings) { any := policy.ScopeAny; s.Scope = &any }),
		one(func(s *policy.HostSettings) { s.MaxPages, s.MaxBytes = 2, 1 }),
		one(func(s *policy.HostSettings) { s.MaxTime = 4 }),
		one(func(s *policy.HostSettings) { s.UserAgent = "b" }),
		one(func(s *policy.HostSettings) { s.MaxDepth = 3 }),
		one(func(s *policy.HostSettings) { s.Interval = 2 * time.Second }),
		one(func(s *policy.HostSettings) { s.Timeout = 6 }),
		one(func(s *policy.HostSettings) { s.MaxBody = 7 }),
		{"http://a.example/": {}}, {"http://a.example/b": {}},
	}
	seen := map[uint64]int{}
	for i, entries := range tables {
		sum := sum(entries)
		if j, ok := seen[sum]; ok {
			t.Errorf("tables %d and %d have one fingerprint", i, j)
		}
		seen[sum] = i
	}
	if (&policy.HostTable{}).Fingerprint() != sum(nil) {
		t.Error("the zero table is not equal to an empty one")
	}
}
