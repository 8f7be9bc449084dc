// SPDX-License-Identifier: Apache-2.0

package simweb

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"slices"
	"sort"
	"strconv"
	"strings"
	"time"

	"github.com/klauspost/compress/gzip"
	"github.com/ulikunitz/xz"
)

// GraphOptions say how the nodes of a link graph become pages of hosts. The zero value is ready to use.
type GraphOptions struct {
	// Seed of the draws: sizes of hosts, titles and texts.
	Seed uint64
	// MeanPages is the mean number of pages of a host; sizes follow a power law, as in Params. 0: 100.
	MeanPages int
	// Paragraphs is the number of paragraphs of text on a page; 0: 3.
	Paragraphs int
}

// Graph serves a real link structure: every node is a page, every edge a link. LoadGraph and ReadGraph make one. Runs
// of consecutive nodes are a host each, which is close to the truth where nodes are numbered in the order of their
// URLs, as in published web graphs. It is immutable and safe for concurrent use, and takes 4 bytes for each edge and 8
// for each node. Nodes are numbered from 0 to Nodes()-1, hosts from 0 to Hosts()-1.
type Graph struct {
	o       GraphOptions
	names   hostNames
	starts  []uint32 // of each host its first node; one more at the end
	offsets []uint64 // of each node its first edge; one more at the end
	targets []uint32
	text    *rendition
	port    int
}

// LoadGraph reads a list of edges from a file, plain or compressed (.gz, .xz): two node numbers a line, separated by a
// tab or spaces. Lines that begin with # are skipped. Node numbers go from 0 to the greatest that occurs. The error
// names the line that cannot be read.
func LoadGraph(name string, o GraphOptions) (*Graph, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, fmt.Errorf("link graph: %w", err)
	}
	defer f.Close()
	var r io.Reader = bufio.NewReaderSize(f, 1<<20)
	switch {
	case strings.HasSuffix(name, ".gz"):
		r, err = gzip.NewReader(r)
	case strings.HasSuffix(name, ".xz"):
		r, err = xz.NewReader(r)
	}
	if err != nil {
		return nil, fmt.Errorf("link graph %s: %w", name, err)
	}
	g, err := ReadGraph(r, o)
	if err != nil {
		return nil, fmt.Errorf("link graph %s: %w", name, err)
	}
	return g, nil
}

// ReadGraph is LoadGraph from an uncompressed stream.
func ReadGraph(r io.Reader, o GraphOptions) (*Graph, error) {
	if o.MeanPages == 0 {
		o.MeanPages = 100
	}
	if o.Paragraphs == 0 {
		o.Paragraphs = 3
	}
	if o.MeanPages < 1 || o.Paragraphs < 0 {
		return nil, fmt.Errorf(
			"%d pages a host, %d paragraphs a page: want at least 1 and 0", o.MeanPages, o.Paragraphs,
		)
	}
	edges, nodes, err := readEdges(r)
	if err != nil {
		return nil, err
	}
	g := &Graph{
		o: o, text: newRendition(o.Seed, 0, utf8Charset),
		offsets: make([]uint64, nodes+1), targets: make([]uint32, len(edges)),
	}
	for i, e := range edges {
		g.offsets[e>>32+1]++
		g.targets[i] = uint32(e)
	}
	for i := range nodes {
		g.offsets[i+1] += g.offsets[i]
	}
	g.cut(nodes)
	if len(g.starts)-1 > maxHosts {
		return nil, fmt.Errorf("%d hosts are more than %d: let each have more pages", len(g.starts)-1, maxHosts)
	}
	g.names = newHostNames(len(g.starts)-1, 1)
	return g, nil
}

// readEdges returns the distinct edges in order; the upper half of each is the node that it comes from.
func readEdges(r io.Reader) (edges []uint64, nodes int, err error) {
	s := bufio.NewScanner(r)
	for line := 1; s.Scan(); line++ {
		text := s.Bytes()
		if len(text) == 0 || text[0] == '#' {
			continue
		}
		fields := strings.Fields(string(text))
		if len(fields) != 2 {
			return nil, 0, fmt.Errorf("line %d: %q: want two node numbers", line, text)
		}
		var e uint64
		for _, field := range fields {
			n, err := strconv.ParseUint(field, 10, 31)
			if err != nil {
				return nil, 0, fmt.Errorf("line %d: %q is no node number below 2^31", line, field)
			}
			nodes = max(nodes, int(n)+1)
			e = e<<32 | n
		}
		edges = append(edges, e)
	}
	if err := s.Err(); err != nil {
		return nil, 0, err
	}
	if len(edges) == 0 {
		return nil, 0, errors.New("there is no edge in it")
	}
	slices.Sort(edges)
	return slices.Compact(edges), nodes, nil
}

// cut draws the sizes of hosts until all nodes have one.
func (g *Graph) cut(nodes int) {
	most := float64(max(nodes/10, 1))
	low := smallestPages(float64(g.o.MeanPages), 1.8, most)
	r := newRNG(g.o.Seed, drawGraph, 0, 0)
	for at := 0; at < nodes; {
		g.starts = append(g.starts, uint32(at))
		at += max(int(powerLaw(low, 1.8, most, r.share())), 1)
	}
	g.starts = append(g.starts, uint32(nodes))
}

// Nodes returns the number of pages.
func (g *Graph) Nodes() int { return len(g.offsets) - 1 }

// Edges returns the number of links.
func (g *Graph) Edges() int { return len(g.targets) }

// Links returns the nodes that a node links to, in order. The slice belongs to the graph: it must not be changed.
func (g *Graph) Links(node int) []uint32 { return g.targets[g.offsets[node]:g.offsets[node+1]] }

// HostOf returns the host of a node.
func (g *Graph) HostOf(node int) int {
	return sort.Search(len(g.starts), func(i int) bool { return int(g.starts[i]) > node }) - 1
}

// URL returns the URL of a node. The first node of a host is its home page.
func (g *Graph) URL(node int) string {
	return string(g.appendURL(nil, g.HostOf(node), node))
}

func (g *Graph) appendURL(dst []byte, host, node int) []byte {
	return g.appendPath(g.appendAuthority(append(dst, "http://"...), host), host, node)
}

func (g *Graph) appendPath(dst []byte, host, node int) []byte {
	dst = append(dst, '/')
	if node == int(g.starts[host]) {
		return dst
	}
	return append(strconv.AppendInt(dst, int64(node), 10), ".html"...)
}

// node returns the node of a request target.
func (g *Graph) node(host int, target string) (int, bool) {
	if target == "/" {
		return int(g.starts[host]), true
	}
	digits, ok := strings.CutSuffix(strings.TrimPrefix(target, "/"), ".html")
	n, ok2 := parseNumber([]byte(digits))
	return n, ok && ok2 && n > int(g.starts[host]) && n < int(g.starts[host+1])
}

// appendTitle appends the title of a node: a subject from the word lists, and its number.
func (g *Graph) appendTitle(dst []byte, node int) []byte {
	x := mix(g.o.Seed, uint64(node))
	dst = append(dst, g.text.subjects[x%topics][x>>16%subjectsPerTopic]...)
	return strconv.AppendInt(append(dst, ' '), int64(node), 10)
}

func (g *Graph) answer(q *request, r *response) {
	node, ok := g.node(q.host, string(q.target))
	if !ok {
		r.plain(http.StatusNotFound, "There is no such node.")
		return
	}
	r.status, r.contentType, r.etag, r.modified = http.StatusOK, g.text.header, mix(g.o.Seed, uint64(node))|1, epoch
	if !r.unchanged(q) {
		r.body = g.appendHTML(r.body, q.host, node)
	}
}

// appendHTML writes a page: its title, paragraphs, and a list of its links.
func (g *Graph) appendHTML(dst []byte, host, node int) []byte {
	dst = append(dst, "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>"...)
	dst = append(g.appendTitle(dst, node), "</title></head><body>\n<h1>"...)
	dst = append(g.appendTitle(dst, node), "</h1>\n"...)
	r := newRNG(g.o.Seed, drawText, host, node)
	d := pageDraw{topic: uint8(mix(g.o.Seed, uint64(node)) % topics)}
	for range g.o.Paragraphs {
		dst = append(dst, g.text.chunk(&r, &d)...)
	}
	dst = append(dst, "<ul>\n"...)
	for _, to := range g.Links(node) {
		dst = append(dst, "<li><a href=\""...)
		if at := g.HostOf(int(to)); at == host {
			dst = g.appendPath(dst, host, int(to))
		} else {
			dst = g.appendURL(dst, at, int(to))
		}
		dst = append(g.appendTitle(append(dst, "\">"...), int(to)), "</a></li>\n"...)
	}
	return append(dst, "</ul></body></html>\n"...)
}

// Hosts returns the number of hosts.
func (g *Graph) Hosts() int { return len(g.starts) - 1 }

// Host returns the name of a host.
func (g *Graph) Host(host int) string { return string(g.names.append(nil, host)) }

// Root returns the URL of a host's first page.
func (g *Graph) Root(host int) string { return g.URL(int(g.starts[host])) }

// Address returns the loopback address of a host. Each has its own.
func (g *Graph) Address(host int) string { return address(host).String() }

// CrawlDelay returns 0: the hosts have no robots.txt.
func (g *Graph) CrawlDelay(int) time.Duration { return 0 }

func (g *Graph) addressOf(host int) int     { return host }
func (g *Graph) find(name []byte) int       { return g.names.find(name) }
func (g *Graph) forbidden(int, []byte) bool { return false }
func (g *Graph) https(int) bool             { return false }

func (g *Graph) appendAuthority(dst []byte, host int) []byte {
	dst = g.names.append(dst, host)
	if g.port != 0 && g.port != 80 {
		dst = strconv.AppendInt(append(dst, ':'), int64(g.port), 10)
	}
	return dst
}

func (g *Graph) onPort(port int) Site {
	c := *g
	c.port = port
	return &c
}
