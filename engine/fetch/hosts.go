// SPDX-License-Identifier: Apache-2.0

package fetch

import (
	"bufio"
	"fmt"
	"net/netip"
	"os"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/seine-crawler/seine/storage/urlkey"
)

// Hosts maps names, in lower case and without a final dot, to addresses. These names are never looked up in DNS.
type Hosts map[string][]netip.Addr

// onLoopback reports whether a name has addresses, and all of them are loopback.
func (h Hosts) onLoopback(name string) bool {
	addrs := h[name]
	away := func(a netip.Addr) bool { return !a.Unmap().IsLoopback() }
	return len(addrs) > 0 && !slices.ContainsFunc(addrs, away)
}

// LoadHosts reads a hosts(5) file: lines of an address and names, '#' begins a comment. A name may have several
// lines. The error names the file and the line.
func LoadHosts(path string) (Hosts, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("opening the hosts file: %w", err)
	}
	defer f.Close()
	hosts := Hosts{}
	sc := bufio.NewScanner(f)
	for n := 1; sc.Scan(); n++ {
		line, _, _ := strings.Cut(strings.TrimPrefix(sc.Text(), "\ufeff"), "#") // editors of Windows begin files so
		words := strings.Fields(line)
		if len(words) == 0 {
			continue
		}
		addr, err := netip.ParseAddr(words[0])
		if err != nil || len(words) < 2 {
			return nil, fmt.Errorf("hosts file %s, line %d: want an IP address and names, not %q", path, n, sc.Text())
		}
		for _, name := range words[1:] {
			name = strings.ToLower(strings.TrimSuffix(name, "."))
			if strings.ContainsFunc(name, func(r rune) bool { return r >= utf8.RuneSelf }) {
				u, err := urlkey.Parse("http://" + name + "/")
				if err != nil {
					return nil, fmt.Errorf("hosts file %s, line %d: %q: %w", path, n, name, err)
				}
				name = u.Host()
			}
			hosts[name] = append(hosts[name], addr)
		}
	}
	if err := sc.Err(); err != nil {
		return nil, fmt.Errorf("reading the hosts file %s: %w", path, err)
	}
	return hosts, nil
}
