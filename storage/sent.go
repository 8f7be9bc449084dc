// SPDX-License-Identifier: Apache-2.0

package storage

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"strconv"
)

// SentRange holds what an index writer has acknowledged, by URL key: the stamp of the document. Beside these is one row
// with the state of the writer, see SentState. Writers have numbers, see Store.SentNumber.
func SentRange(writer uint32) Range { return segmentRange(tagSent, writer) }

// SentState is what is kept of an index writer as a whole.
//
//	8 bytes  Version
//	1 byte   1 if Uncommitted
type SentState struct {
	Version     int64 // of the last write that was acknowledged
	Uncommitted bool  // something was written since the last commit
}

// sentStateKey is the key of the SentState. No URL key begins with a 0 byte; they follow it.
var sentStateKey = []byte{0}

// SentFirst is before the key of every URL in a SentRange, and behind that of the state.
func SentFirst() []byte { return []byte{1} }

const sentStateBytes, sentStampBytes = 9, 8

// SentState reads the state of a writer; the zero state if it has none.
func (s *Store) SentState(writer uint32) (st SentState, err error) {
	value, found, err := s.Get(SentRange(writer), sentStateKey, nil)
	if err != nil || !found {
		return st, err
	}
	return decodeSentState(value)
}

func decodeSentState(b []byte) (st SentState, err error) {
	if len(b) != sentStateBytes || b[8] > 1 {
		return st, fmt.Errorf("%w: state of an index writer of %d bytes", ErrCorrupt, len(b))
	}
	return SentState{int64(binary.BigEndian.Uint64(b)), b[8] == 1}, nil
}

// SetSentState adds the write of a writer's state.
func (b *Batch) SetSentState(writer uint32, st SentState) error {
	value := binary.BigEndian.AppendUint64(nil, uint64(st.Version))
	value = append(value, 0)
	if st.Uncommitted {
		value[8] = 1
	}
	return b.Set(SentRange(writer), sentStateKey, value)
}

// AppendSent appends a value of a SentRange: the stamp of the document that was acknowledged, or 0 if it is to be sent
// again.
func AppendSent(dst []byte, stamp uint64) []byte { return binary.BigEndian.AppendUint64(dst, stamp) }

// DecodeSent decodes a value of a SentRange.
func DecodeSent(b []byte) (stamp uint64, err error) {
	if len(b) != sentStampBytes {
		return 0, fmt.Errorf("%w: stamp of a sent document of %d bytes", ErrCorrupt, len(b))
	}
	return binary.BigEndian.Uint64(b), nil
}

// SentNumber returns the number of the index writer of a name. A new name gets the next number.
func (s *Store) SentNumber(name string) (uint32, error) {
	const last = "index-writers"
	key := "index-writer " + name
	text, known, err := s.Setting(key)
	if err == nil && !known {
		var n string
		if n, _, err = s.Setting(last); err != nil {
			return 0, err
		}
		number, _ := strconv.ParseUint(n, 10, 32) // "": the first
		text = strconv.FormatUint(number+1, 10)
		err = s.PutSettings(map[string]string{last: text, key: text})
	}
	if err != nil {
		return 0, err
	}
	n, err := strconv.ParseUint(text, 10, 32)
	if err != nil || n == 0 {
		return 0, fmt.Errorf("%w: number %q of index writer %s", ErrCorrupt, text, name)
	}
	return uint32(n), nil
}

// sent checks what index writers have acknowledged.
func (v *verifier) sent() error {
	return v.each(plainRange(tagSent), func(key, value []byte) error {
		var err error
		switch {
		case len(key) < 5:
			err = fmt.Errorf("key of %d bytes", len(key))
		case bytes.Equal(key[4:], sentStateKey):
			_, err = decodeSentState(value)
		default:
			_, err = DecodeSent(value)
		}
		if err != nil {
			v.problem(plainRange(tagSent), key, "%s", err)
		}
		return nil
	})
}
