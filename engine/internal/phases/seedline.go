// SPDX-License-Identifier: Apache-2.0

package phases

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/seine-crawler/seine/engine/policy"
	"github.com/seine-crawler/seine/storage"
	"github.com/seine-crawler/seine/storage/urlkey"
)

// Keys of a seed line that set the record rather than metadata; Nutch's names. policy.MetaFixedInterval sets both.
const (
	seedScore    = "nutch.score"
	seedInterval = "nutch.fetchInterval"
)

// ParseSeed parses the URL of a seed. People type "example.org": a text without a scheme that begins like a host gets
// https, and assumed is true. The error is that of the text as it was given.
func ParseSeed(raw string) (u urlkey.URL, assumed bool, err error) {
	u, err = urlkey.Parse(raw)
	if err == nil || !beginsWithHost(raw) {
		return u, false, err
	}
	with, failed := urlkey.Parse("https://" + strings.TrimPrefix(raw, "//"))
	if failed != nil {
		return u, false, err
	}
	return with, true, nil
}

// beginsWithHost reports whether a text without a scheme begins with a host: a name with a dot, localhost, an
// address, or any name with a port.
func beginsWithHost(s string) bool {
	s = strings.TrimPrefix(s, "//")
	if i := strings.IndexAny(s, "/?#\\"); i >= 0 {
		s = s[:i]
	}
	if strings.ContainsAny(s, "@ \t") {
		return false
	}
	if strings.HasPrefix(s, "[") {
		return true
	}
	name, port, hasPort := strings.Cut(s, ":")
	if name == "" || name[0] == '.' || name[len(name)-1] == '.' && !strings.Contains(name[:len(name)-1], ".") ||
		hasPort && (port == "" || strings.Trim(port, "0123456789") != "") {
		return false
	}
	return hasPort || strings.Contains(name, ".") || strings.EqualFold(name, "localhost")
}

// seedFields reads what follows the TAB of a seed line: of the score, if it is given, and of the record the rest.
func seedFields(fields string, r *storage.Record, score *float64) error {
	for _, field := range strings.FieldsFunc(fields, func(c rune) bool { return c == '\t' }) {
		if err := seedField(r, score, field); err != nil {
			return err
		}
	}
	if fixed := fixedInterval(r); fixed > 0 {
		r.Interval = fixed
	}
	return nil
}

func seedField(r *storage.Record, score *float64, field string) error {
	name, value, ok := strings.Cut(field, "=")
	if !ok {
		return fmt.Errorf("field %q is not key=value", field)
	}
	switch name {
	case seedScore:
		v, err := strconv.ParseFloat(value, 64)
		if err != nil || v < 0 || math.IsInf(v, 0) || math.IsNaN(v) {
			return fmt.Errorf("%s=%q is not a score", name, value)
		}
		*score = v
	case seedInterval, policy.MetaFixedInterval:
		v, err := strconv.ParseUint(value, 10, 32)
		if err != nil || v == 0 {
			return fmt.Errorf("%s=%q is not a number of seconds", name, value)
		}
		if r.Interval = uint32(v); name == policy.MetaFixedInterval {
			r.Meta = append(r.Meta, storage.Field{Name: name, Value: value})
		}
	case policy.MetaRedirectURL:
		return fmt.Errorf("%s is what redirects set: choose another name", name)
	default:
		r.Meta = append(r.Meta, storage.Field{Name: name, Value: value})
	}
	return nil
}
