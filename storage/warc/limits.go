// SPDX-License-Identifier: Apache-2.0

package warc

// Every bound of the package, with its unit and what happens beyond it.
const (
	// DefaultMaxFileBytes is the file size at which a Writer begins the next file, in compressed bytes. 1 GiB is
	// what the archives of this world use (IIPC recommendation): small enough to copy, few enough to list.
	DefaultMaxFileBytes = 1 << 30

	// DefaultMaxBlockBytes bounds the block of one record, in bytes. A Writer refuses a larger exchange, a Reader
	// answers *TooLargeError and steps over the record: nothing that a Writer accepts is refused by a Reader.
	DefaultMaxBlockBytes = 256 << 20

	// MaxHeaderBytes bounds the WARC header of one record, in bytes, version line and blank line included. A Reader
	// calls a record with a larger one corrupt; the bounds below keep a Writer far under it.
	MaxHeaderBytes = 256 << 10

	// MaxURIBytes bounds a target URI, in bytes; longer ones are refused by a Writer.
	MaxURIBytes = 16 << 10

	// MaxFieldBytes bounds the value of one caller's field, in bytes; longer ones are refused by a Writer.
	MaxFieldBytes = 16 << 10

	// MaxFields bounds the caller's fields of one record; more are refused by a Writer.
	MaxFields = 64

	// maxFieldsBytes bounds the caller's fields of one record together, after escaping, in bytes.
	maxFieldsBytes = 128 << 10

	// maxHeadBytes bounds an HTTP head given to a Writer, in bytes: beyond what any client accepts (fetch stops far
	// earlier), and small beside a block.
	maxHeadBytes = 4 << 20

	// maxPadding bounds the CR and LF bytes that a Reader steps over after one record in a gzip member, in bytes;
	// the standard says four. More is damage: it would let a decompression bomb pass for padding.
	maxPadding = 64

	// maxResyncs bounds how many damaged places one Reader steps over. Each costs a search that begins one byte
	// after the damage, so a file made of nested half-records would otherwise cost quadratic time.
	maxResyncs = 1000

	// sourceBufferBytes is a Reader's read-ahead on the file, and streamBufferBytes on a decompressed member.
	sourceBufferBytes = 64 << 10
	streamBufferBytes = 32 << 10

	// firstBlockBytes is the most that a Reader allocates for a block on the word of its Content-Length alone;
	// beyond it the buffer grows with what really arrives.
	firstBlockBytes = 1 << 20

	// probeBytes is how much of a file is decompressed at most, in compressed bytes, to see whether a record begins
	// at a place: enough for any gzip header of a WARC tool and the first Huffman table.
	probeBytes = 4 << 10

	// maxPooledBytes is the largest buffer that a Writer keeps for the next record; larger ones go to the collector,
	// so that one 100 MB page does not stay in memory for the life of a crawl.
	maxPooledBytes = 4 << 20

	// forgetBytes is the least that the system is told to forget of a file at once, a power of two and whole pages.
	forgetBytes = 64 << 10
	// writeBytes is how much a Writer collects before it writes to the file, in compressed bytes: some fifty pages.
	writeBytes = 256 << 10

	// maxFileNumber is the last number of a file of one prefix: five digits sort as text up to it.
	maxFileNumber = 99999
)
