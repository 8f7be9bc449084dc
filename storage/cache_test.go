// SPDX-License-Identifier: Apache-2.0

package storage

import (
	"fmt"
	"math/rand/v2"
	"testing"
)

// TestIdleCache: blocks take the spare part of the cache only while the store is idle.
func TestIdleCache(t *testing.T) {
	const small, large = 1 << 20, 8 << 20
	s, err := Open("store", Options{FS: NewMemFS(), CacheBytes: small, IdleCacheBytes: large})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}()
	noise, ing := rand.NewChaCha8([32]byte{}), s.NewIngestion()
	table := ing.Table(Crawldb())
	value := make([]byte, 4<<10)
	for i := range 1024 {
		noise.Read(value)
		if err := table.Set(fmt.Appendf(nil, "%06d", i), value); err != nil {
			t.Fatal(err)
		}
	}
	if err := ing.Commit(); err != nil {
		t.Fatal(err)
	}
	cached := func() int64 {
		t.Helper()
		for sc := s.Scan(Crawldb(), nil, nil); ; {
			if !sc.Next() {
				sc.Close()
				break
			}
		}
		m, err := s.Counters()
		if err != nil {
			t.Fatal(err)
		}
		return m.CacheBytes
	}
	for _, idle := range []bool{false, true, true, false, false, true} {
		s.SetIdle(idle)
		if n := cached(); n > small && !idle || n < 2*small && idle {
			t.Errorf("idle %t: %d bytes are cached", idle, n)
		}
	}
	s.SetIdle(false)
	if m, err := s.Counters(); err != nil || m.CacheBytes > small {
		t.Errorf("%d bytes are cached still (%v)", m.CacheBytes, err)
	}
}
