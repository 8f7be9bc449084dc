// SPDX-License-Identifier: Apache-2.0

package writers

import (
	"context"
	"errors"
	"net/url"

	"github.com/seine-crawler/seine/engine/policy"
)

// item is an encoded change.
type item struct {
	change int    // its place in the changes of the write
	id     string // for errors
	text   []byte // as the request has it; nil: a deletion that the request has elsewhere
	delete bool
	clause []byte // Solr: the query of a deletion
}

func (it *item) size() int { return len(it.text) + len(it.clause) }

// sender sends items in requests of a bounded size.
type sender struct {
	client *client
	limit  int // bytes of a request; lower after the server refused a size
	// send makes one request until all of its items are accepted or refused.
	send    func(ctx context.Context, items []item) error
	refused []policy.IndexRefusal // of the write under way
}

// connect makes the sender one to base. send is as in sender.
func (s *sender) connect(base *url.URL, l login, compress bool, send func(context.Context, []item) error) (err error) {
	s.limit, s.send = requestBytes, send
	s.client, err = newClient(base, l, compress)
	return err
}

// write sends items and returns what was refused.
func (s *sender) write(ctx context.Context, items []item) ([]policy.IndexRefusal, error) {
	s.refused = nil
	for len(items) > 0 {
		n, size := 1, items[0].size()
		for n < len(items) && size+items[n].size() <= s.limit {
			size += items[n].size()
			n++
		}
		if err := s.group(ctx, items[:n]); err != nil {
			return s.refused, err
		}
		items = items[n:]
	}
	return s.refused, nil
}

// group sends items together, or if they are too large for the server in halves.
func (s *sender) group(ctx context.Context, items []item) error {
	err := s.send(ctx, items)
	if !errors.Is(err, errTooLarge) {
		return err
	}
	if len(items) == 1 {
		s.refuse(&items[0], err.Error())
		return nil
	}
	size := 0
	for i := range items {
		size += items[i].size()
	}
	s.limit = min(s.limit, size/2)
	half := len(items) / 2
	if err := s.group(ctx, items[:half]); err != nil {
		return err
	}
	return s.group(ctx, items[half:])
}

// refuse notes that an item will never succeed.
func (s *sender) refuse(it *item, reason string) {
	s.refused = append(s.refused, policy.IndexRefusal{Change: it.change, Reason: shortened(reason)})
}
