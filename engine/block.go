// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"errors"
	"fmt"
	"strings"

	"github.com/seine-crawler/seine/storage"
	"github.com/seine-crawler/seine/storage/urlkey"
)

// Block stops requests to hosts, those for robots.txt included, in every crawl and fetch of this data directory until
// Unblock. When it returns, the running crawl begins no more, and has cut off those under way. Nothing is deleted:
// records and documents of the host stay. Links to it are kept for Unblock, seeds of it are refused. A host is a name,
// with its port if that is not the scheme's own; its subdomains are hosts of their own. A text that is no host is an
// error, such as "*.example.com" (policy.DenyHosts refuses a domain), and then nothing is blocked. The block is durable
// when Block returns nil.
func (e *Engine) Block(hosts ...string) error {
	leave, err := e.enter()
	if err != nil {
		return err
	}
	defer leave()
	keys, err := hostKeys(hosts)
	if err != nil {
		return fmt.Errorf("blocking hosts: %w", err)
	}
	w := e.w
	if err := w.changeBlocked(keys, w.admission.WriteBlock, w.admission.Block); err != nil {
		return fmt.Errorf("blocking hosts: %w", err)
	}
	return e.change(func(_ *settings, f *fetching) error {
		if f != nil {
			f.pool.CutRefused()
		}
		return nil
	})
}

// Unblock ends Block for hosts; those that are not blocked are ignored. A running crawl fetches what of them is due,
// and what links found meanwhile; otherwise the next one does. Unblock waits for phases that decide what may be
// fetched, for some seconds mostly.
func (e *Engine) Unblock(hosts ...string) error {
	leave, err := e.enter()
	if err != nil {
		return err
	}
	defer leave()
	keys, err := hostKeys(hosts)
	if err != nil {
		return fmt.Errorf("unblocking hosts: %w", err)
	}
	w := e.w
	w.crawldbMu.Lock()
	defer w.crawldbMu.Unlock()
	if err := w.changeBlocked(keys, w.admission.WriteUnblock, w.admission.Unblock); err != nil {
		return fmt.Errorf("unblocking hosts: %w", err)
	}
	return e.change(func(_ *settings, f *fetching) error {
		if c := e.crawl.Load(); c != nil && f != nil { // at once: the crawl may be about to end
			c.tasks.readmit()
			f.frontier.WakeAll()
		}
		return nil
	})
}

// changeBlocked blocks hosts, or ends that, in the store and in memory: both in the same order.
func (w *work) changeBlocked(
	keys []urlkey.HostKey, write func(*storage.Batch, []urlkey.HostKey) error, note func([]urlkey.HostKey),
) error {
	w.blockMu.Lock()
	defer w.blockMu.Unlock()
	err := w.store.Apply(func(b *storage.Batch) error { return write(b, keys) })
	if err == nil {
		note(keys)
	}
	return err
}

// Blocked returns the hosts that are blocked, ordered by domain.
func (i *Inspector) Blocked() ([]string, error) {
	leave, err := i.g.enter()
	if err != nil {
		return nil, err
	}
	defer leave()
	var names []string
	for _, h := range i.w.admission.Blocked() {
		names = append(names, h.String())
	}
	return names, nil
}

// hostKeys parses names of hosts. The error has all that are none.
func hostKeys(hosts []string) (keys []urlkey.HostKey, err error) {
	for _, name := range hosts {
		h, bad := urlkey.ParseHost(name)
		if bad == nil && strings.Contains(string(h), "*") {
			bad = &urlkey.Error{URL: name, Reason: `not a host: "*" stands for many, which a filter of hosts refuses`}
		}
		if bad != nil {
			err = errors.Join(err, fmt.Errorf("host %q: %w", name, bad))
		}
		keys = append(keys, h)
	}
	return keys, err
}
