// SPDX-License-Identifier: Apache-2.0

package phases

import (
	"testing"

	"github.com/seine-crawler/seine/engine/internal/admission"
	"github.com/seine-crawler/seine/storage"
)

// TestParseSeed: what people type for a URL.
func TestParseSeed(t *testing.T) {
	for _, c := range []struct {
		raw, want string // "": an error
		assumed   bool
	}{
		{"http://example.org/", "http://example.org/", false},
		{"https://example.org", "https://example.org/", false},
		{"example.org", "https://example.org/", true},
		{"Example.ORG/a?b", "https://example.org/a?b", true},
		{"//example.org/a", "https://example.org/a", true},
		{"example.org:8080/x", "https://example.org:8080/x", true},
		{"localhost", "https://localhost/", true},
		{"localhost:8080", "https://localhost:8080/", true},
		{"intranet:8080", "https://intranet:8080/", true},
		{"127.0.0.1", "https://127.0.0.1/", true},
		{"[::1]:8080/", "https://[::1]:8080/", true},
		{"bücher.example", "https://xn--bcher-kva.example/", true},
		{"intranet", "", false},
		{"not a url", "", false},
		{"mailto:someone@example.org", "", false},
		{"someone@example.org", "", false},
		{"ftp://example.org/", "", false},
		{"javascript:void(0)", "", false},
		{"/etc/passwd", "", false},
		{"./seeds.txt", "", false},
		{"..", "", false},
		{".", "", false},
		{"", "", false},
		{"http://", "", false},
		{"example.org:port", "", false},
	} {
		u, assumed, err := ParseSeed(c.raw)
		if u.String() != c.want || assumed != c.assumed || (err == nil) != (c.want != "") {
			t.Errorf("%q is %q, assumed %v, %v; want %q, %v", c.raw, u, assumed, err, c.want, c.assumed)
		}
	}
}

// TestSchemeAssumed: the record of a seed without a scheme says so, also one that was injected with https before and
// was never reached.
func TestSchemeAssumed(t *testing.T) {
	w := newWorld(t, admission.Options{})
	defer w.close()
	r := w.inject("a.example", "b.example:8080/x", "https://c.example/")
	if r.New != 3 || r.Assumed != 2 {
		t.Errorf("%+v", r)
	}
	assumed := func(url string) bool {
		record := w.records()[w.key(url)]
		return record.SchemeAssumed()
	}
	if !assumed("https://a.example/") || !assumed("https://b.example:8080/x") || assumed("https://c.example/") {
		t.Errorf("records: %+v", w.records())
	}
	if r := w.inject("c.example", "a.example"); r.Known != 2 || !assumed("https://c.example/") {
		t.Errorf("%+v %+v", r, w.records())
	}
	record := w.records()[w.key("https://a.example/")]
	if n := len(record.Meta); n != 1 || record.Meta[0] != (storage.Field{Name: "seine.scheme", Value: "assumed"}) {
		t.Errorf("%+v", record.Meta)
	}
}
