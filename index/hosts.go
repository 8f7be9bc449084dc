// SPDX-License-Identifier: Apache-2.0

package index

import (
	"encoding/binary"
	"fmt"
	"sort"
	"sync"

	"github.com/zeebo/xxh3"

	"github.com/seine-crawler/seine/storage"
	"github.com/seine-crawler/seine/storage/urlkey"
)

// hostTable are the hosts of an index segment. Documents are in the order of their keys, so a host is an interval of
// them. Hosts of several segments are compared by hashes of their keys: of ten million hosts, two have the same with a
// probability of 3 in a million.
type hostTable struct {
	first []uint32 // document of each host
	ids   []uint64 // hostID of each
}

func hostID(h urlkey.HostKey) uint64 { return xxh3.HashString(string(h)) }

// of returns the place of the host of a document.
func (t *hostTable) of(doc uint32) int {
	return sort.Search(len(t.first), func(i int) bool { return t.first[i] > doc }) - 1
}

// next is of for a document that is not before a given host: it looks at the hosts that follow it first.
func (t *hostTable) next(host int, doc uint32) int {
	step := 1
	for host+step < len(t.first) && t.first[host+step] <= doc {
		host += step
		step *= 2
	}
	behind := t.first[host:min(host+step, len(t.first))]
	return host + sort.Search(len(behind), func(i int) bool { return behind[i] > doc }) - 1
}

// interval returns the documents of a host, of docs in all: from (inclusive), to (exclusive).
func (t *hostTable) interval(i int, docs uint32) (from, to uint32) {
	if i+1 < len(t.first) {
		docs = t.first[i+1]
	}
	return t.first[i], docs
}

// hostTables is where a segment keeps its hostTable. The states that have the segment share it. Searches read it
// together, a block each at a time: none waits for another longer than that, and what one has read when its time is
// over the next need not.
type hostTables struct {
	mu    sync.Mutex
	table hostTable
	read  uint32 // documents whose hosts are in the table
}

// hosts returns the hosts of the segment, which the first calls read: nil if the budget is over.
func (seg *segment) hosts(rd storage.Reader, work *budget) (*hostTable, error) {
	var column columnBlock
	for {
		t, err := seg.readHosts(rd, &column)
		if t != nil || err != nil || !work.spend(valueUnits) {
			return t, err
		}
	}
}

// readHosts reads a block more of the hosts. It returns them once all are read; they change no more then.
func (seg *segment) readHosts(rd storage.Reader, column *columnBlock) (*hostTable, error) {
	h := seg.hostTables
	h.mu.Lock()
	defer h.mu.Unlock()
	t, from := &h.table, h.read
	if from >= seg.info.Docs {
		return t, nil
	}
	if err := seg.readColumn(rd, columnHost, from/normDocs, column); err != nil {
		return nil, err
	}
	first := t.first
	for i, host := range column.numbers {
		switch uint64(len(first)) {
		case host:
			first = append(first, from+uint32(i))
		case host + 1:
		default:
			return nil, fmt.Errorf("%w: index segment %d: document %d is of host %d, behind %d hosts",
				storage.ErrCorrupt, seg.number, from+uint32(i), host, len(first))
		}
	}
	if added := len(first) - len(t.first); added > 0 {
		key := columnKey(from/normDocs, columnHostName)
		names, _, err := rd.Get(storage.IndexSegmentRange(seg.number, kindColumns), key, nil)
		if err != nil {
			return nil, err
		}
		if len(names) != 8*added {
			return nil, fmt.Errorf("%w: index segment %d: %d hosts with names of %d bytes",
				storage.ErrCorrupt, seg.number, added, len(names))
		}
		for ; len(names) > 0; names = names[8:] {
			t.ids = append(t.ids, binary.LittleEndian.Uint64(names))
		}
	}
	t.first, h.read = first, from+uint32(len(column.numbers))
	return nil, nil
}
