// SPDX-License-Identifier: Apache-2.0

package warc

// Every bound of the package, with its unit and what happens beyond it.
const (
	// DefaultMaxFileBytes is the file size at which a Writer begins the next file, in compressed bytes. Archives use
	// 1 GiB (IIPC recommendation): the files are small enough to copy and few enough to list.
	DefaultMaxFileBytes = 1 << 30

	// DefaultMaxBlockBytes bounds the block of one record, in bytes. A Writer refuses a larger exchange. A Reader
	// returns *TooLargeError for a larger block and skips the record. So a Reader accepts all that a Writer accepts.
	DefaultMaxBlockBytes = 256 << 20

	// MaxHeaderBytes bounds the WARC header of one record, in bytes, with its version line and blank line. A Reader
	// reports a record with a larger header as corrupt. The bounds below keep a Writer's headers much smaller.
	MaxHeaderBytes = 256 << 10

	// MaxURIBytes bounds a target URI, in bytes; a Writer refuses longer ones.
	MaxURIBytes = 16 << 10

	// MaxFieldBytes bounds the value of one field given by the caller, in bytes; a Writer refuses longer ones.
	MaxFieldBytes = 16 << 10

	// MaxFields bounds the number of fields that the caller adds to one record; a Writer refuses more.
	MaxFields = 64

	// maxFieldsBytes bounds the caller's fields of one record together, after escaping, in bytes.
	maxFieldsBytes = 128 << 10

	// maxHeadBytes bounds an HTTP head given to a Writer, in bytes. It is more than any client accepts (package fetch
	// stops far earlier), and much smaller than a block.
	maxHeadBytes = 4 << 20

	// maxPadding bounds the CR and LF bytes that a Reader skips after one record in a gzip member; the standard
	// requires four. More is damage: otherwise a decompression bomb could pass for padding.
	maxPadding = 64

	// maxResyncs bounds how many damaged places of a file without marks one Reader skips. Each costs a search that
	// begins one byte after the start of the damage, so a file made of nested half-records would otherwise cost
	// quadratic time. With marks nobody can make such a file.
	maxResyncs = 1000

	// mendFaultsMax bounds the faults that Mend reports of one file. It mends all.
	mendFaultsMax = 1000

	// sourceBufferBytes is a Reader's read-ahead on the file, and streamBufferBytes on a decompressed member.
	sourceBufferBytes = 64 << 10
	streamBufferBytes = 32 << 10

	// firstBlockBytes is the most that a Reader allocates for a block because of its Content-Length alone. Beyond it
	// the buffer grows with the bytes that arrive.
	firstBlockBytes = 1 << 20

	// probeBytes bounds how many compressed bytes of a file are decompressed to see whether a record begins at an
	// offset. It is enough for the gzip header of any WARC tool and the first Huffman table.
	probeBytes = 4 << 10

	// maxPooledBytes is the largest buffer that a Writer keeps for the next record. Larger ones are freed, so that a
	// 100 MB page does not stay in memory until the crawl ends.
	maxPooledBytes = 4 << 20

	// forgetBytes is the least part of a file to drop from the page cache at once: a power of two and whole pages.
	forgetBytes = 64 << 10
	// writeBytes is how much a Writer collects before it writes to the file, in compressed bytes: some fifty pages.
	writeBytes = 256 << 10

	// maxFileNumber is the last file number of a prefix: up to it, numbers of five digits sort as text.
	maxFileNumber = 99999
)
