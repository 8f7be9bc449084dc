// SPDX-License-Identifier: Apache-2.0

package hostile

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"compress/zlib"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/netip"
	"strconv"
	"strings"
	"sync"

	"github.com/andybalholm/brotli"
	"github.com/klauspost/compress/zstd"
	"github.com/zeebo/xxh3"
)

// Heavy is a web of hosts whose pages take as much memory as servers can make a client hold: it is for measuring how
// much a crawl takes.
type Heavy struct {
	kind    string
	head    string // fields of a response
	body    []byte // of every page, after what is its own
	pack    func(first []byte) []byte
	hosts   map[string]netip.Addr
	seeds   []string
	mu      sync.Mutex
	open    map[io.Closer]bool // listeners and connections
	ended   bool
	serving sync.WaitGroup
}

// Sizes of heavy pages, in bytes.
const (
	heavyDecoded = 9 << 20  // more than is decoded
	heavyPlain   = 10 << 20 // more than is received
	heavyLinks   = 2000     // links of a page, each to a page of its own
	heavyBoxes   = 70_000   // paragraphs of a page, each of a class of its own
)

// HeavyKinds are the kinds of heavy webs: bodies in each content coding that grow past what is decoded, with the
// largest windows; long plain bodies; bodies that grow when they are transcoded; pages of many links; and pages of
// which no two parts are alike.
var HeavyKinds = []string{"gzip", "deflate", "br", "zstd", "plain", "latin1", "links", "boxes"}

// StartHeavy serves a heavy web of some hosts, with the pages /0, /1 and so on. Its caller must call Close.
func StartHeavy(kind string, hosts, pages int) (*Heavy, error) {
	h := &Heavy{kind: kind, hosts: map[string]netip.Addr{}, open: map[io.Closer]bool{}}
	if err := h.prepare(); err != nil {
		return nil, err
	}
	port, at := "0", netip.MustParseAddr("127.10.0.0")
	for i := range hosts {
		at = at.Next()
		l, err := net.Listen("tcp", net.JoinHostPort(at.String(), port))
		if err != nil {
			h.Close()
			return nil, fmt.Errorf("serving a heavy web: %w", err)
		}
		_, port, _ = net.SplitHostPort(l.Addr().String())
		name := fmt.Sprintf("heavy%d.test", i)
		h.hosts[name] = at
		for n := range pages {
			h.seeds = append(h.seeds, fmt.Sprintf("http://%s:%s/%d", name, port, n))
		}
		h.open[l] = true
		h.serving.Go(func() { h.accept(l) })
	}
	return h, nil
}

// Hosts are the hosts and their addresses in the format of hosts(5).
func (h *Heavy) Hosts() string {
	var b strings.Builder
	for name, at := range h.hosts {
		fmt.Fprintf(&b, "%s %s\n", at, name)
	}
	return b.String()
}

// Seeds are the URLs of all pages.
func (h *Heavy) Seeds() []string { return h.seeds }

// Close ends the server and all connections.
func (h *Heavy) Close() {
	h.mu.Lock()
	h.ended = true
	for c := range h.open {
		c.Close()
	}
	h.mu.Unlock()
	h.serving.Wait()
}

// prepare makes what all pages have in common.
func (h *Heavy) prepare() error {
	h.head = "Content-Type: text/html; charset=utf-8\r\n"
	h.pack = func(first []byte) []byte { return first }
	var b bytes.Buffer
	write := func(w io.WriteCloser, err error) error {
		if err != nil {
			return err
		}
		h.head += "Content-Encoding: " + h.kind + "\r\n"
		_, err = w.Write(heavyText(heavyDecoded))
		return errors.Join(err, w.Close())
	}
	var err error
	switch h.kind {
	case "gzip":
		err = write(gzip.NewWriter(&b), nil)
		h.pack = func(first []byte) []byte { // a member of its own
			var b bytes.Buffer
			z := gzip.NewWriter(&b)
			z.Write(first)
			z.Close()
			return b.Bytes()
		}
	case "deflate":
		err = write(zlib.NewWriter(&b), nil)
	case "br":
		err = write(brotli.NewWriterOptions(&b, brotli.WriterOptions{Quality: 5, LGWin: 24}), nil)
	case "zstd":
		err = write(zstd.NewWriter(&b, zstd.WithWindowSize(8<<20), zstd.WithEncoderLevel(zstd.SpeedFastest)))
	case "plain":
		b.Write(heavyText(heavyPlain))
	case "latin1":
		h.head = "Content-Type: text/html; charset=iso-8859-1\r\n"
		b.Write(bytes.ReplaceAll(heavyText(heavyPlain), []byte("a"), []byte{0xe4}))
	case "boxes":
		for i := range heavyBoxes {
			b.WriteString("<p class=n")
			for rest := i; rest > 0; rest /= 26 { // of letters: numbers are no part of names
				b.WriteByte(byte('a' + rest%26))
			}
			b.WriteString(">one two\n")
		}
	}
	h.body = b.Bytes()
	return err
}

// heavyText is n bytes of HTML that is made of sentences.
func heavyText(n int) []byte {
	r := rand.New(rand.NewPCG(1, 2))
	words := make([]string, 2000)
	for i := range words {
		word := make([]byte, 2+r.IntN(9))
		for j := range word {
			word[j] = byte('a' + r.IntN(26))
		}
		words[i] = string(word)
	}
	sentences := make([]string, 500)
	for i := range sentences {
		for range 12 {
			sentences[i] += words[r.IntN(len(words))] + " "
		}
	}
	b := make([]byte, 0, n+1<<10)
	for len(b) < n {
		b = append(b, "<p>"+sentences[r.IntN(len(sentences))]+words[r.IntN(len(words))]+".</p>\n"...)
	}
	return b
}

// links is a page of links to pages that nothing else links to.
func (h *Heavy) links(host, path string) []byte {
	at := xxh3.HashString(host + path)
	b := []byte("<title>" + host + path + "</title>")
	for i := range heavyLinks {
		b = fmt.Appendf(b, "<a href='/page-of-a-long-name/%x'>link %d of this page</a>\n", at+uint64(i), i)
	}
	return b
}

func (h *Heavy) accept(l net.Listener) {
	for {
		c, err := l.Accept()
		if err != nil {
			return
		}
		h.mu.Lock()
		if h.ended {
			c.Close()
		} else {
			h.open[c] = true
			h.serving.Go(func() { h.serve(c) })
		}
		h.mu.Unlock()
	}
}

// serve answers the requests of a connection.
func (h *Heavy) serve(c net.Conn) {
	defer func() {
		c.Close()
		h.mu.Lock()
		delete(h.open, c)
		h.mu.Unlock()
	}()
	in, q := bufio.NewReader(c), request{}
	for {
		line, err := in.ReadString('\n')
		if err != nil {
			return
		}
		line = strings.TrimSpace(line)
		name, value, _ := strings.Cut(line, " ")
		switch {
		case line == "":
			if h.answer(c, &q) != nil {
				return
			}
			q = request{}
		case q.Method == "":
			q.Method = name
			q.Path, _, _ = strings.Cut(value, " ")
		case strings.EqualFold(name, "Host:"):
			q.Host = value
		}
	}
}

// answer sends a response.
func (h *Heavy) answer(c net.Conn, q *request) error {
	status, head := "404 Not Found", ""
	var first, body []byte
	if q.Path != "/robots.txt" {
		status, head, body = "200 OK", h.head, h.body
		switch h.kind {
		case "gzip", "plain", "latin1", "boxes":
			first = h.pack([]byte("<title>" + q.Host + q.Path + "</title>"))
		case "links":
			body = h.links(q.Host, q.Path)
		}
	}
	head = "HTTP/1.1 " + status + "\r\n" + head + "Content-Length: " + strconv.Itoa(len(first)+len(body)) + "\r\n\r\n"
	parts := net.Buffers{[]byte(head), first, body}
	_, err := parts.WriteTo(c)
	return err
}
