// SPDX-License-Identifier: Apache-2.0

package parse

import (
	"bytes"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// plainRun is run, byte by byte.
func plainRun(b []byte) (n int) {
	for n < len(b) {
		c := b[n]
		single := c == ' ' && n > 0 && n+1 < len(b) && byteClass[b[n+1]] == bytePlain
		if byteClass[c] != bytePlain && !single {
			break
		}
		n++
	}
	return n
}

// TestPlainWords: plainWords never accepts more than plainRun, and nearly as much on plain text.
func TestPlainWords(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		b := []byte(rapid.StringMatching(`([a-z~ ]|[ -~]|  |é|\x00|\x1f|\x7f|&|<|\t|word word )*`).Draw(t, "text"))
		for from := range b {
			taken := plainWords(b[from:], false)
			if most := plainRun(b[from:]); taken > most {
				t.Fatalf("%q: took %d of %d bytes", b[from:], taken, most)
			}
		}
	})
	long := []byte(strings.Repeat("some plain words ", 100))
	if n := plainWords(long, false); n < len(long)-8 {
		t.Errorf("took %d of %d", n, len(long))
	}
	if n := plainWords(bytes.Repeat([]byte("x"), 64), false); n != 64 {
		t.Errorf("took %d of 64", n)
	}
}
