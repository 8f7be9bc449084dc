// SPDX-License-Identifier: Apache-2.0

package segment

import (
	"slices"
	"sync"

	"github.com/seine-crawler/seine/storage"
	"github.com/seine-crawler/seine/storage/urlkey"
	"github.com/seine-crawler/seine/storage/warc"
)

// Stored is an outcome that is durable.
type Stored struct {
	URL     urlkey.URL
	Outcome storage.FetchOutcome // without its links
	Digest  [20]byte             // SHA-1 of the payload; zero without a response
}

// noted is what a process remembers of the fetches in a segment that is not sealed: of each, 16 bytes. That is enough
// to answer whether a URL is in it, and where; what is there is read from the WARC, as recovery would. Tried on paper
// and dropped: a search in the sorters of parse records, which needs nothing more in memory. What they have spilled is
// slow to search, sealing holds their lock for as long as it takes, and with Env.ParseLater they are empty.
type noted struct {
	mu      sync.Mutex // guards all below
	pending []Stored   // appended to the WARC since the last sync
	hashes  []uint64   // of the keys of all URLs in the segment
	// places are where their records are: a number of files and an offset. The first durable ones are synced. Elements
	// never change, so who has a slice of them needs no lock.
	places  []place
	files   []string
	durable int
}

// place is where a record is: the number of its file, and its offset there.
type place uint64

// A place has offsetBits for the offset. What is beyond, in a file of more than a terabyte or after 16 million files of
// one segment, is found once it is sealed.
const (
	offsetBits = 40
	nowhere    = ^place(0)
)

// add notes a record that was appended. n.mu is held.
func (n *noted) add(hash uint64, at warc.Location) {
	n.hashes = append(n.hashes, hash)
	n.places = append(n.places, n.placeOf(at))
}

func (n *noted) placeOf(at warc.Location) place {
	// Files follow one another. Of a few pages that are parsed for long the file is the one before the last.
	i := len(n.files) - 1
	for i >= 0 && n.files[i] != at.File {
		i--
	}
	if i < 0 {
		i = len(n.files)
		n.files = append(n.files, at.File)
	}
	if i >= 1<<(64-offsetBits)-1 || at.Offset >= 1<<offsetBits {
		return nowhere
	}
	return place(i)<<offsetBits | place(at.Offset)
}

// synced says that the first records are durable.
func (n *noted) synced(records int) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.durable = max(n.durable, records)
}

// find returns where the durable records of a URL are, oldest first, at most unsealedMax of them: the newest. It waits
// for nobody who stores: of a million pages it takes half a millisecond.
func (n *noted) find(hash uint64) (at []warc.Location) {
	n.mu.Lock()
	hashes, places, files := n.hashes[:n.durable], n.places[:n.durable], n.files
	n.mu.Unlock()
	for i, h := range hashes {
		if p := places[i]; h == hash && p != nowhere {
			at = append(at, warc.Location{File: files[p>>offsetBits], Offset: int64(p & (1<<offsetBits - 1))})
		}
	}
	return at[max(len(at)-unsealedMax, 0):]
}

// unsealedMax bounds the fetches of one URL that are read from one segment. There is one, as a URL is not handed out
// again before crawldb has its outcome; a process that was killed may have left one more each time.
const unsealedMax = 16

// all returns where the durable records are, by file, in order.
func (n *noted) all() map[string][]int64 {
	n.mu.Lock()
	places, files := slices.Clone(n.places[:n.durable]), n.files
	n.mu.Unlock()
	slices.Sort(places)
	by := map[string][]int64{}
	for _, p := range places {
		if p != nowhere {
			by[files[p>>offsetBits]] = append(by[files[p>>offsetBits]], int64(p&(1<<offsetBits-1)))
		}
	}
	return by
}
