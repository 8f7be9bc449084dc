// SPDX-License-Identifier: Apache-2.0

package inspect

import (
	"context"
	"fmt"
	"iter"
	"strings"

	"github.com/seine-crawler/seine/storage"
	"github.com/seine-crawler/seine/storage/urlkey"
)

// Host is what hostdb has of a host.
type Host struct {
	Key    urlkey.HostKey
	Counts storage.HostCounts
	// Authorities are the schemes whose robots.txt was requested, http before https.
	Authorities []Authority
	// State is what visits learned of the host, whatever the scheme.
	State storage.HostFacts
}

// Authority is what is known of a scheme on a host.
type Authority struct {
	Scheme string
	Facts  storage.HostFacts
}

// URLs is the number of the host's URLs in crawldb.
func (h *Host) URLs() uint64 { return totalURLs(&h.Counts) }

func totalURLs(c *storage.HostCounts) (n uint64) {
	for _, m := range c.ByStatus {
		n += uint64(m)
	}
	return n
}

// Host returns one host. Where it is not in hostdb, the error wraps ErrNotFound.
func (in *Inspect) Host(key urlkey.HostKey) (Host, error) {
	h := Host{Key: key}
	ok, err := in.env.Store.HostCounts(key, &h.Counts)
	if err == nil && !ok {
		err = ErrNotFound
		if with := in.WithPort(key); with != "" {
			err = fmt.Errorf("%w; known is %s", err, with)
		}
	}
	if err != nil {
		return h, fmt.Errorf("looking up host %s in hostdb: %w", key, err)
	}
	return h, in.learned(&h)
}

// learned fills in what visits learned of a host.
func (in *Inspect) learned(h *Host) (err error) {
	if h.Authorities, err = in.authorities(h.Key); err != nil {
		return err
	}
	if _, err := in.env.Store.HostFacts(storage.HostStateKey(h.Key), &h.State); err != nil {
		return fmt.Errorf("hostdb facts of %s: %w", h.Key, err)
	}
	return nil
}

// WithPort names the first hosts in hostdb of the same name as a host without a port: "localhost:8000, localhost:8080";
// "" if there are none.
func (in *Inspect) WithPort(key urlkey.HostKey) string { return strings.Join(in.Ports(key), ", ") }

// Ports returns the names of these hosts.
func (in *Inspect) Ports(key urlkey.HostKey) []string {
	name := strings.TrimSuffix(string(key), ")")
	sc := in.env.Store.Scan(storage.HostCountsRange(), []byte(name+":"), []byte(name+";"))
	defer sc.Close()
	var names []string
	for len(names) < withPortShown && sc.Next() {
		names = append(names, urlkey.HostKey(sc.Key()).String())
	}
	return names
}

// Hosts streams the hosts behind one ("": all) in key order. Their authorities are read as they are reached. What the
// counts of a host refer to is valid until the next step.
func (in *Inspect) Hosts(ctx context.Context, after urlkey.HostKey) iter.Seq2[Host, error] {
	return func(yield func(Host, error) bool) {
		for e, err := range in.hostCounts(ctx, after) {
			var h Host
			if err == nil {
				h.Key, h.Counts = urlkey.HostKey(e.key), *e.value
				err = in.learned(&h)
			}
			if !yield(h, err) || err != nil {
				return
			}
		}
	}
}

// TopHosts returns the n hosts with the most of what count returns, nil: with the most URLs, most first; of equal ones
// those with the lesser key come first.
func (in *Inspect) TopHosts(ctx context.Context, n int, count func(*storage.HostCounts) uint64) ([]Host, error) {
	if count == nil {
		count = totalURLs
	}
	best := best{limit: n}
	for e, err := range in.hostCounts(ctx, "") {
		if err != nil {
			return nil, err
		}
		best.offer(e.key, float64(count(e.value)), 0)
	}
	var list []Host
	for _, x := range best.sorted() {
		h, err := in.Host(urlkey.HostKey(x.key))
		if err != nil {
			return nil, err
		}
		list = append(list, h)
	}
	return list, nil
}

func (in *Inspect) hostCounts(
	ctx context.Context, after urlkey.HostKey,
) iter.Seq2[entry[storage.HostCounts], error] {
	var from []byte
	if after != "" {
		from = append([]byte(after), 0)
	}
	return scan(ctx, in.env.Store, storage.HostCountsRange(), from, nil, storage.DecodeHostCounts)
}

func (in *Inspect) authorities(host urlkey.HostKey) (list []Authority, err error) {
	for _, scheme := range []string{"http", "https"} {
		a := Authority{Scheme: scheme}
		ok, err := in.env.Store.HostFacts(storage.AuthorityKey(host, scheme), &a.Facts)
		if err != nil {
			return nil, fmt.Errorf("hostdb facts of %s, %s: %w", host, scheme, err)
		}
		if ok && a.Facts.RobotsStatus != 0 {
			list = append(list, a)
		}
	}
	return list, nil
}
