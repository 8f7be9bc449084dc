// SPDX-License-Identifier: Apache-2.0

package storage

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"math/bits"
	"strconv"
	"strings"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// What Pebble takes for the end of a log or for a new store, but is damage, Open must find before Pebble acts on it:
// Pebble deletes the tables that its MANIFEST does not name.

// refuseLostMarker refuses a directory that has tables or logs and not the marker files that say which of them count.
// Pebble would make a new store there. While a store is made, the markers are durable before the first log or table.
func refuseLostMarker(dir string, names []string) error {
	var manifest, format, tables, logs bool
	for _, name := range names {
		manifest = manifest || strings.HasPrefix(name, markerPrefix+"manifest.")
		format = format || strings.HasPrefix(name, markerPrefix+"format-version.")
		tables = tables || strings.HasSuffix(name, tableSuffix)
		logs = logs || strings.HasSuffix(name, logSuffix)
	}
	lost := ""
	switch {
	case (tables || logs) && !manifest:
		lost = "marker.manifest.*"
	case tables && !format:
		lost = "marker.format-version.*"
	}
	if lost == "" {
		return nil
	}
	return corrupt("%s has tables or logs, and the file %s that says which of them count is lost: "+
		"it is not taken for a new store", dir, lost)
}

const (
	tableSuffix = ".sst"
	logSuffix   = ".log"
)

// checkLogs looks for damage in the current MANIFEST and in the logs, which Pebble would take for their end, so that
// everything after it would be lost without a word.
func checkLogs(fs vfs.FS, dir string, names []string) error {
	for _, name := range names {
		number, isLog := strings.CutSuffix(name, logSuffix)
		log := uint64(0)
		if isLog {
			// A log file is named NUMBER.log, the second and later parts of one NUMBER-PART.log.
			number, _, _ = strings.Cut(number, "-")
			n, err := strconv.ParseUint(number, 10, 64)
			if err != nil {
				continue
			}
			log = n
		} else if name != currentManifest(names) {
			continue
		}
		if err := checkLog(fs, fs.PathJoin(dir, name), uint32(log)); err != nil {
			return err
		}
	}
	return nil
}

// currentManifest returns the name that the newest marker has, "" if there is none. The marker's name is
// marker.manifest.COUNT.NAME.
func currentManifest(names []string) (current string) {
	newest := uint64(0)
	for _, name := range names {
		rest, ok := strings.CutPrefix(name, markerPrefix+"manifest.")
		count, manifest, ok2 := strings.Cut(rest, ".")
		if n, err := strconv.ParseUint(count, 10, 64); ok && ok2 && err == nil && n >= newest {
			newest, current = n, manifest
		}
	}
	return current
}

// Pebble's log format, of MANIFEST and logs alike: blocks of logBlock bytes, each a sequence of chunks. A chunk is
//
//	crc 4 | length 2 | type 1 | log number 4 | sync offset 8 | payload
//
// where types 1 to 4 have neither log number nor sync offset, and 5 to 8 no sync offset. The crc is that of the type
// and all that follows.
const (
	logBlock  = 32 << 10
	logHeader = 7
	// logPage is the unit that a power loss keeps or loses.
	logPage = 4 << 10
)

// logHeaders is the number of bytes between the first logHeader bytes of a chunk and its payload, by type.
var logHeaders = [...]int{0, 0, 0, 0, 0, 4, 4, 4, 4, 12, 12, 12, 12}

// checkLog reads a log and returns an ErrCorrupt if what ends it is damage: a chunk of which one bit is flipped, or
// in a MANIFEST, of which each record is synced before the next is written, a record with others after it. What a crash
// leaves is no damage: a chunk that the end of the file cuts off, or of which pages were not written, is a write that
// was not acknowledged.
func checkLog(fs vfs.FS, name string, number uint32) error {
	f, err := fs.Open(name)
	if err != nil {
		return fmt.Errorf("reading %s: %w", name, err)
	}
	defer f.Close() // open for reading: there is nothing to lose
	block := make([]byte, logBlock)
	for at, ended := int64(0), int64(-1); ; at += logBlock {
		n, err := f.ReadAt(block, at)
		if err != nil && !errors.Is(err, io.EOF) {
			return fmt.Errorf("reading %s: %w", name, err)
		}
		b := block[:n]
		if ended < 0 {
			end, damaged := walkChunks(b, number)
			switch {
			case damaged:
				return corrupt("%s is damaged at offset %d", name, at+int64(end))
			case end < n && holed(b[end:]):
				return nil
			case end < n:
				ended = at + int64(end)
			}
		} else if number == 0 && readChunk(b, 0, 0).begins {
			return corrupt("%s is damaged at offset %d: records after it are intact", name, ended)
		}
		if n < logBlock {
			return nil
		}
	}
}

// walkChunks returns where the chunks of a block end: its length, or the offset of the first faulty chunk. damaged says
// that this chunk is a whole one but for one bit, or in a MANIFEST that another record follows it.
func walkChunks(b []byte, number uint32) (end int, damaged bool) {
	for at := 0; at < len(b); {
		if len(b)-at < logHeader {
			return len(b), false
		}
		c := readChunk(b, at, number)
		switch {
		case c.good:
			at = c.end
			continue
		case c.empty && len(b)-at < logHeader+12:
			return len(b), false // no chunk fits there
		}
		if oneBitOff(b, at, number) {
			return at, true
		}
		after := number == 0 && c.end > at && readChunk(b, c.end, 0).begins
		return at, after && !holed(b[at:c.end])
	}
	return len(b), false
}

// chunk is what readChunk found.
type chunk struct {
	end     int  // of the chunk in the block; 0: it would cross the end
	good    bool // it is complete, and of this log
	begins  bool // likewise, and it begins a record
	empty   bool // its header is zero
	foreign bool // complete, and of an earlier log in the same file
}

// readChunk reads the chunk at an offset of a block. number is that of the log, 0 of a MANIFEST, whose chunks have
// none.
func readChunk(b []byte, at int, number uint32) (c chunk) {
	if len(b)-at < logHeader {
		return c
	}
	h := b[at : at+logHeader]
	length, kind := int(h[4])|int(h[5])<<8, int(h[6])
	c.empty = [logHeader]byte(h) == [logHeader]byte{}
	if kind == 0 || kind >= len(logHeaders) {
		return c
	}
	// The length is that of the payload.
	end := at + logHeader + logHeaders[kind] + length
	if end > len(b) {
		return c
	}
	c.end = end
	if storedCRC(h) != crcOf(b[at+6:end]) {
		return c
	}
	of := uint32(0)
	if kind > 4 {
		of = binary.LittleEndian.Uint32(b[at+logHeader:])
	}
	c.foreign = of != number
	c.good = !c.foreign
	c.begins = c.good && (kind-1)%4 < 2
	return c
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// crcOf returns the checksum of a part of a chunk, storedCRC the one at the start of a chunk. (The format stores it
// rotated by 15 bits, plus a constant.)
func crcOf(b []byte) uint32 { return crc32.Checksum(b, castagnoli) }

func storedCRC(chunk []byte) uint32 {
	return bits.RotateLeft32(binary.LittleEndian.Uint32(chunk)-0xa282ead8, 15)
}

// holed reports whether a page in a part of a log was never written, as a power loss leaves it.
func holed(b []byte) bool {
	for len(b) > 0 {
		n := min(len(b), logPage)
		if isZero(b[:n]) {
			return true
		}
		b = b[n:]
	}
	return false
}

func isZero(b []byte) bool {
	for _, c := range b {
		if c != 0 {
			return false
		}
	}
	return true
}

// oneBitOff reports whether the chunk at an offset of a block would be good with one bit changed.
func oneBitOff(b []byte, at int, number uint32) bool {
	for i := 4; i < logHeader; i++ { // length and type say where the chunk ends
		for bit := range 8 {
			b[at+i] ^= 1 << bit
			c := readChunk(b, at, number)
			b[at+i] ^= 1 << bit
			if c.good {
				return true
			}
		}
	}
	c := readChunk(b, at, number)
	if c.end == 0 || c.foreign {
		return false
	}
	want := crcOf(b[at+6 : c.end])
	for bit := range 32 { // in the crc
		b[at+bit/8] ^= 1 << (bit % 8)
		same := storedCRC(b[at:]) == want
		b[at+bit/8] ^= 1 << (bit % 8)
		if same {
			return true
		}
	}
	off := storedCRC(b[at:]) ^ want
	// A flipped bit changes the crc by an amount that depends on its distance from the end alone.
	var change [8]uint32
	for bit := range change {
		change[bit] = castagnoli[1<<bit]
	}
	for range c.end - at - 6 {
		for bit := range change {
			if change[bit] == off {
				return true
			}
			change[bit] = castagnoli[byte(change[bit])] ^ change[bit]>>8
		}
	}
	return false
}
