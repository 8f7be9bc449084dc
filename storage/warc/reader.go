// SPDX-License-Identifier: Apache-2.0

package warc

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/klauspost/compress/gzip"
)

// ErrTorn ends a file whose last record is not whole: the write was cut short. What lies before Valid is good.
var ErrTorn = errors.New("the WARC file ends in a torn record")

// CorruptError says that a record cannot be read although the file goes on after it.
type CorruptError struct {
	File   string // as given to the Reader
	Offset int64  // where the record (or what should be one) begins
	Next   int64  // where the next record begins; -1 when that is not known
	Reason string
	Err    error // of the decompressor; may be nil
}

func (e *CorruptError) Error() string {
	s := fmt.Sprintf("WARC file %q is damaged at offset %d: %s", e.File, e.Offset, e.Reason)
	if e.Err != nil {
		s += ": " + e.Err.Error()
	}
	if e.Next >= 0 {
		s += fmt.Sprintf(" (the next record begins at %d)", e.Next)
	}
	return s
}

// Unwrap returns the decompressor's error.
func (e *CorruptError) Unwrap() error { return e.Err }

// TooLargeError says that a record's block is beyond the Reader's bound. Next goes on behind it.
type TooLargeError struct {
	File          string
	Offset        int64 // of the record
	Length, Limit int64 // of the block, in bytes
}

func (e *TooLargeError) Error() string {
	return fmt.Sprintf("record at offset %d of WARC file %q has a block of %d bytes, the limit is %d",
		e.Offset, e.File, e.Length, e.Limit)
}

// ReaderOptions configure a Reader.
type ReaderOptions struct {
	// File is the base name for Locations and errors.
	File string
	// MaxBlockBytes bounds the block of a record in memory; 0 means DefaultMaxBlockBytes.
	MaxBlockBytes int64
	// Resync lets Next go on after a *CorruptError whose Next is known. Without it the error is final.
	Resync bool
}

// Reader walks the records of one file, front to back: gzip members, plain records (WARC 1.0, 1.1 and the drafts
// before them), or both in one file. It reads a file in one pass with a fixed buffer and holds one record at a time.
// It is not safe for concurrent use; any number of Readers may read one file.
type Reader struct {
	o      ReaderOptions
	src    *source
	in     *bufio.Reader // on src
	zr     *gzip.Reader
	stream *bufio.Reader // on zr
	probe  *probe        // of findMember; nil before the first search

	member   int64  // where the record being read begins, or the gzip member around it
	packed   bool   // it is in a gzip member: read it from stream, not from in
	inMember bool   // and the member holds more records behind it
	mark     []byte // of the last good member, see resync.go
	skip     int64  // bytes of a too large block still to be stepped over; -1 none
	first    int64  // where reading began
	valid    int64
	resyncs  int
	err      error // final

	header []byte
	block  []byte
	rec    Record
}

// recordMagic begins every record.
const recordMagic = "WARC/"

// NewReader returns a Reader of the first size bytes of f with default options.
func NewReader(f io.ReaderAt, size int64) *Reader {
	return NewReaderOptions(f, size, ReaderOptions{})
}

// NewReaderOptions returns a Reader of the first size bytes of f.
func NewReaderOptions(f io.ReaderAt, size int64, o ReaderOptions) *Reader {
	return newReader(f, 0, size, o, sourceBufferBytes)
}

func newReader(f io.ReaderAt, from, to int64, o ReaderOptions, buffer int) *Reader {
	if o.MaxBlockBytes <= 0 {
		o.MaxBlockBytes = DefaultMaxBlockBytes
	}
	src := &source{f: f, pos: from, end: to}
	return &Reader{o: o, src: src, in: bufio.NewReaderSize(src, buffer), skip: -1, first: from, valid: from}
}

// ReadAt reads the one record at a Location, which must span exactly that record, and checks that it does. The record
// is the caller's to keep. Anything else found there is a *CorruptError or *TooLargeError.
func ReadAt(f io.ReaderAt, size int64, loc Location) (*Record, error) {
	if loc.Offset < 0 || loc.Length <= 0 || loc.Offset > size-loc.Length {
		return nil, &CorruptError{loc.File, loc.Offset, -1,
			fmt.Sprintf("the record of %d bytes is said to lie outside of the file's %d", loc.Length, size), nil}
	}
	buffer := min(loc.Length+16, sourceBufferBytes)
	r := newReader(f, loc.Offset, loc.Offset+loc.Length, ReaderOptions{File: loc.File}, int(buffer))
	rec, err := r.Next()
	switch {
	case errors.Is(err, ErrTorn) || err == io.EOF:
		return nil, &CorruptError{loc.File, loc.Offset, -1, "no whole record lies there", nil}
	case err != nil:
		return nil, err
	case rec.Location != loc:
		return nil, &CorruptError{loc.File, loc.Offset, -1,
			fmt.Sprintf("the record lies at %d and has %d bytes, not %d", rec.Offset, rec.Length, loc.Length), nil}
	}
	return rec, nil
}

// Valid returns the offset behind the last whole record that was read (in a gzip member with several records: behind
// the last whole member), which is where a torn tail begins.
func (r *Reader) Valid() int64 { return r.valid }

// Next returns the next record, valid until the next call. At the end of the file it returns io.EOF; where the last
// record is cut short, or damaged with no other gzip member behind it, ErrTorn; where a record is damaged otherwise,
// a *CorruptError; where a block is beyond the bound, a *TooLargeError. An error of the file itself is wrapped. All but
// the third (see ReaderOptions.Resync) and the fourth are final.
func (r *Reader) Next() (*Record, error) {
	if r.err != nil {
		return nil, r.err
	}
	rec, start, err := r.next()
	if err == nil {
		return rec, nil
	}
	err = r.verdict(start, err)
	var large *TooLargeError
	var corrupt *CorruptError
	switch {
	case errors.As(err, &large):
	case errors.As(err, &corrupt) && corrupt.Next >= 0 && r.o.Resync && r.resyncs < maxResyncs:
		r.resyncs++
		r.seek(corrupt.Next)
	default:
		r.err = err
	}
	return nil, err
}

// fault is what is wrong with the record being read.
type fault struct {
	reason string
	err    error
	whole  bool // the gzip member around it is whole: the next one begins where it ends
	warc   bool // the record began with recordMagic
}

func (f *fault) Error() string { return f.reason }

// next reads one record and also returns where it begins.
func (r *Reader) next() (rec *Record, start int64, err error) {
	if r.skip >= 0 {
		if err := r.stepOver(); err != nil {
			return nil, r.member, err
		}
	}
	shared := r.inMember
	if !shared {
		if err := r.openRecord(); err != nil {
			return nil, r.member, err
		}
	}
	start = r.member
	from := r.in
	if r.packed {
		from = r.stream
	}
	length, err := r.readHeader(from)
	if err != nil {
		return nil, start, err
	}
	if length > r.o.MaxBlockBytes {
		r.skip = length
		return nil, start, &TooLargeError{r.o.File, start, length, r.o.MaxBlockBytes}
	}
	if err := r.readBlock(from, length); err != nil {
		return nil, start, err
	}
	if err := r.endRecord(from); err != nil {
		return nil, start, err
	}
	r.rec.Block = r.block
	r.rec.Location = Location{File: r.o.File, Offset: start}
	if !shared && !r.inMember {
		r.rec.Length = r.pos() - start
	}
	return &r.rec, start, nil
}

// openRecord finds where the next record begins, puts that into r.member, and decides how it is read.
func (r *Reader) openRecord() (err error) {
	for {
		if r.member, err = r.skipNewlines(); err != nil {
			return err
		}
		head, _ := r.in.Peek(2)
		if r.packed = len(head) > 0 && bytes.HasPrefix(gzipMagic, head); !r.packed {
			return nil
		}
		if err := r.openMember(r.member); err != nil {
			return err
		}
		if _, err := r.stream.Peek(1); err != io.EOF {
			return nil // a fault shows again when the header is read
		}
		// An empty member is the whole of what some tools write for a file without records.
		r.valid = r.pos()
	}
}

// openMember starts decompressing at start.
func (r *Reader) openMember(start int64) error {
	if r.zr == nil {
		r.zr = new(gzip.Reader)
		r.stream = bufio.NewReaderSize(nil, streamBufferBytes)
	}
	if err := r.zr.Reset(r.in); err != nil {
		if err == io.EOF {
			err = io.ErrUnexpectedEOF
		}
		return &fault{reason: "bad gzip header", err: err}
	}
	r.zr.Multistream(false)
	r.stream.Reset(r.zr)
	if start == 0 {
		r.mark = markOf(r.zr.Extra)
	}
	return nil
}

// readHeader reads up to the empty line and returns the Content-Length.
func (r *Reader) readHeader(from *bufio.Reader) (int64, error) {
	head, err := from.Peek(len(recordMagic))
	if string(head) != recordMagic[:len(head)] {
		return 0, &fault{reason: fmt.Sprintf("no record begins with %q", head)}
	}
	if err != nil {
		return 0, r.streamFault(from, err, "the record breaks off in its first line", false)
	}
	r.header = r.header[:0]
	for lineStart := 0; ; {
		part, err := from.ReadSlice('\n')
		r.header = append(r.header, part...)
		if len(r.header) > MaxHeaderBytes {
			return 0, &fault{reason: fmt.Sprintf("the header is longer than %d bytes", MaxHeaderBytes), warc: true}
		}
		if err == bufio.ErrBufferFull {
			continue
		}
		if err != nil {
			return 0, r.streamFault(from, err, "the record breaks off in its header", true)
		}
		line := r.header[lineStart:]
		lineStart = len(r.header)
		if len(bytes.TrimRight(line, "\r\n")) == 0 {
			return r.parseHeader()
		}
	}
}

// parseHeader fills r.rec from r.header.
func (r *Reader) parseHeader() (int64, error) {
	version, rest, _ := strings.Cut(string(r.header), "\n")
	version = strings.TrimSpace(version)
	number := version[len(recordMagic):]
	if len(number) < 3 || number[0] < '0' || number[0] > '9' || number[1] != '.' {
		return 0, &fault{reason: fmt.Sprintf("unknown version %.40q", version), warc: true}
	}
	fields := appendFields(r.rec.Header[:0], rest)
	r.rec = Record{Version: version, Header: fields}
	length := int64(-1)
	for i := range fields {
		f := &fields[i]
		switch {
		case strings.EqualFold(f.Name, "WARC-Type"):
			r.rec.Type = strings.ToLower(f.Value)
		case strings.EqualFold(f.Name, "WARC-Record-ID"):
			r.rec.ID = unbracket(f.Value)
		case strings.EqualFold(f.Name, "WARC-Target-URI"):
			r.rec.URI = unbracket(f.Value)
		case strings.EqualFold(f.Name, "WARC-Date"):
			r.rec.Date = parseDate(f.Value)
		case strings.EqualFold(f.Name, "Content-Length"):
			n, err := strconv.ParseUint(f.Value, 10, 63)
			if err != nil || length >= 0 && int64(n) != length {
				return 0, &fault{reason: fmt.Sprintf("bad Content-Length %.40q", f.Value), warc: true}
			}
			length = int64(n)
		}
	}
	if length < 0 {
		return 0, &fault{reason: "the header has no Content-Length", warc: true}
	}
	return length, nil
}

// readBlock reads the block into r.block, which grows with what arrives, not with what is announced.
func (r *Reader) readBlock(from *bufio.Reader, length int64) error {
	r.block = r.block[:0]
	for have := int64(0); have < length; have = int64(len(r.block)) {
		if len(r.block) == cap(r.block) {
			grow := min(length, max(2*int64(cap(r.block)), firstBlockBytes))
			r.block = append(make([]byte, 0, grow), r.block...)
		}
		n, err := io.ReadFull(from, r.block[have:min(length, int64(cap(r.block)))])
		r.block = r.block[:have+int64(n)]
		if err != nil {
			reason := fmt.Sprintf("Content-Length is %d, only %d bytes are there", length, len(r.block))
			return r.streamFault(from, err, reason, true)
		}
	}
	return nil
}

// endRecord steps over the line ends behind a block and, in a gzip member, finds out whether the member ends too: only
// then is its checksum known to be right.
func (r *Reader) endRecord(from *bufio.Reader) error {
	if from == r.in {
		// Few files have fewer than the two line ends of the standard, but some do, and nothing is lost by it.
		if _, err := r.skipNewlines(); err != nil && err != io.EOF {
			return err
		}
		r.valid = r.pos()
		return nil
	}
	for padding := 0; ; padding++ {
		c, err := from.ReadByte()
		if err == io.EOF {
			r.inMember = false
			r.mark = markOf(r.zr.Extra)
			r.valid = r.pos()
			return nil
		}
		if err != nil {
			return r.streamFault(from, err, "the gzip member breaks off behind the block", true)
		}
		if c != '\r' && c != '\n' {
			if err := from.UnreadByte(); err != nil {
				panic("BUG: unreading the byte just read: " + err.Error())
			}
			if head, _ := from.Peek(len(recordMagic)); string(head) != recordMagic {
				return &fault{reason: fmt.Sprintf("the block is longer than its Content-Length: %q follows", head), warc: true}
			}
			r.inMember = true
			return nil
		}
		if padding == maxPadding {
			return &fault{reason: fmt.Sprintf("more than %d bytes of padding", maxPadding), warc: true}
		}
	}
}

// stepOver discards a block that was too large and ends its record.
func (r *Reader) stepOver() error {
	from := r.in
	if r.packed {
		from = r.stream
	}
	for r.skip > 0 {
		n, err := from.Discard(int(min(r.skip, 1<<30)))
		r.skip -= int64(n)
		if err != nil {
			r.skip = -1
			return r.streamFault(from, err, "the block is shorter than its Content-Length", true)
		}
	}
	r.skip = -1
	return r.endRecord(from)
}

// skipNewlines steps over CR and LF between plain records and returns the offset behind them; io.EOF at the end.
func (r *Reader) skipNewlines() (int64, error) {
	for {
		c, err := r.in.ReadByte()
		if err != nil {
			return r.pos(), err
		}
		if c != '\r' && c != '\n' {
			if err := r.in.UnreadByte(); err != nil {
				panic("BUG: unreading the byte just read: " + err.Error())
			}
			return r.pos(), nil
		}
	}
}

// streamFault turns an error of a stream into a fault: the end of a whole member is damage inside of it, the end of
// the file is a torn record.
func (r *Reader) streamFault(from *bufio.Reader, err error, reason string, warc bool) error {
	f := &fault{reason: reason, err: err, warc: warc}
	atEnd := err == io.EOF || err == io.ErrUnexpectedEOF
	switch {
	case from == r.in && atEnd:
		f.err = io.ErrUnexpectedEOF
	case from == r.stream && atEnd:
		// io.ReadFull makes both ends look alike; the decompressor knows whether its member was whole.
		if _, zerr := r.zr.Read(make([]byte, 1)); zerr == io.EOF {
			f.err, f.whole = nil, true
		} else {
			f.err = io.ErrUnexpectedEOF
		}
	}
	return f
}

// verdict decides what an error at a record is: of the file, the end, a torn tail, or damage with more behind it.
func (r *Reader) verdict(start int64, err error) error {
	if r.src.err != nil {
		return fmt.Errorf("reading WARC file %q near offset %d: %w", r.o.File, start, r.src.err)
	}
	f, isFault := err.(*fault)
	if !isFault {
		return err // io.EOF, *TooLargeError
	}
	r.inMember = false
	corrupt := &CorruptError{r.o.File, start, -1, f.reason, f.err}
	// Until one record has been seen, what does not begin as one is no torn WARC file but no WARC file at all.
	some := f.warc || r.valid > r.first
	if f.whole || f.warc && f.err == nil && r.packed && r.drain() {
		corrupt.Next = r.pos() // its checksum is right: it was written so, and what follows is what was written next
		return corrupt
	}
	atEnd := errors.Is(f.err, io.ErrUnexpectedEOF) && (some || r.startsWithin(start))
	if atEnd && r.mark == nil {
		// The file's end, and no search for members behind the start: what it would find without a mark to go by is
		// more likely a page that is a WARC file than a record that damage has hidden.
		return r.torn(corrupt)
	}
	if r.onlyZeros(start) {
		return r.torn(corrupt)
	}
	if r.zr != nil { // a plain file has no sure place to go on from
		corrupt.Next = r.findMember(start + 1)
	}
	switch {
	case r.src.err != nil:
		return fmt.Errorf("reading WARC file %q behind offset %d: %w", r.o.File, start, r.src.err)
	case corrupt.Next < 0 && (atEnd || some && r.zr != nil):
		return r.torn(corrupt)
	}
	return corrupt
}

// drain reads the rest of the member of a faulty record and tells whether the member is whole.
func (r *Reader) drain() bool {
	_, err := io.Copy(io.Discard, r.stream)
	return err == nil
}

// startsWithin tells whether a file cut short before its first record could be told apart still began like one.
func (r *Reader) startsWithin(start int64) bool {
	var head [len(recordMagic)]byte
	n, _ := r.src.at(head[:], start)
	if n == 0 {
		return false
	}
	return bytes.HasPrefix([]byte(recordMagic), head[:n]) || head[0] == gzipMagic[0] && (n < 2 || head[1] == gzipMagic[1])
}

func (r *Reader) torn(c *CorruptError) error {
	return fmt.Errorf("reading WARC file %q: %w at offset %d: %s", r.o.File, ErrTorn, c.Offset, c.Reason)
}

// pos returns the offset of the next byte that in will give.
func (r *Reader) pos() int64 { return r.src.pos - int64(r.in.Buffered()) }

// seek goes on at an offset.
func (r *Reader) seek(offset int64) {
	r.src.pos = offset
	r.in.Reset(r.src)
	r.inMember = false
}

// source is the io.Reader over the file. It remembers an error of the file, which must not be taken for damage.
type source struct {
	f        io.ReaderAt
	pos, end int64
	err      error
}

func (s *source) Read(p []byte) (int, error) {
	n, err := s.at(p, s.pos)
	s.pos += int64(n)
	if err == nil && n == 0 && len(p) > 0 {
		err = io.EOF
	}
	return n, err
}

// at reads up to len(p) bytes at an offset, never beyond end; less only at the end.
func (s *source) at(p []byte, offset int64) (int, error) {
	if offset >= s.end {
		return 0, nil
	}
	if int64(len(p)) > s.end-offset {
		p = p[:s.end-offset]
	}
	n, err := s.f.ReadAt(p, offset)
	if err == io.EOF {
		return n, nil
	}
	if err != nil {
		s.err = err
	}
	return n, err
}
