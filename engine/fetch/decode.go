// SPDX-License-Identifier: Apache-2.0

package fetch

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"

	"github.com/andybalholm/brotli"
	"github.com/klauspost/compress/flate"
	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zlib"
	"github.com/klauspost/compress/zstd"
)

// ErrEncoding is wrapped by the errors of Content for a content coding that is not supported.
var ErrEncoding = errors.New("unsupported content coding")

// Content returns the body with its content coding undone, at most Options.MaxDecoded bytes of it. truncated
// reports that there was more, or that the coded data ended early. Only one coding is undone. A body that
// does not match its label is returned as it is, as browsers do for gzip. An error other than ErrEncoding means
// damaged data; body then holds what could be decoded. The bytes are valid until Release.
func (r *Response) Content() (body []byte, truncated bool, err error) {
	body, truncated, err = r.ExactContent()
	if errors.Is(err, ErrLabel) {
		return body, false, nil
	}
	return body, truncated, err
}

// ErrLabel is wrapped by the errors of ExactContent for a body that does not match its label.
var ErrLabel = errors.New("the body is not coded as Content-Encoding says")

// ExactContent is Content, except that a body that does not match its label comes with an error that wraps ErrLabel.
func (r *Response) ExactContent() (body []byte, truncated bool, err error) {
	coding, err := r.coding()
	if err != nil {
		return nil, false, err
	}
	if coding == "" || len(r.Body) == 0 {
		return r.Body, false, nil
	}
	d, err := openDecoder(coding, r.Body)
	if err != nil {
		if errors.Is(err, ErrEncoding) {
			return nil, false, err
		}
		return r.Body, false, fmt.Errorf("%w: %s: %w", ErrLabel, coding, err)
	}
	body, truncated, err = r.decode(d.Reader, coding)
	if err == nil && !truncated && len(body) <= keptContent {
		d.close() // others are dropped: a window may have 16 MiB
	}
	return body, truncated, err
}

// ContentFrom returns a reader of the content from a byte on, however long it is: for what Content cut off. It must not
// be read after Release.
func (r *Response) ContentFrom(at int64) (io.Reader, error) {
	coding, err := r.coding()
	if err != nil {
		return nil, err
	}
	from := io.Reader(bytes.NewReader(r.Body))
	if coding != "" {
		d, err := openDecoder(coding, r.Body)
		if err != nil {
			return nil, err
		}
		from = d.Reader // never closed: it is read for long bodies, whose decoders are dropped
	}
	_, err = io.CopyN(io.Discard, from, at)
	return from, err
}

// start returns the first bytes of the content, or less if its coding is damaged.
func (r *Response) start() []byte {
	from, err := r.ContentFrom(0)
	if err != nil {
		return nil
	}
	head := make([]byte, startBytes)
	n, _ := io.ReadFull(from, head) // what came before an error is the start all the same
	return head[:n]
}

// coding returns the content coding of the body, "" if there is none.
func (r *Response) coding() (coding string, err error) {
	for _, v := range r.Values("Content-Encoding") {
		for part := range strings.SplitSeq(strings.ToLower(string(v)), ",") {
			part = strings.TrimSpace(part)
			if part == "" || namesNoCoding(part) {
				continue
			}
			if coding != "" {
				return "", fmt.Errorf("%w %q: more than one", ErrEncoding, v)
			}
			coding = strings.TrimPrefix(part, "x-")
		}
	}
	return coding, nil
}

// namesNoCoding reports whether a value of Content-Encoding, in lower case, says that there is none, or is meant for
// another field: a charset, a media type, the transfer encoding of a mail, or how the file was once uploaded. Such
// bodies are not coded. To take the value for an unknown coding would lose each page of a server that sends it, and
// leave its robots.txt unread.
func namesNoCoding(s string) bool {
	switch s {
	case "identity", "none", "binary", "7bit", "8bit", "ascii", "us-ascii", "utf8", "aws-chunked":
		return true
	}
	for _, prefix := range [...]string{"utf-", "iso-8859-", "windows-"} {
		if strings.HasPrefix(s, prefix) {
			return true
		}
	}
	return strings.IndexByte(s, '/') > 0
}

// decode reads the decoded body into r.decoded.
func (r *Response) decode(from io.Reader, coding string) (body []byte, truncated bool, err error) {
	out := r.decoded[:0]
	if cap(out) == 0 {
		if kept, ok := contents.Get().(*[]byte); ok {
			out = *kept
		}
	}
	for {
		if int64(len(out)) >= r.maxDecoded {
			n, rerr := io.ReadFull(from, make([]byte, 1))
			truncated = n > 0 || rerr != io.EOF
			break
		}
		if len(out) == cap(out) {
			size := min(int64(max(2*cap(out), 4*len(r.Body), 16<<10)), r.maxDecoded)
			grown := make([]byte, len(out), size)
			copy(grown, out)
			out = grown
		}
		n, rerr := from.Read(out[len(out):min(int64(cap(out)), r.maxDecoded)]) // a kept buffer may be larger
		out = out[:len(out)+n]
		if rerr == io.EOF {
			break
		}
		if rerr != nil {
			truncated, err = true, fmt.Errorf("decoding %s: %w", coding, rerr)
			break
		}
	}
	r.decoded = out
	if err != nil && len(out) == 0 {
		if looksLikeText(r.Body) {
			return r.Body, false, fmt.Errorf("%w: %w", ErrLabel, err)
		}
		return nil, true, err
	}
	return out, truncated, err
}

// looksLikeText distinguishes a plain body under a wrong label from damaged coded data.
func looksLikeText(b []byte) bool {
	b = bytes.TrimSpace(b[:min(len(b), 64)])
	return len(b) > 0 && (b[0] == '<' || b[0] == '{') && bytes.IndexByte(b, 0) < 0
}

// decoder is a reader; close returns it to its pool.
type decoder struct {
	io.Reader
	close func()
}

var (
	gzipReaders   sync.Pool // of *gzip.Reader
	brotliReaders sync.Pool // of *brotli.Reader
	zstdReaders   sync.Pool // of *zstd.Decoder
)

// openDecoder returns a decoder of body. An error other than ErrEncoding means that body does not begin as its
// coding does.
func openDecoder(coding string, body []byte) (decoder, error) {
	in := bytes.NewReader(body)
	switch coding {
	case "gzip":
		z, _ := gzipReaders.Get().(*gzip.Reader)
		if z == nil {
			z = new(gzip.Reader)
		}
		if err := z.Reset(in); err != nil {
			return decoder{}, err
		}
		return decoder{&members{z: z, in: in, left: maxMembers - 1}, func() { gzipReaders.Put(z) }}, nil
	case "br":
		z, _ := brotliReaders.Get().(*brotli.Reader)
		if z == nil {
			z = brotli.NewReader(in)
		} else if err := z.Reset(in); err != nil {
			return decoder{}, err
		}
		return decoder{z, func() { brotliReaders.Put(z) }}, nil
	case "zstd":
		z, _ := zstdReaders.Get().(*zstd.Decoder)
		if z == nil {
			var err error
			z, err = zstd.NewReader(nil,
				zstd.WithDecoderConcurrency(1),
				zstd.WithDecoderLowmem(true),
				zstd.WithDecoderMaxWindow(zstdWindowMax)) // without it, a frame of ten bytes allocates 525 MB
			if err != nil {
				return decoder{}, err
			}
		}
		if err := z.Reset(in); err != nil {
			return decoder{}, err
		}
		return decoder{z, func() { zstdReaders.Put(z) }}, nil
	case "deflate":
		if z, err := zlib.NewReader(in); err == nil {
			return decoder{z, func() { z.Close() }}, nil
		}
		in := bytes.NewReader(body)
		z := flate.NewReader(in) // some servers omit the zlib wrapper
		return decoder{&bare{z, in}, func() { z.Close() }}, nil
	}
	return decoder{}, fmt.Errorf("%w %q", ErrEncoding, coding)
}

// bare reads deflate data without a wrapper. It has no mark and no checksum, so text may decode to a few bytes of
// noise; what is left behind them shows that.
type bare struct {
	io.Reader
	in *bytes.Reader
}

func (b *bare) Read(p []byte) (int, error) {
	n, err := b.Reader.Read(p)
	if err == io.EOF && b.in.Len() > 0 {
		err = fmt.Errorf("%d bytes behind the end", b.in.Len())
	}
	return n, err
}

// members reads the members of a gzip body, and ignores garbage after the first.
type members struct {
	z    *gzip.Reader
	in   *bytes.Reader
	left int // members that may follow
}

// gzipMark is the first byte of a member.
const gzipMark = 0x1f

var errMembers = fmt.Errorf("more than %d members", maxMembers)

func (m *members) Read(p []byte) (int, error) {
	m.z.Multistream(false)
	n, err := m.z.Read(p)
	if err != io.EOF || m.in.Len() == 0 {
		return n, err
	}
	next, _ := m.in.ReadByte() // there is one
	_ = m.in.UnreadByte()
	if next != gzipMark { // a line end, perhaps: less than the head of a member is no error either
		return n, io.EOF
	}
	err = m.z.Reset(m.in)
	switch m.left--; {
	case err == gzip.ErrHeader:
		return n, io.EOF // garbage
	case err == nil && m.left < 0:
		err = errMembers
	case err == io.EOF:
		err = io.ErrUnexpectedEOF
	}
	return n, err
}
