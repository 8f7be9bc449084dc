// SPDX-License-Identifier: Apache-2.0

package visit

import (
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/seine-crawler/seine/engine/fetch"
	"github.com/seine-crawler/seine/engine/internal/admission"
)

// TestRobotsContent: a robots.txt of which something is missing or cannot be decoded forbids everything, and is
// requested again as an unreachable one is. Only the bound on its size cuts one off without harm.
func TestRobotsContent(t *testing.T) {
	squeeze := func(s string) string {
		var b bytes.Buffer
		z := gzip.NewWriter(&b)
		io.WriteString(z, s)
		if err := z.Close(); err != nil {
			t.Fatal(err)
		}
		return b.String()
	}
	const text, head = disallowNo + "\n", "HTTP/1.1 200 OK\nContent-Type: text/plain"
	coded := func(label, body string) answer { return reply(head+"\nContent-Encoding: "+label, body) }
	short := func(why string, a answer) answer {
		return func(ctx context.Context, r *fetch.Request) *fetch.Response {
			resp := a(ctx, r)
			resp.Truncated = why
			return resp
		}
	}
	rng := rand.New(rand.NewPCG(1, 2))
	noise := make([]byte, robotsBodyMax)
	for i := range noise {
		noise[i] = "abcdefghijklmnopqrstuvwxyz0123456789\n"[rng.IntN(37)]
	}
	long := text + "#" + string(noise)
	whole := squeeze(text)
	damaged := []byte(whole)
	damaged[len(damaged)-8] ^= 1 // checksum
	headless := []byte(whole)
	headless[0] ^= 1
	for _, v := range []struct {
		name   string
		answer answer
		ok     bool
	}{
		{"plain", robotsTxt(text), true},
		{"gzip", coded("gzip", whole), true},
		{"identity, gzip", coded("identity, gzip", whole), true},
		{"gzip in two members", coded("gzip", squeeze("User-agent: *\n")+squeeze("Disallow: /no")), true},
		{"gzip and a line end", coded("gzip", whole+"\r\n"), true},
		{"longer than is used", robotsTxt(long), true},
		{"longer than is read", short("length", robotsTxt(long[:robotsBodyMax])), true},
		{"gzip, longer than is used", coded("gzip", squeeze(long+long)), true},
		{"gzip, longer than is read", short("length", coded("gzip", squeeze(long + long)[:robotsBodyMax])), true},
		{"plain under gzip", coded("gzip", text), true},

		{"gzip, gzip", coded("gzip, gzip", squeeze(whole)), false},
		{"twice in two fields", coded("gzip\nContent-Encoding: gzip", squeeze(whole)), false},
		{"unknown", coded("x-foo", text), false},
		{"compress", coded("compress", text), false},
		{"half a gzip", coded("gzip", squeeze(long)[:1000]), false},
		{"a gzip with a wrong checksum", coded("gzip", string(damaged)), false},
		{"a gzip without its first byte", coded("gzip", whole[1:]), false},
		{"a gzip with a wrong first byte", coded("gzip", string(headless)), false},
		{"two members, the second cut", coded("gzip", squeeze("User-agent: *\n")+squeeze("Disallow: /no")[:20]), false},
		{"65 members", coded("gzip", strings.Repeat(squeeze("#\n"), 64)+whole), false},
		{"gzip, read to its bound, short", short("length", coded("gzip", whole[:20])), false},
		{"plain under deflate, which has no mark", coded("deflate", text), false},
		{"text that is a short deflate", coded("deflate", "{\"a\":1}Allow: /x\nUser-agent: *\nDisallow: /no\n"), false},
		{"not brotli", coded("br", "\x00\x01\x02"), false},
		{"not zstd", coded("zstd", whole), false},
		{"time", short("time", robotsTxt(text)), false},
		{"disconnect", short("disconnect", robotsTxt(text)), false},
		{"404, cut off", short("disconnect", status(404)), false},
		{"a part", reply("HTTP/1.1 206 Partial\nContent-Type: text/plain", text), false},
		{"not modified", status(304), false},
		{"too slow", broken(fetch.FailTooSlow), false},
		{"overhead", broken(fetch.FailOverhead), false},
	} {
		w := newWorld(t, admission.Options{})
		h := NewHosts(w.env)
		u := w.url("http://a.example/x")
		w.web.set("http://a.example/robots.txt", v.answer)
		ask := func() string {
			s, err := h.robots(context.Background(), u, noWays)
			w.must(err)
			switch {
			case s.unreach > 0 && !s.rules.Allowed("/yes"):
				return "nothing"
			case s.rules.Allowed("/yes") && !s.rules.Allowed("/no"):
				return "as it says"
			}
			return fmt.Sprintf("%+v", s)
		}
		want := "nothing"
		if v.ok {
			want = "as it says"
		}
		if got := ask(); got != want {
			t.Errorf("%s allows %s, want %s", v.name, got, want)
		}
		w.pass(6 * time.Minute)
		w.web.set("http://a.example/robots.txt", robotsTxt(text))
		if got := ask(); got != "as it says" {
			t.Errorf("%s, then a good one: allows %s", v.name, got)
		}
		if n := w.web.count("http://a.example/robots.txt"); (n == 1) != v.ok {
			t.Errorf("%s: %d requests", v.name, n)
		}
		// A good copy stands in for one that is not whole.
		w.pass(25 * time.Hour)
		w.web.set("http://a.example/robots.txt", v.answer)
		if got := ask(); got != "as it says" {
			t.Errorf("%s, after a good one: allows %s", v.name, got)
		}
	}
}
