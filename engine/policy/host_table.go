// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"net/textproto"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/zeebo/xxh3"

	"github.com/seine-crawler/seine/storage/urlkey"
)

// HostTable is a URLPolicy of a table. It is immutable; a lookup costs at most one map access for each label of the
// host, and a comparison with each prefix of the host.
type HostTable struct {
	hosts    map[hostEntry]*HostSettings // exact
	domains  map[hostEntry]*HostSettings // with all hosts below
	ports    map[string]bool             // of entries; all other ports are alike
	prefixes map[urlkey.HostKey][]urlPrefix
	sum      uint64 // see Fingerprint
}

// hostEntry is the host of an entry as a HostKey spells it: "com,example," and ":8080" or "".
type hostEntry struct{ labels, port string }

// urlPrefix is an entry for the URLs that begin with a text. Those of a host are sorted, the longest first.
type urlPrefix struct {
	text     string
	settings *HostSettings
}

// NewHostTable makes a table of entries by host, domain or prefix of URLs:
//
//	"www.example.com"            that host, on every port
//	"www.example.com:8080"       that host, on that port only
//	"*.example.com"              example.com and all hosts below it
//	"*.example.com:8080"         the same, on that port only
//	"https://www.example.com/a/" the URLs that begin so
//
// The most specific entry that sets something decides about it; what it leaves open comes from the next one. A prefix
// is more specific than a host, and a longer prefix than a shorter one; a host is more specific than a domain, a longer
// domain than a shorter one, and then an entry with a port than one without. Header fields and cookies are taken one
// by one, a login as a whole.
//
// An entry of a prefix cannot have what belongs to the host: Delay, PerHost, UserAgent, MaxPages, MaxBytes and MaxTime.
//
// The error lists every fault with its entry and field; it never shows a password or the value of a header or cookie.
// Later changes to entries have no effect on the table.
func NewHostTable(entries map[string]HostSettings) (*HostTable, error) {
	t := newHostTable()
	var faults []error
	for _, name := range slices.Sorted(maps.Keys(entries)) {
		for _, err := range t.add(name, entries[name]) {
			faults = append(faults, fmt.Errorf("settings of host %q: %w", name, err))
		}
	}
	if len(faults) > 0 {
		return nil, errors.Join(faults...)
	}
	t.overlay()
	return t, nil
}

func newHostTable() *HostTable {
	return &HostTable{
		hosts: map[hostEntry]*HostSettings{}, domains: map[hostEntry]*HostSettings{},
		ports: map[string]bool{}, prefixes: map[urlkey.HostKey][]urlPrefix{},
	}
}

// CheckHostSettings returns the faults that NewHostTable finds in an entry by itself. A program that reads settings can
// say where they stand.
func CheckHostSettings(name string, s HostSettings) error {
	t := newHostTable()
	return errors.Join(t.add(name, s)...)
}

// add returns every fault of an entry, and adds it if there is none.
func (t *HostTable) add(name string, s HostSettings) []error {
	faults := s.check()
	s.Header, s.Cookies = slices.Clone(s.Header), slices.Clone(s.Cookies)
	if s.Scope != nil {
		scope := *s.Scope
		s.Scope = &scope
	}
	if strings.Contains(name, "://") {
		return t.addPrefix(name, s, faults)
	}
	host, below := strings.CutPrefix(name, "*.")
	h, err := parseEntry(host)
	if err != nil {
		return append(faults, err)
	}
	table := t.hosts
	if below {
		table = t.domains
		if _, err := netip.ParseAddr(strings.Trim(h.Host(), "[]")); err == nil {
			faults = append(faults, errors.New("no host is below an address: leave out the *. before it"))
		}
	}
	entry := splitHostKey(h)
	if table[entry] != nil {
		faults = append(faults, errors.New("another entry names the same host"))
	}
	if len(faults) > 0 {
		return faults
	}
	table[entry] = &s
	t.ports[entry.port] = true
	t.sum += s.hash(below, entry.labels, entry.port)
	return nil
}

// addPrefix is add for a prefix of URLs.
func (t *HostTable) addPrefix(name string, s HostSettings, faults []error) []error {
	u, err := urlkey.Parse(name)
	if err != nil {
		return append(faults, err)
	}
	if u.String() != name {
		faults = append(faults, fmt.Errorf("the URLs of the crawl are spelled otherwise: write %s", u))
	}
	for what, set := range map[string]bool{
		"a delay": s.Delay != 0, "a number of requests": s.PerHost != 0, "a user agent": s.UserAgent != "",
		"a number of pages": s.MaxPages != 0,
		"a number of bytes": s.MaxBytes != 0, "a time": s.MaxTime != 0,
	} {
		if set {
			faults = append(faults, fmt.Errorf("%s belongs to the host, not to some of its URLs", what))
		}
	}
	if len(faults) > 0 {
		return faults
	}
	h := u.HostKey()
	t.prefixes[h] = append(t.prefixes[h], urlPrefix{name, &s})
	t.sum += s.hash(false, name)
	return nil
}

// overlay completes each entry with what it leaves open, so that a lookup need only find the most specific one. What
// lies below an entry without a port depends on the port of the host, so there is a copy for each port of the table.
func (t *HostTable) overlay() {
	t.ports[""] = true
	hosts, domains := map[hostEntry]*HostSettings{}, map[hostEntry]*HostSettings{}
	for port := range t.ports {
		for e := range t.domains {
			at := hostEntry{e.labels, port}
			domains[at] = t.merged(nil, at)
		}
		for e := range t.hosts {
			at := hostEntry{e.labels, port}
			hosts[at] = t.merged(t.hosts, at)
		}
	}
	t.hosts, t.domains = hosts, domains
	for h, list := range t.prefixes {
		slices.SortFunc(list, func(a, b urlPrefix) int { return cmp.Compare(len(b.text), len(a.text)) })
		for i := len(list) - 1; i >= 0; i-- { // the shortest first
			below := t.Settings(h)
			if j := slices.IndexFunc(list[i+1:], func(p urlPrefix) bool {
				return strings.HasPrefix(list[i].text, p.text)
			}); j >= 0 {
				below = list[i+1+j].settings
			}
			s := list[i].settings.over(below)
			list[i].settings = &s
		}
	}
}

// merged is what all entries for a host say together, nil if there are none: those of exact with its labels, then those
// of its domains, the longest first, at each step the entry with its port before the one without.
func (t *HostTable) merged(exact map[hostEntry]*HostSettings, at hostEntry) *HostSettings {
	var all *HostSettings
	under := func(table map[hostEntry]*HostSettings, labels string) {
		for _, e := range []hostEntry{{labels, at.port}, {labels: labels}} {
			if s := table[e]; s != nil {
				whole := *s
				if all != nil {
					whole = all.over(s)
				}
				all = &whole
			}
			if at.port == "" {
				break // both are the same entry
			}
		}
	}
	under(exact, at.labels)
	for labels := at.labels; labels != ""; labels = parentLabels(labels) {
		under(t.domains, labels)
	}
	return all
}

// parentLabels cuts the last label of "com,example,www,".
func parentLabels(labels string) string {
	return labels[:strings.LastIndexByte(labels[:len(labels)-1], ',')+1]
}

// hash is a hash of an entry by its names. Texts are hashed with their lengths, so that different entries differ.
func (s *HostSettings) hash(below bool, names ...string) uint64 {
	var b []byte
	text := func(list ...string) {
		for _, t := range list {
			b = append(binary.AppendUvarint(b, uint64(len(t))), t...)
		}
	}
	text(names...)
	text(s.Username, s.Password, s.UserAgent)
	for _, fields := range [][]HeaderField{s.Header, s.Cookies} {
		b = binary.AppendUvarint(b, uint64(len(fields)))
		for _, f := range fields {
			text(f.Name, f.Value)
		}
	}
	for _, n := range []int64{
		int64(s.Delay), s.MaxPages, s.MaxBytes, int64(s.MaxTime), int64(s.MaxDepth), int64(s.Interval),
		int64(s.Timeout), s.MaxBody,
	} {
		b = binary.AppendVarint(b, n)
	}
	if s.PerHost != 0 { // without it the sum is that of earlier versions
		b = binary.AppendVarint(b, int64(s.PerHost))
	}
	if s.MinInterval != 0 || s.MaxInterval != 0 { // likewise
		b = binary.AppendVarint(binary.AppendVarint(append(b, "bounds"...), int64(s.MinInterval)), int64(s.MaxInterval))
	}
	b = strconv.AppendBool(strconv.AppendBool(b, s.PlainAuth), below)
	if s.Scope != nil {
		b = append(b, s.Scope.String()...)
	}
	return xxh3.Hash(b)
}

// parseEntry is urlkey.ParseHost without the characters that a URL may have around or in a host.
func parseEntry(host string) (urlkey.HostKey, error) {
	const want = "want HOST, HOST:PORT or *.DOMAIN"
	if strings.ContainsAny(host, "*@?#\t\r\n") {
		return "", errors.New(want)
	}
	h, err := urlkey.ParseHost(host)
	if err != nil {
		return "", fmt.Errorf("%s: %w", want, err)
	}
	return h, nil
}

// splitHostKey cuts "com,example,:8080)" into labels and port.
func splitHostKey(h urlkey.HostKey) hostEntry {
	s := strings.TrimSuffix(string(h), ")")
	end := strings.LastIndexByte(s, ',') + 1
	return hostEntry{s[:end], s[end:]}
}

// Settings returns the settings of a host, nil if no entry is for it. The caller must not change them.
func (t *HostTable) Settings(h urlkey.HostKey) *HostSettings {
	e := splitHostKey(h)
	if !t.ports[e.port] {
		e.port = ""
	}
	if s := t.hosts[e]; s != nil {
		return s
	}
	if len(t.domains) == 0 {
		return nil
	}
	for ; e.labels != ""; e.labels = parentLabels(e.labels) {
		if s := t.domains[e]; s != nil {
			return s
		}
	}
	return nil
}

// URLSettings returns the settings of a URL, nil if no entry is for it. The caller must not change them.
func (t *HostTable) URLSettings(u urlkey.URL) *HostSettings {
	h := u.HostKey()
	for _, p := range t.prefixes[h] {
		if strings.HasPrefix(u.String(), p.text) {
			return p.settings
		}
	}
	return t.Settings(h)
}

// HasURLs reports whether the table has a prefix of URLs of a host.
func (t *HostTable) HasURLs(h urlkey.HostKey) bool { return len(t.prefixes[h]) > 0 }

// Fingerprint identifies the table: equal entries, whatever their order, have the same fingerprint in every process.
// Secrets are part of it, so it must not be shown to those who may not see them. Any goroutine may call it.
func (t *HostTable) Fingerprint() uint64 { return t.sum }

// String says how many entries the table has.
func (t *HostTable) String() string {
	return fmt.Sprintf("settings of %d hosts, %d domains and the prefixes of %d hosts",
		len(t.hosts), len(t.domains), len(t.prefixes))
}

// ownHeaders are header fields that the fetcher sets itself, or that would change what a response means, each with the
// reason for the error. Names are in canonical form.
var ownHeaders = map[string]string{
	"Host":                "it follows from the URL",
	"User-Agent":          "it has a setting of its own, the user agent",
	"Connection":          "the fetcher manages connections",
	"Keep-Alive":          "the fetcher manages connections",
	"Proxy-Connection":    "the fetcher manages connections",
	"Upgrade":             "the fetcher manages connections",
	"Content-Length":      "requests have no body",
	"Transfer-Encoding":   "requests have no body",
	"Te":                  "the fetcher decodes responses",
	"Accept-Encoding":     "the fetcher decodes responses",
	"Range":               "a part of a page would be taken for the page",
	"If-Modified-Since":   "the fetcher sets it from the page's record",
	"If-None-Match":       "the fetcher sets it from the page's record",
	"If-Match":            "it makes servers answer with an error",
	"If-Unmodified-Since": "it makes servers answer with an error",
	"Cookie":              "give cookies instead",
}

// check returns every fault of the settings, without secrets.
func (s *HostSettings) check() (faults []error) {
	fault := func(format string, args ...any) { faults = append(faults, fmt.Errorf(format, args...)) }
	for _, f := range s.Header {
		if err := checkField(f, ""); err != nil {
			fault("header %q: %w", f.Name, err)
		}
		if why := ownHeaders[textproto.CanonicalMIMEHeaderKey(f.Name)]; why != "" {
			fault("header %q cannot be set: %s", f.Name, why)
		}
		if strings.EqualFold(f.Name, "Authorization") && s.hasAuth() {
			fault("header %q: username and password set it, too; leave out one of them", f.Name)
		}
	}
	for _, f := range s.Cookies {
		if err := checkField(f, ";"); err != nil {
			fault("cookie %q: %w", f.Name, err)
		}
	}
	if strings.Contains(s.Username, ":") {
		fault("username: basic authentication allows no colon in it")
	}
	if err := checkValue(s.Username, ""); err != nil {
		fault("username: %w", err)
	}
	if err := checkValue(s.Password, ""); err != nil {
		fault("password: %w", err)
	}
	if s.Scope != nil && int(*s.Scope) >= len(scopeNames) {
		fault("scope: %d is not a scope", uint8(*s.Scope))
	}
	if strings.ContainsFunc(s.UserAgent, func(r rune) bool { return r < ' ' || r > '~' }) {
		fault("user agent %q: want printable ASCII only", s.UserAgent)
	}
	if s.Interval < 0 || s.Interval%time.Second != 0 {
		fault("interval: %s: want whole seconds, 0 for the crawl's", s.Interval)
	}
	for name, bound := range map[string]time.Duration{"shortest": s.MinInterval, "longest": s.MaxInterval} {
		if bound < 0 || bound%time.Second != 0 {
			fault("%s interval: %s: want whole seconds, 0 for no bound", name, bound)
		}
	}
	if s.MaxInterval > 0 && s.MinInterval > s.MaxInterval {
		fault("shortest interval: %s is more than the longest, %s", s.MinInterval, s.MaxInterval)
	}
	if s.Timeout < 0 {
		fault("timeout: %s is negative; 0 means the crawl's", s.Timeout)
	}
	if s.PerHost < 0 || s.PerHost > 64 {
		fault("requests at once: %d: want 1 to 64; 0 means the crawl's", s.PerHost)
	}
	if s.MaxBody < 0 {
		fault("longest body: %d is negative; 0 means the crawl's", s.MaxBody)
	}
	return faults
}

// checkField checks a field by RFC 9110, section 5: a name is a token, and no value can end a header.
func checkField(f HeaderField, forbidden string) error {
	if f.Name == "" {
		return errors.New("the name is empty")
	}
	for i := range len(f.Name) {
		if c := f.Name[i]; c <= ' ' || c > '~' || strings.IndexByte(`"(),/:;<=>?@[\]{}`, c) >= 0 {
			return fmt.Errorf("the name has %q, which no name may have", c)
		}
	}
	if f.Value != strings.TrimSpace(f.Value) {
		return errors.New("the value begins or ends with a space, which servers ignore")
	}
	return checkValue(f.Value, forbidden)
}

// checkValue says where a text has a control byte or one of forbidden, without showing the text.
func checkValue(s, forbidden string) error {
	for i := range len(s) {
		if c := s[i]; c < ' ' || c == 0x7f || strings.IndexByte(forbidden, c) >= 0 {
			return fmt.Errorf("byte %d of the value is %q, which no value may have", i+1, c)
		}
	}
	return nil
}
