// SPDX-License-Identifier: Apache-2.0

package measure

import (
	"bytes"
	"crypto/sha1"
	"errors"
	"os"
	"sync"

	"github.com/klauspost/compress/flate"
	tdparse "github.com/tdewolff/parse/v2"
	tdhtml "github.com/tdewolff/parse/v2/html"
)

// keeper does to every page what every crawler must, with the libraries that seine uses: lexing, a digest, compression,
// one file. A nil keeper does nothing. Safe for concurrent use.
type keeper struct {
	mu  sync.Mutex // guards all below
	f   *os.File
	buf bytes.Buffer
}

// keepBytes is how much is gathered before it is written, as in seine.
const keepBytes = 256 << 10

func newKeeper(name string) (*keeper, error) {
	if name == "" {
		return nil, nil
	}
	f, err := os.Create(name)
	return &keeper{f: f}, err
}

var packed = sync.Pool{New: func() any { return new(bytes.Buffer) }}

func (k *keeper) keep(page []byte) error {
	if k == nil {
		return nil
	}
	out := packed.Get().(*bytes.Buffer)
	defer packed.Put(out)
	out.Reset()
	for l := tdhtml.NewLexer(tdparse.NewInputBytes(page)); ; {
		if kind, _ := l.Next(); kind == tdhtml.ErrorToken {
			break
		}
	}
	digest := sha1.Sum(page)
	out.Write(digest[:])
	if err := flate.StatelessDeflate(out, page, true, nil); err != nil {
		return err
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	k.buf.Write(out.Bytes())
	if k.buf.Len() < keepBytes {
		return nil
	}
	return k.flush()
}

func (k *keeper) flush() error {
	_, err := k.buf.WriteTo(k.f)
	return err
}

func (k *keeper) close() error {
	if k == nil {
		return nil
	}
	return errors.Join(k.flush(), k.f.Sync(), k.f.Close())
}
