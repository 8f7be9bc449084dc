// SPDX-License-Identifier: Apache-2.0

package storage

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
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

// sentSetting begins the names of the settings that hold the numbers of index writers; the writer's name follows.
const sentSetting = "index-writer "

// SentNumber returns the number of the index writer of a name. A new name gets a number that no other writer has, and
// under which nothing is kept.
func (s *Store) SentNumber(name string) (uint32, error) {
	numbers, err := s.SentNumbers()
	if err != nil {
		return 0, err
	}
	if n, known := numbers[name]; known {
		return n, nil
	}
	n := uint32(1)
	for _, other := range numbers {
		n = max(n, other+1)
	}
	return n, s.PutSettings(map[string]string{sentSetting + name: strconv.FormatUint(uint64(n), 10)})
}

// SentNumbers returns the numbers of all index writers by name.
func (s *Store) SentNumbers() (map[string]uint32, error) {
	numbers := map[string]uint32{}
	prefix := []byte(identityPrefix + sentSetting)
	sc := s.Scan(Meta(), prefix, nil)
	for sc.Next() && bytes.HasPrefix(sc.Key(), prefix) {
		name := string(sc.Key()[len(prefix):])
		n, ok := sentNumber(sc.Value())
		if !ok {
			err := fmt.Errorf("%w: number %q of index writer %s", ErrCorrupt, sc.Value(), name)
			return nil, errors.Join(err, sc.Close())
		}
		numbers[name] = n
	}
	return numbers, sc.Close()
}

func sentNumber(text []byte) (n uint32, ok bool) {
	wide, err := strconv.ParseUint(string(text), 10, 32)
	return uint32(wide), err == nil && wide > 0 && wide < math.MaxUint32
}

// CheckMeta returns an error if a row of Meta is the number of an index writer and none: ErrCorrupt.
func CheckMeta(key, value []byte) error {
	if _, ok := sentNumber(value); !ok && bytes.HasPrefix(key, []byte(identityPrefix+sentSetting)) {
		return fmt.Errorf("%w: number %q of an index writer", ErrCorrupt, value)
	}
	return nil
}

// CheckSent returns an error unless a row of a SentRange is one that was written: ErrCorrupt.
func CheckSent(key, value []byte) error {
	if bytes.Equal(key, sentStateKey) {
		_, err := decodeSentState(value)
		return err
	}
	_, err := DecodeSent(value)
	return err
}

// sent checks what index writers have acknowledged.
func (v *verifier) sent() error {
	return v.each(plainRange(tagSent), func(key, value []byte) error {
		var err error
		if len(key) < 5 {
			err = fmt.Errorf("key of %d bytes", len(key))
		} else {
			err = CheckSent(key[4:], value)
		}
		if err != nil {
			v.problem(plainRange(tagSent), key, "%s", err)
		}
		return nil
	})
}
