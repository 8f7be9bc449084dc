// SPDX-License-Identifier: Apache-2.0

package urlkey

import (
	"testing"

	"pgregory.net/rapid"
)

// TestPart: what two parts have in common, and what one has beside the other, are one part.
func TestPart(t *testing.T) {
	bounds := rapid.SampledFrom([]string{"", "com,a,", "com,b,", "com,b,www,)", "org,"})
	rapid.Check(t, func(t *rapid.T) {
		a := Part{bounds.Draw(t, "from"), bounds.Draw(t, "until")}
		b := Part{bounds.Draw(t, "from"), bounds.Draw(t, "until")}
		for _, p := range []Part{a, b} {
			if p.Until != "" && p.Until < p.From {
				t.Skip("no part")
			}
		}
		both, some := a.Common(b)
		rest := a.Without(b)
		for _, host := range []string{"com,a,)", "com,a,www,)", "com,b,)", "com,b,www,)", "com,c,)", "org,)"} {
			for _, key := range []string{host, host + "/ http"} {
				k, n := []byte(key), 0
				for _, p := range rest {
					if p.Has(k) {
						n++
					}
				}
				in := some && both.Has(k)
				if in != (a.Has(k) && b.Has(k)) || n == 1 != (a.Has(k) && !b.Has(k)) || n > 1 {
					t.Fatalf("%s in %v and %v: common %v %t, rest %v", key, a, b, both, some, rest)
				}
			}
		}
	})
}
