// SPDX-License-Identifier: Apache-2.0

package urlkey

import (
	"bytes"
	"strconv"
	"strings"
)

// Key is the sort key of a canonical URL (SURT order):
//
//	https://docs.python.org/3/library/      org,python,docs,)/3/library/ https
//	http://example.com:8080/a?b             com,example,:8080)/a?b http
//	http://127.0.0.1/                       127.0.0.1,)/ http
//
// A key consists of the host labels in reverse order, each ended by ','; ":PORT" if the URL contains a
// port; ')'; path and query; a space and the scheme. No label contains ',' ')' ':' or ' '. So all keys of
// a host share one prefix, which is no prefix of another host's; the keys of a registered domain share a
// prefix too; and the http and https forms of a page are neighbours. All bytes are printable. The zero
// Key is invalid.
type Key string

// HostKey is the common prefix of a host's keys, "org,python,docs,)" or "com,example,:8080)". http and
// https on their default ports share it: to the frontier they are one host. The zero HostKey is invalid.
type HostKey string

// Key returns the URL's sort key. The URL must not be zero; that holds for all methods that build keys.
func (u URL) Key() Key {
	var buf [256]byte
	return Key(u.AppendKey(buf[:0]))
}

// AppendKey appends the URL's sort key to dst.
func (u URL) AppendKey(dst []byte) []byte {
	dst = u.appendHostKey(dst)
	dst = append(dst, u.s[u.at.pathAt():]...)
	dst = append(dst, ' ')
	return append(dst, u.Scheme()...)
}

// KeyPrefix returns what the keys of the URLs begin with, and end with, that begin with a text such as
// "https://docs.python.org/3/".
func KeyPrefix(text string) (begin, end string, err error) {
	u, err := Parse(text)
	if err != nil {
		return "", "", err
	}
	key := string(u.Key())
	at := strings.LastIndexByte(key, ' ')
	return key[:at], key[at:], nil
}

// KeyMemo builds keys of many URLs and caches their host parts: most links of a page lead to its own host, and
// the others to few hosts. The zero value is ready. It belongs to one goroutine at a time.
type KeyMemo struct {
	authority string // of the last URL
	host      []byte // its host key: a part of hosts, or long
	hosts     [64]struct {
		authority, key [48]byte
		n, keyLen      uint8
	}
	long []byte // a host key that is not in hosts
}

// AppendKey appends the sort key of u to dst.
func (m *KeyMemo) AppendKey(dst []byte, u URL) []byte {
	if a := u.Authority(); a != m.authority {
		m.authority, m.host = a, m.hostKey(u, a)
	}
	dst = append(dst, m.host...)
	dst = append(dst, u.s[u.at.pathAt():]...)
	if u.at.secure() {
		return append(dst, " https"...)
	}
	return append(dst, " http"...)
}

// hostKey returns the host part of the key.
func (m *KeyMemo) hostKey(u URL, authority string) []byte {
	h := &m.hosts[slot(authority)]
	if string(h.authority[:h.n]) == authority {
		return h.key[:h.keyLen]
	}
	m.long = u.appendHostKey(m.long[:0])
	if len(authority) > len(h.authority) || len(m.long) > len(h.key) {
		return m.long
	}
	h.n, h.keyLen = uint8(copy(h.authority[:], authority)), uint8(copy(h.key[:], m.long))
	return h.key[:h.keyLen]
}

// HostKey returns the key of the URL's host.
func (u URL) HostKey() HostKey {
	var buf [256]byte
	return HostKey(u.appendHostKey(buf[:0]))
}

func (u URL) appendHostKey(dst []byte) []byte {
	dst = appendReversed(dst, u.Host())
	dst = append(dst, u.s[u.at.hostEnd():u.at.pathAt()]...) // ":port" or nothing
	return append(dst, ')')
}

// appendReversed appends a host's labels in reverse order; an address is one label.
func appendReversed(dst []byte, host string) []byte {
	if last := host[len(host)-1]; last == ']' || '0' <= last && last <= '9' && endsInNumber(host) {
		return append(append(dst, host...), ',')
	}
	plain := strings.IndexByte(host, ',') < 0 && strings.IndexByte(host, ')') < 0
	for end := len(host); end > 0; {
		dot := strings.LastIndexByte(host[:end], '.')
		if plain {
			dst = append(dst, host[dot+1:end]...)
		} else {
			dst = appendLabel(dst, host[dot+1:end])
		}
		dst = append(dst, ',')
		if end = dot; dot == 0 {
			dst = append(dst, ',') // an empty label in front
		}
	}
	return dst
}

// appendLabel appends a label. No name in DNS has ',' or ')', but a URL's host may. They are escaped, because a
// key uses them as separators.
func appendLabel(dst []byte, label string) []byte {
	for i := range len(label) {
		switch label[i] {
		case ',':
			dst = append(dst, "%2C"...)
		case ')':
			dst = append(dst, "%29"...)
		default:
			dst = append(dst, label[i])
		}
	}
	return dst
}

// HostKeyOf returns the host prefix of a key, as a slice of it. It is empty if key contains no ')'.
func HostKeyOf(key []byte) []byte {
	return key[:bytes.IndexByte(key, ')')+1]
}

// SchemeOf returns the scheme of a key's URL, "http" or "https".
func SchemeOf(key []byte) string {
	if bytes.HasSuffix(key, []byte(" https")) {
		return "https"
	}
	return "http"
}

// HostKey returns the key's host prefix; "" if k is no key.
func (k Key) HostKey() HostKey { return HostKey(k[:strings.IndexByte(string(k), ')')+1]) }

// URL returns the URL of a key. It checks only the form of the key, like AppendURL. The error is an *Error.
func (k Key) URL() (URL, error) {
	var buf [512]byte
	s, err := AppendURL(buf[:0], []byte(k))
	if err != nil {
		return URL{}, err
	}
	return index(string(s)), nil
}

// AppendURL appends the canonical spelling of a key's URL to dst. It checks the form of the key, not the
// rules for each part: keys come from the store, whose blocks are checksummed. The error is an *Error.
func AppendURL(dst, key []byte) ([]byte, error) {
	paren, space, err := cutKey(key)
	if err != nil {
		return dst, err
	}
	dst = append(append(dst, key[space+1:]...), "://"...)
	var ok bool
	if dst, ok = appendHostOf(dst, key[:paren]); !ok {
		return dst, fail(string(key), "not a key: host")
	}
	return append(dst, key[paren+1:space]...), nil
}

// cutKey finds the ')' behind the host of a key and the space before its scheme.
func cutKey(key []byte) (paren, space int, err error) {
	paren = bytes.IndexByte(key, ')')
	space = bytes.LastIndexByte(key, ' ')
	if paren < 2 || space < paren+2 || key[paren+1] != '/' || len(key) > 4*MaxLength {
		return 0, 0, fail(string(key), "not a key")
	}
	if scheme := key[space+1:]; string(scheme) != "http" && string(scheme) != "https" {
		return 0, 0, fail(string(key), "not a key: scheme")
	}
	return paren, space, nil
}

// URLMemo spells the URLs of many keys, and remembers the last host: in the order of keys, those of a host are
// neighbours. The zero value is ready. It belongs to one goroutine at a time.
type URLMemo struct{ key, host []byte }

// AppendURL is the function AppendURL.
func (m *URLMemo) AppendURL(dst, key []byte) ([]byte, error) {
	paren, space, err := cutKey(key)
	if err != nil {
		return dst, err
	}
	if !bytes.Equal(m.key, key[:paren]) {
		host, ok := appendHostOf(m.host[:0], key[:paren])
		if !ok {
			m.key = m.key[:0]
			return dst, fail(string(key), "not a key: host")
		}
		m.key, m.host = append(m.key[:0], key[:paren]...), host
	}
	dst = append(append(dst, key[space+1:]...), "://"...)
	return append(append(dst, m.host...), key[paren+1:space]...), nil
}

// appendHostOf appends host[:port] of a host key k, given without its ')'.
func appendHostOf(dst, k []byte) ([]byte, bool) {
	comma := bytes.LastIndexByte(k, ',')
	if comma < 1 {
		return dst, false
	}
	port, labels := k[comma+1:], k[:comma]
	for end := len(labels); ; {
		at := bytes.LastIndexByte(labels[:end], ',')
		dst = appendUnescaped(dst, labels[at+1:end])
		if at < 0 {
			break
		}
		dst = append(dst, '.')
		end = at
	}
	if len(port) > 0 {
		if _, err := strconv.ParseUint(string(port[1:]), 10, 16); err != nil || port[0] != ':' {
			return dst, false
		}
	}
	return append(dst, port...), true
}

// appendUnescaped is the inverse of appendLabel; hosts contain no other '%'.
func appendUnescaped(dst, label []byte) []byte {
	if bytes.IndexByte(label, '%') < 0 {
		return append(dst, label...)
	}
	label = bytes.ReplaceAll(label, []byte("%2C"), []byte{','})
	return append(dst, bytes.ReplaceAll(label, []byte("%29"), []byte{')'})...)
}

// String returns "host" or "host:port"; h itself if it is no host key.
func (h HostKey) String() string {
	var buf [128]byte
	s, ok := appendHostOf(buf[:0], []byte(strings.TrimSuffix(string(h), ")")))
	if !ok {
		return string(h)
	}
	return string(s)
}

// Host returns the host without its port.
func (h HostKey) Host() string {
	s := h.String()
	if colon := strings.LastIndexByte(s, ':'); colon > strings.LastIndexByte(s, ']') {
		return s[:colon]
	}
	return s
}

// ParseHost returns the host key of "host" or "host:port" as people write it. Port 80 is the default; 443
// is kept as a port. The error is an *Error.
func ParseHost(s string) (HostKey, error) {
	u, err := Parse("http://" + s + "/")
	if err != nil {
		return "", err
	}
	if u.Path() != "/" || u.RequestTarget() != "/" {
		return "", fail(s, "not a host: write host or host:port")
	}
	return u.HostKey(), nil
}
