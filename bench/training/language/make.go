// SPDX-License-Identifier: Apache-2.0

package main

import (
	"archive/zip"
	"bytes"
	"cmp"
	"compress/gzip"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"
)

const (
	// commonest is the number of groups of each length that are taken from a language.
	commonest = 2500
	// chance is the probability of a group in text of another language; groups below it say nothing.
	chance = 3e-6
	// weightUnit is the one of engine/parse/language.
	weightUnit = 16
)

// small are languages for which more text is mistaken than is written in them: constructed and dead languages, and
// those that share most of their words with a much larger one.
var small = strings.Fields("bs cy eo eu ga la lg mi ms nn sn so st tn ts xh yo zu")

// makeModel reads lingua's models, a folder for each language, and writes seine's.
func makeModel(dir, out string) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	var tags []string
	groups := map[uint64][]byte{} // language and weight, by key
	for _, e := range entries {
		if !e.IsDir() {
			continue
		}
		language := byte(len(tags))
		tags = append(tags, e.Name())
		common, err := commonGroups(filepath.Join(dir, e.Name()))
		if err != nil {
			return fmt.Errorf("language %s: %w", e.Name(), err)
		}
		for key, p := range common {
			w := math.Round(weightUnit * math.Log(p/chance))
			groups[key] = append(groups[key], language, byte(min(w, 255)))
		}
	}
	b := append([]byte("lng1"), byte(len(tags)))
	for _, t := range tags {
		isSmall := byte(0)
		if slices.Contains(small, t) {
			isSmall = 1
		}
		b = append(append(append(b, byte(len(t))), t...), isSmall)
	}
	b = binary.AppendUvarint(b, uint64(len(groups)))
	before, weights := uint64(0), 0
	for _, key := range slices.Sorted(maps.Keys(groups)) {
		list := groups[key]
		b = append(append(binary.AppendUvarint(b, key-before), byte(len(list)/2)), list...)
		before, weights = key, weights+len(list)/2
	}
	var packed bytes.Buffer
	z, err := gzip.NewWriterLevel(&packed, gzip.BestCompression)
	if err != nil {
		return err
	}
	if _, err := z.Write(b); err != nil {
		return err
	}
	if err := z.Close(); err != nil {
		return err
	}
	fmt.Printf("%d languages, %d groups, %d weights, %d bytes\n", len(tags), len(groups), weights, packed.Len())
	return os.WriteFile(out, packed.Bytes(), 0o644)
}

// commonGroups returns the probabilities of a language's commonest groups of one to three letters, by key.
func commonGroups(dir string) (map[uint64]float64, error) {
	common := map[uint64]float64{}
	before := map[string]float64{"": 1}
	for n, name := range []string{"unigrams", "bigrams", "trigrams"} {
		given, err := readGroups(filepath.Join(dir, name+".pb.bin.zip"))
		if errors.Is(err, fs.ErrNotExist) { // Chinese has single letters only
			break
		}
		if err != nil {
			return nil, err
		}
		// lingua has a group's probability given all of its letters but the last.
		all := map[string]float64{}
		for g, p := range given {
			_, last := utf8.DecodeLastRuneInString(g)
			if q, ok := before[g[:len(g)-last]]; ok && utf8.RuneCountInString(g) == n+1 {
				all[g] = p * q
			}
		}
		before = all
		order := slices.SortedFunc(
			maps.Keys(all),
			func(a, b string) int { return cmp.Or(cmp.Compare(all[b], all[a]), cmp.Compare(a, b)) },
		)
		for _, g := range order[:min(len(order), commonest)] {
			if key := keyOf(g); all[g] > chance && key != 0 {
				common[key] = all[g]
			}
		}
	}
	return common, nil
}

// keyOf packs letters into 16 bits each. It returns 0 for letters that don't fit.
func keyOf(g string) (key uint64) {
	for _, r := range g {
		if r > 0xffff {
			return 0
		}
		key = key<<16 | uint64(r)
	}
	return key
}

// readGroups reads one of lingua's files: a protocol buffer in a zip archive whose field 4 is messages of a probability
// (1) and the groups that have it (2).
func readGroups(path string) (map[string]float64, error) {
	z, err := zip.OpenReader(path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = z.Close() }()
	if len(z.File) != 1 {
		return nil, fmt.Errorf("%s: %d files, want 1", path, len(z.File))
	}
	f, err := z.File[0].Open()
	if err != nil {
		return nil, err
	}
	b, err := io.ReadAll(f)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	out := map[string]float64{}
	ok := fields(b, func(field uint64, set []byte) {
		if field != 4 {
			return
		}
		p := 0.0
		fields(set, func(field uint64, v []byte) {
			switch {
			case field == 1 && len(v) == 8:
				p = math.Float64frombits(binary.LittleEndian.Uint64(v))
			case field == 2:
				out[string(v)] = p
			}
		})
	})
	if !ok {
		return nil, fmt.Errorf("%s: not a model of lingua's", path)
	}
	return out, nil
}

// fields calls f for each field of a message that is a string, a message or a number of 64 bits.
func fields(b []byte, f func(field uint64, value []byte)) bool {
	for len(b) > 0 {
		head, n := binary.Uvarint(b)
		if n <= 0 {
			return false
		}
		b = b[n:]
		size := uint64(8)
		switch head & 7 {
		case 0, 2:
			if size, n = binary.Uvarint(b); n <= 0 {
				return false
			}
			if b = b[n:]; head&7 == 0 {
				continue
			}
		case 1:
		default:
			return false
		}
		if size > uint64(len(b)) {
			return false
		}
		f(head>>3, b[:size])
		b = b[size:]
	}
	return true
}
