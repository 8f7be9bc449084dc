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

// ErrTorn ends a file whose last record is incomplete: the write was cut short. The file is good up to Valid.
var ErrTorn = errors.New("the WARC file ends in a torn record")

// CorruptError reports a damaged place of a file, from Offset to Next. It is not a record, and it may cover several.
type CorruptError struct {
	File   string // as given to the Reader
	Offset int64  // where the unreadable record (or what should be one) begins
	Next   int64  // where the next record begins; -1 if that is not known
	Reason string // what is wrong
	Err    error  // of the decompressor; may be nil
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

// TooLargeError says that a record's block exceeds the Reader's bound. The Reader continues after the record.
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
	// File is the base name to use in Locations and errors.
	File string
	// MaxBlockBytes bounds the block of a record, in bytes; 0 means DefaultMaxBlockBytes.
	MaxBlockBytes int64
	// Start is where reading begins, in bytes from the beginning of the file. Offsets count from there all the same.
	Start int64
	// Resync lets Next continue after a *CorruptError whose Next is known. Without it that error is final.
	Resync bool
}

// Reader reads the records of one file from front to back: gzip members, plain records (WARC 1.0, 1.1 and the drafts
// before them), or both in one file. It reads the file once, with a fixed buffer, and holds one record at a time. It
// belongs to one goroutine; any number of Readers may read one file. The zero value is not usable.
type Reader struct {
	o      ReaderOptions
	src    *source
	in     *bufio.Reader // on src
	zr     *gzip.Reader
	stream *bufio.Reader // on zr
	probe  *probe        // of findMember; nil before the first search

	member   int64  // where the current record begins, or the gzip member around it
	packed   bool   // the record is in a gzip member: read it from stream, not from in
	inMember bool   // the member contains more records after it
	mark     []byte // of the last good member, see resync.go
	skip     int64  // bytes of a too large block still to be skipped; -1 = none
	first    int64  // where reading began
	valid    int64  // see Valid
	resyncs  int    // damaged places skipped
	err      error  // final

	header []byte
	block  []byte
	rec    Record
}

// recordMagic begins every record.
const recordMagic = "WARC/"

// NewReader returns a Reader of the first size bytes of f with default options. It never reads beyond size.
func NewReader(f io.ReaderAt, size int64) *Reader {
	return NewReaderOptions(f, size, ReaderOptions{})
}

// NewReaderOptions returns a Reader of the first size bytes of f, from ReaderOptions.Start on. It never reads beyond
// size.
func NewReaderOptions(f io.ReaderAt, size int64, o ReaderOptions) *Reader {
	return newReader(f, o.Start, size, o, sourceBufferBytes)
}

func newReader(f io.ReaderAt, from, to int64, o ReaderOptions, buffer int) *Reader {
	if o.MaxBlockBytes <= 0 {
		o.MaxBlockBytes = DefaultMaxBlockBytes
	}
	src := &source{f: f, pos: from, end: to}
	return &Reader{o: o, src: src, in: bufio.NewReaderSize(src, buffer), skip: -1, first: from, valid: from}
}

// ReadAt reads the record at a Location of f, a file of size bytes. The Location must span exactly one record. The
// caller may keep the result. If there is anything else, the error is a *CorruptError or a *TooLargeError; an error of
// the file itself is wrapped. It may be called from any goroutine.
func ReadAt(f io.ReaderAt, size int64, loc Location) (*Record, error) {
	if loc.Offset < 0 || loc.Length <= 0 || loc.Offset > size-loc.Length {
		return nil, &CorruptError{loc.File, loc.Offset, -1,
			fmt.Sprintf("the location of %d bytes is outside of the file of %d", loc.Length, size), nil}
	}
	buffer := min(loc.Length+16, sourceBufferBytes)
	r := newReader(f, loc.Offset, loc.Offset+loc.Length, ReaderOptions{File: loc.File}, int(buffer))
	rec, err := r.Next()
	switch {
	case errors.Is(err, ErrTorn) || err == io.EOF:
		return nil, &CorruptError{loc.File, loc.Offset, -1, "there is no complete record", nil}
	case err != nil:
		return nil, err
	case rec.Location != loc:
		return nil, &CorruptError{loc.File, loc.Offset, -1,
			fmt.Sprintf("the record is at %d and has %d bytes, not %d", rec.Offset, rec.Length, loc.Length), nil}
	}
	return rec, nil
}

// Valid returns the offset after the last complete record read so far (in a gzip member with several records: after
// the last complete member). After ErrTorn the torn tail begins there.
func (r *Reader) Valid() int64 { return r.valid }

// Next returns the next record, which is valid until the next call, or an error and no record:
//
//   - io.EOF at the end of the file;
//   - ErrTorn if the last record is cut short, or damaged with no other gzip member after it;
//   - a *CorruptError at a damaged place. With ReaderOptions.Resync and a known CorruptError.Next, the next call
//     continues after it, in a file of another tool at 1,000 places at most;
//   - a *TooLargeError for a record whose block exceeds the bound; the next call continues after it;
//   - an error of the file itself, wrapped.
//
// Every other error is final: later calls return it again. Only calls that return a record count as records.
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
	case errors.As(err, &corrupt) && corrupt.Next >= 0 && r.o.Resync && (r.mark != nil || r.resyncs < maxResyncs):
		r.resyncs++
		r.seek(corrupt.Next)
	default:
		r.err = err
	}
	return nil, err
}

// fault is what is wrong with the current record.
type fault struct {
	reason string
	err    error
	whole  bool // the gzip member around it is complete: the next one begins where it ends
	warc   bool // the record began with recordMagic
}

func (f *fault) Error() string { return f.reason }

// next reads one record. It also returns the offset where the record begins.
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

// openRecord finds where the next record begins, sets r.member to it, and decides how to read the record.
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
			return nil // reading the header returns any other error again
		}
		// An empty member: some tools write just that for a file without records.
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

// parseHeader fills r.rec from r.header and returns the Content-Length.
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

// readBlock reads the block into r.block, which grows with the bytes that arrive, not with the announced length.
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
			reason := fmt.Sprintf("Content-Length is %d, but there are only %d bytes", length, len(r.block))
			return r.streamFault(from, err, reason, true)
		}
	}
	return nil
}

// endRecord skips the line ends after a block. In a gzip member it also checks whether the member ends there; only then
// has its checksum been verified.
func (r *Reader) endRecord(from *bufio.Reader) error {
	if from == r.in {
		// The standard requires two line ends. Some files have fewer, which does no harm.
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
			return r.streamFault(from, err, "the gzip member breaks off after the block", true)
		}
		if c != '\r' && c != '\n' {
			if err := from.UnreadByte(); err != nil {
				panic("BUG: unreading the byte just read: " + err.Error())
			}
			if head, _ := from.Peek(len(recordMagic)); string(head) != recordMagic {
				reason := fmt.Sprintf("the block is longer than its Content-Length: %q follows", head)
				return &fault{reason: reason, warc: true}
			}
			r.inMember = true
			return nil
		}
		if padding == maxPadding {
			return &fault{reason: fmt.Sprintf("more than %d bytes of padding", maxPadding), warc: true}
		}
	}
}

// stepOver discards a block that is too large and ends its record.
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

// skipNewlines skips CR and LF between records and returns the offset after them; io.EOF at the end.
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

// streamFault turns an error of a stream into a fault. An early end of a complete member is damage in the member; an
// early end of the file is a torn record.
func (r *Reader) streamFault(from *bufio.Reader, err error, reason string, warc bool) error {
	f := &fault{reason: reason, err: err, warc: warc}
	atEnd := err == io.EOF || err == io.ErrUnexpectedEOF
	switch {
	case from == r.in && atEnd:
		f.err = io.ErrUnexpectedEOF
	case from == r.stream && atEnd:
		// io.ReadFull returns the same error for both ends; the decompressor knows whether its member was complete.
		if _, zerr := r.zr.Read(make([]byte, 1)); zerr == io.EOF {
			f.err, f.whole = nil, true
		} else {
			f.err = io.ErrUnexpectedEOF
		}
	}
	return f
}

// verdict decides what an error at a record means: an error of the file, its end, a torn tail, or damage with more
// records after it.
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
	// Before the first record, data that does not begin like one is not a torn WARC file, but no WARC file at all.
	some := f.warc || r.valid > r.first
	if f.whole || f.warc && f.err == nil && r.packed && r.drain() {
		corrupt.Next = r.pos() // the member's checksum is right, so the fault was written and the next member follows
		return corrupt
	}
	if start == r.first && start > 0 && r.mark == nil {
		r.mark = r.markOfFile()
	}
	atEnd := errors.Is(f.err, io.ErrUnexpectedEOF) && (some || r.startsWithin(start))
	if atEnd && r.mark == nil {
		// The end of the file. Don't search for members after the start: without a mark to look for, the search would
		// more likely find a page that is itself a WARC file than a record hidden by damage.
		return r.torn(corrupt)
	}
	if r.onlyZeros(start) {
		return r.torn(corrupt)
	}
	if r.zr != nil || r.mark != nil || r.mayBePacked(start) { // a plain file has no safe place to go on from
		corrupt.Next = r.findMember(start + 1)
	}
	switch {
	case r.src.err != nil:
		return fmt.Errorf("reading WARC file %q after offset %d: %w", r.o.File, start, r.src.err)
	case corrupt.Next < 0 && (atEnd || some && r.zr != nil):
		return r.torn(corrupt)
	}
	return corrupt
}

// drain reads the rest of a faulty record's member and reports whether the member is complete.
func (r *Reader) drain() bool {
	_, err := io.Copy(io.Discard, r.stream)
	return err == nil
}

// startsWithin reports whether the bytes at start, which the end of the file may cut short, begin like a record or a
// gzip member.
func (r *Reader) startsWithin(start int64) bool {
	var head [len(recordMagic)]byte
	n, _ := r.src.at(head[:], start)
	if n == 0 {
		return false
	}
	return bytes.HasPrefix([]byte(recordMagic), head[:n]) ||
		head[0] == gzipMagic[0] && (n < 2 || head[1] == gzipMagic[1])
}

// mayBePacked reports whether what cannot be read at the beginning of the file, or of the part of it, was a gzip
// member: so says the name of the file, or what is left there if one byte is damaged.
func (r *Reader) mayBePacked(start int64) bool {
	if start == r.first && strings.HasSuffix(r.o.File, ".gz") {
		return true
	}
	if start > 0 {
		return false
	}
	var head [4]byte
	if n, _ := r.src.at(head[:], 0); n < len(head) {
		return false
	}
	same := 0
	for i, c := range gzipMagic {
		if head[i] == c {
			same++
		}
	}
	return same == len(gzipMagic)-1
}

// markOfFile returns the mark of the first record in the file: a part that a Writer began in the middle of it has the
// same. It is nil if there is none, or if that record is damaged.
func (r *Reader) markOfFile() []byte {
	var head [markedBytes]byte
	if n, _ := r.src.at(head[:], 0); n < len(head) {
		return nil
	}
	mark, _ := headerMark(head[:])
	return mark
}

func (r *Reader) torn(c *CorruptError) error {
	return fmt.Errorf("reading WARC file %q: %w at offset %d: %s", r.o.File, ErrTorn, c.Offset, c.Reason)
}

// pos returns the offset of the next byte that in will return.
func (r *Reader) pos() int64 { return r.src.pos - int64(r.in.Buffered()) }

// seek continues at an offset.
func (r *Reader) seek(offset int64) {
	r.src.pos = offset
	r.in.Reset(r.src)
	r.inMember = false
}

// source is the io.Reader over the file. It keeps an error of the file, which must not be mistaken for damage.
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

// at reads up to len(p) bytes at an offset, never beyond end. It reads less only at the end.
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
