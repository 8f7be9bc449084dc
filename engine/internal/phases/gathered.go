// SPDX-License-Identifier: Apache-2.0

package phases

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"math"
	"slices"

	"github.com/seine-crawler/seine/storage"
)

// gathered are links to one target from neighbouring pages, as the sorters of InvertLinks have them: with the score of
// the page of each text, since of too many texts those of the best pages are kept. Whoever gathers links sees a part of
// the pages only, so scores go along until all parts are joined.
//
//	4 bytes   number of links
//	4 bytes   number of those that have a text
//	4 bytes   for each of these: the score of its page, a float32
//	…         the links, as storage.AppendInlinks has them
type gathered struct {
	links  int
	scores []byte
	list   []byte
	last   []byte // source of the last link that was added
}

const gatheredHead, scoreBytes = 8, 4

// readGathered reads an encoding, of which it keeps slices.
func readGathered(b []byte) gathered {
	links, texts := binary.LittleEndian.Uint32(b), binary.LittleEndian.Uint32(b[4:])
	at := gatheredHead + int(texts)*scoreBytes
	return gathered{links: int(links), scores: b[gatheredHead:at:at], list: b[at:]}
}

// texts is the number of links that have a text.
func (g *gathered) texts() int { return len(g.scores) / scoreBytes }

// room is the memory that it has, in use or not.
func (g *gathered) room() int64 { return int64(cap(g.scores) + cap(g.list) + cap(g.last)) }

// reset empties it.
func (g *gathered) reset() {
	*g = gathered{scores: g.scores[:0], list: storage.AppendInlinks(g.list[:0], nil), last: g.last[:0]}
}

// add adds a link. Sources must not decrease.
func (g *gathered) add(source, anchor []byte, score float32) {
	g.list = storage.AppendInlink(g.list, g.last, source, anchor)
	g.last = append(g.last[:0], source...)
	g.links++
	if len(anchor) > 0 {
		g.scores = binary.LittleEndian.AppendUint32(g.scores, math.Float32bits(score))
	}
}

// append appends the encoding.
func (g *gathered) append(dst []byte) []byte {
	return append(append(appendGatheredHead(dst, g.links, g.texts()), g.scores...), g.list...)
}

func appendGatheredHead(dst []byte, links, texts int) []byte {
	return binary.LittleEndian.AppendUint32(binary.LittleEndian.AppendUint32(dst, uint32(links)), uint32(texts))
}

// first returns its first links.
func (g gathered) first(links int) gathered {
	list, texts := storage.FirstInlinks(g.list, links), 0
	_ = storage.VisitInlinks(list, func(_, anchor []byte) bool { // a damaged list stays so, for its readers to find
		if len(anchor) > 0 {
			texts++
		}
		return true
	})
	return gathered{links: links, scores: g.scores[:texts*scoreBytes], list: list}
}

// gather makes it what parts have, of later and later pages, with at most most texts: those of the pages with the best
// scores, of equal ones the first. Of a page that has none of its texts left, one link stays without a text. It ends
// with the link that comes to so many bytes.
func (g *gathered) gather(most, bytesMost int, parts ...*gathered) error {
	var scores []float32
	for _, part := range parts {
		for b := part.scores; len(b) > 0; b = b[scoreBytes:] {
			scores = append(scores, math.Float32frombits(binary.LittleEndian.Uint32(b)))
		}
	}
	keeps := bestOf(scores, most)
	g.reset()
	var page []byte
	n, bare := 0, false // bare: no link of the page was added
	end := func() {
		if bare {
			g.add(page, nil, 0)
		}
	}
	for _, part := range parts {
		err := storage.VisitInlinks(part.list, func(from, anchor []byte) bool {
			if len(g.list) >= bytesMost {
				bare = false
				return false
			}
			if !bytes.Equal(from, page) {
				end()
				page, bare = append(page[:0], from...), true
			}
			if len(anchor) == 0 {
				return true
			}
			if keeps[n] {
				g.add(page, anchor, scores[n])
				bare = false
			}
			n++
			return true
		})
		if err != nil {
			return err
		}
	}
	end()
	return nil
}

// bestOf tells which scores are the most best ones, of equal ones the first.
func bestOf(scores []float32, most int) []bool {
	order, best := make([]int, len(scores)), make([]bool, len(scores))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(scores[b], scores[a]) })
	for _, i := range order[:min(most, len(order))] {
		best[i] = true
	}
	return best
}

// foldInlinks joins two lists of one target, the later one having the later sources. Past most texts those of the pages
// with the best scores stay, past rowLinksMax and so many bytes the first links.
func foldInlinks(most, bytesMost int) func(dst, a, b []byte) []byte {
	return func(dst, a, b []byte) []byte {
		x, y := readGathered(a), readGathered(b)
		if len(x.list) >= bytesMost {
			return append(dst, a...)
		}
		if room := max(rowLinksMax-x.links, 0); y.links > room {
			y = y.first(room)
		}
		var best gathered
		more := x.texts()+y.texts() > most || len(x.list)+len(y.list) > bytesMost
		if more && best.gather(most, bytesMost, &x, &y) == nil {
			return best.append(dst)
		} // a damaged list stays as it is, for its readers to find
		dst = appendGatheredHead(dst, x.links+y.links, x.texts()+y.texts())
		dst = append(append(append(dst, x.scores...), y.scores...), x.list...)
		return storage.JoinInlinks(dst, y.list)
	}
}
