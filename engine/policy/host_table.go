// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"net/textproto"
	"slices"
	"strconv"
	"strings"

	"github.com/zeebo/xxh3"

	"github.com/seine-crawler/seine/storage/urlkey"
)

// HostTable is a HostPolicy of a table. It is immutable; a lookup costs at most two map accesses for each label of the
// host, twice that for a host with a port.
type HostTable struct {
	hosts   map[hostEntry]*HostSettings // exact
	domains map[hostEntry]*HostSettings // with all hosts below
	sum     uint64                      // see Fingerprint
}

// hostEntry is the host of an entry as a HostKey spells it: "com,example," and ":8080" or "".
type hostEntry struct{ labels, port string }

// NewHostTable makes a table of entries by host:
//
//	"www.example.com"        that host, on every port
//	"www.example.com:8080"   that host, on that port only
//	"*.example.com"          example.com and all hosts below it
//	"*.example.com:8080"     the same, on that port only
//
// The most specific entry holds, alone: a host before a domain, a longer domain before a shorter one, then an entry
// with a port before one without.
//
// The error lists every fault with its entry and field; it never shows a password or the value of a header or cookie.
// Later changes to entries have no effect on the table.
func NewHostTable(entries map[string]HostSettings) (*HostTable, error) {
	t := &HostTable{hosts: map[hostEntry]*HostSettings{}, domains: map[hostEntry]*HostSettings{}}
	var faults []error
	for _, name := range slices.Sorted(maps.Keys(entries)) {
		for _, err := range t.add(name, entries[name]) {
			faults = append(faults, fmt.Errorf("settings of host %q: %w", name, err))
		}
	}
	if len(faults) > 0 {
		return nil, errors.Join(faults...)
	}
	return t, nil
}

// add returns every fault of an entry, and adds it if there is none.
func (t *HostTable) add(name string, s HostSettings) []error {
	faults := s.check()
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
	s.Header, s.Cookies = slices.Clone(s.Header), slices.Clone(s.Cookies)
	if s.Scope != nil {
		scope := *s.Scope
		s.Scope = &scope
	}
	table[entry] = &s
	t.sum += s.hash(entry, below)
	return nil
}

// hash is a hash of an entry. Texts are hashed with their lengths, so that different entries differ.
func (s *HostSettings) hash(e hostEntry, below bool) uint64 {
	var b []byte
	text := func(list ...string) {
		for _, t := range list {
			b = append(binary.AppendUvarint(b, uint64(len(t))), t...)
		}
	}
	text(e.labels, e.port, s.Username, s.Password)
	for _, fields := range [][]HeaderField{s.Header, s.Cookies} {
		b = binary.AppendUvarint(b, uint64(len(fields)))
		for _, f := range fields {
			text(f.Name, f.Value)
		}
	}
	for _, n := range []int64{int64(s.Delay), s.MaxPages, s.MaxBytes, int64(s.MaxTime)} {
		b = binary.AppendVarint(b, n)
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

// Settings returns the settings of the most specific entry for a host, nil if there is none. The caller must not
// change them.
func (t *HostTable) Settings(h urlkey.HostKey) *HostSettings {
	e := splitHostKey(h)
	if s := e.in(t.hosts); s != nil {
		return s
	}
	if len(t.domains) == 0 {
		return nil
	}
	for e.labels != "" {
		if s := e.in(t.domains); s != nil {
			return s
		}
		e.labels = e.labels[:strings.LastIndexByte(e.labels[:len(e.labels)-1], ',')+1]
	}
	return nil
}

// in returns the settings under an entry's port, or else under every port.
func (e hostEntry) in(table map[hostEntry]*HostSettings) *HostSettings {
	if e.port != "" {
		if s := table[e]; s != nil {
			return s
		}
	}
	return table[hostEntry{labels: e.labels}]
}

// Fingerprint identifies the table: equal entries, whatever their order, have the same fingerprint in every process.
// Secrets are part of it, so it must not be shown to those who may not see them. Any goroutine may call it.
func (t *HostTable) Fingerprint() uint64 { return t.sum }

// String says how many entries the table has.
func (t *HostTable) String() string {
	return fmt.Sprintf("settings of %d hosts and %d domains", len(t.hosts), len(t.domains))
}

// ownHeaders are header fields that the fetcher sets itself, or that would change what a response means, each with the
// reason for the error. Names are in canonical form.
var ownHeaders = map[string]string{
	"Host":                "it follows from the URL",
	"User-Agent":          "one crawl has one name, which robots.txt rules are for",
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
	"Cookie":              "use Cookies",
}

// check returns every fault of the settings, without secrets.
func (s *HostSettings) check() (faults []error) {
	fault := func(format string, args ...any) { faults = append(faults, fmt.Errorf(format, args...)) }
	for _, f := range s.Header {
		if err := checkField(f, ""); err != nil {
			fault("Header %q: %w", f.Name, err)
		}
		if why := ownHeaders[textproto.CanonicalMIMEHeaderKey(f.Name)]; why != "" {
			fault("Header %q cannot be set: %s", f.Name, why)
		}
		if strings.EqualFold(f.Name, "Authorization") && s.hasAuth() {
			fault("Header %q: Username and Password set it, too; leave out one of them", f.Name)
		}
	}
	for _, f := range s.Cookies {
		if err := checkField(f, ";"); err != nil {
			fault("Cookies %q: %w", f.Name, err)
		}
	}
	if strings.Contains(s.Username, ":") {
		fault("Username: basic authentication allows no colon in it")
	}
	if err := checkValue(s.Username, ""); err != nil {
		fault("Username: %w", err)
	}
	if err := checkValue(s.Password, ""); err != nil {
		fault("Password: %w", err)
	}
	if s.Scope != nil && int(*s.Scope) >= len(scopeNames) {
		fault("Scope: %d is not a scope", uint8(*s.Scope))
	}
	if s.MaxPages < 0 {
		fault("MaxPages: %d is negative; 0 means the crawl's", s.MaxPages)
	}
	if s.MaxBytes < 0 {
		fault("MaxBytes: %d is negative; 0 means the crawl's", s.MaxBytes)
	}
	if s.MaxTime < 0 {
		fault("MaxTime: %s is negative; 0 means the crawl's", s.MaxTime)
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
