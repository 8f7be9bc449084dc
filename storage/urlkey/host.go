// SPDX-License-Identifier: Apache-2.0

package urlkey

import (
	"net/netip"
	"strconv"
	"strings"
	"unicode/utf8"

	"golang.org/x/net/idna"
)

// hostProfile is UTS #46 as the URL standard requires it: no transitional mapping, hyphens anywhere, bidi and
// joiner rules, no check of lengths.
var hostProfile = idna.New(
	idna.MapForLookup(), idna.Transitional(false), idna.CheckHyphens(false), idna.CheckJoiners(true),
	idna.BidiRule(), idna.StrictDomainName(false), idna.VerifyDNSLength(false))

// forbiddenHost are the bytes that a decoded host must not contain.
const forbiddenHost = "\x00\t\n\r #/:<>?@[\\]^|%\x7f"

// appendHost appends the canonical form of a host as written in a URL. reason is "" or what is wrong with it.
func appendHost(dst []byte, host string) (out []byte, reason string) {
	if host == "" {
		return dst, "no host"
	}
	if host[0] == '[' {
		return appendIPv6(dst, host)
	}
	if strings.IndexByte(host, '%') >= 0 {
		host = unescape(host)
	}
	name, ok := toASCII(host)
	if !ok {
		return dst, "host"
	}
	if n := len(name); n > 1 && name[n-1] == '.' && name[n-2] != '.' {
		name = name[:n-1] // the root label: one spelling for a name and its absolute form
	}
	unprintable := func(r rune) bool { return r <= ' ' || r > '~' }
	if name == "" || strings.ContainsAny(name, forbiddenHost) || strings.ContainsFunc(name, unprintable) {
		return dst, "host"
	}
	if endsInNumber(name) {
		addr, ok := parseIPv4(name)
		if !ok {
			return dst, "IPv4 address"
		}
		return addr.AppendTo(dst), ""
	}
	return append(dst, name...), ""
}

// toASCII applies UTS #46. It only lower-cases ASCII names, whatever their labels: the standard requires that
// since 2025, and DNS decides whether a name exists.
func toASCII(host string) (string, bool) {
	ascii := true
	for i := range len(host) {
		if host[i] >= utf8.RuneSelf {
			ascii = false
			break
		}
	}
	if ascii {
		return strings.ToLower(host), true
	}
	if longLabel(host) {
		return "", false
	}
	name, err := hostProfile.ToASCII(newerMappings.Replace(host))
	if err != nil || name == "" {
		return "", false
	}
	// Punycode in the input may decode to a name that UTS #46 does not map to itself.
	if again, err := hostProfile.ToASCII(name); err != nil || again != name {
		return "", false
	}
	// A label whose punycode decodes to plain ASCII would be a second name for another host.
	for label := range strings.SplitSeq(name, ".") {
		if !strings.HasPrefix(label, "xn--") {
			continue
		}
		decoded, err := idna.Punycode.ToUnicode(label)
		if err != nil || !strings.ContainsFunc(decoded, func(r rune) bool { return r >= utf8.RuneSelf }) {
			return "", false
		}
	}
	return name, true
}

// longLabel reports whether a label of a host has more than maxUnicodeLabel characters.
func longLabel(host string) bool {
	n := 0
	for _, r := range host {
		switch r {
		case '.', '\u3002', '\uff0e', '\uff61': // what UTS #46 takes for dots
			n = 0
		default:
			if n++; n > maxUnicodeLabel {
				return true
			}
		}
	}
	return false
}

// newerMappings are the mappings of UTS #46 revision 33 (Unicode 15.1 and 16) that x/net's tables lack.
var newerMappings = func() *strings.Replacer {
	pairs := []string{
		"\u1e9e", "\u00df", "\u04c0", "\u04cf", "\u2132", "\u214e", "\u2183", "\u2184",
		"\U0002f868", "\u36fc", "\U0002f874", "\u5f53", "\U0002f91f", "\U000243ab",
		"\U0002f95f", "\u7aee", "\U0002f9bf", "\u45d7",
	}
	for r := rune(0x10a0); r <= 0x10c5; r++ { // Georgian capitals
		pairs = append(pairs, string(r), string(r-0x10a0+0x2d00))
	}
	ignored := [][2]rune{
		{0x115f, 0x1160}, {0x17b4, 0x17b5}, {0x180e, 0x180e}, {0x206a, 0x206f},
		{0x3164, 0x3164}, {0xffa0, 0xffa0}, {0x1d173, 0x1d17a},
	}
	for _, span := range ignored {
		for r := span[0]; r <= span[1]; r++ {
			pairs = append(pairs, string(r), "")
		}
	}
	return strings.NewReplacer(pairs...)
}()

// unescape decodes percent-escapes; a '%' that begins none stays.
func unescape(s string) string {
	out := make([]byte, 0, len(s))
	for i := 0; i < len(s); i++ {
		if s[i] == '%' {
			if v, ok := unhex(s, i); ok {
				out = append(out, v)
				i += 2
				continue
			}
		}
		out = append(out, s[i])
	}
	return string(out)
}

// endsInNumber is the standard's test for hosts that must be IPv4 addresses.
func endsInNumber(host string) bool {
	last := host[strings.LastIndexByte(host, '.')+1:]
	if last == "" {
		return false
	}
	digits := true
	for i := range len(last) {
		digits = digits && '0' <= last[i] && last[i] <= '9'
	}
	if digits {
		return true
	}
	_, ok := ipv4Number(last)
	return ok
}

// ipv4Number parses a part of an IPv4 address: decimal, 0octal or 0xhex.
func ipv4Number(s string) (uint64, bool) {
	if s == "" {
		return 0, false
	}
	base := 10
	switch {
	case len(s) >= 2 && s[0] == '0' && s[1]|0x20 == 'x':
		s, base = s[2:], 16
	case len(s) >= 2 && s[0] == '0':
		s, base = s[1:], 8
	}
	if s == "" {
		return 0, true
	}
	for i := range len(s) { // ParseUint ignores what follows once a number is too large
		if v, ok := hexValue(s[i]); !ok || int(v) >= base {
			return 0, false
		}
	}
	n, err := strconv.ParseUint(s, base, 64)
	if err != nil {
		if e, ok := err.(*strconv.NumError); ok && e.Err == strconv.ErrRange {
			return 1 << 40, true // a number, but too large for any address
		}
		return 0, false
	}
	return n, true
}

// parseIPv4 parses the forms of IPv4 addresses that browsers accept: 127.1, 0x7f.1, 2130706433.
func parseIPv4(host string) (netip.Addr, bool) {
	parts := strings.Split(host, ".")
	if len(parts) > 4 {
		return netip.Addr{}, false
	}
	var v uint64
	for i, p := range parts {
		n, ok := ipv4Number(p)
		if !ok {
			return netip.Addr{}, false
		}
		if i == len(parts)-1 {
			bits := uint(8 * (5 - len(parts)))
			if n >= 1<<bits {
				return netip.Addr{}, false
			}
			v = v<<bits | n
		} else {
			if n > 255 {
				return netip.Addr{}, false
			}
			v = v<<8 | n
		}
	}
	return netip.AddrFrom4([4]byte{byte(v >> 24), byte(v >> 16), byte(v >> 8), byte(v)}), true
}

// appendIPv6 parses "[address]" and appends its shortest form, all in hexadecimal, as the standard serialises it.
func appendIPv6(dst []byte, host string) ([]byte, string) {
	if host[len(host)-1] != ']' || strings.Contains(host, "%") {
		return dst, "IPv6 address"
	}
	addr, err := netip.ParseAddr(host[1 : len(host)-1])
	if err != nil || !addr.Is6() {
		return dst, "IPv6 address"
	}
	dst = append(dst, '[')
	a := addr.As16()
	if addr.Is4In6() {
		// netip writes ::ffff:1.2.3.4; the standard uses no dots.
		dst = append(dst, "::ffff:"...)
		dst = strconv.AppendUint(dst, uint64(a[12])<<8|uint64(a[13]), 16)
		dst = append(dst, ':')
		dst = strconv.AppendUint(dst, uint64(a[14])<<8|uint64(a[15]), 16)
	} else {
		dst = addr.AppendTo(dst)
	}
	return append(dst, ']'), ""
}
