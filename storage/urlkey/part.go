// SPDX-License-Identifier: Apache-2.0

package urlkey

import "fmt"

// Part is a run of neighbouring keys: From is the first, Until the first behind it. Both are keys of hosts or domains,
// so no host is in two parts. From "" is the beginning of all keys, Until "" their end.
type Part struct{ From, Until string }

// Has reports whether a key of a URL or host is in the part.
func (p Part) Has(key []byte) bool {
	return string(key) >= p.From && (p.Until == "" || string(key) < p.Until)
}

// IsEmpty reports whether the part has no key.
func (p Part) IsEmpty() bool { return p.Until != "" && p.From >= p.Until }

// Bounds are the part for scans of ranges whose keys begin with that of a URL or host.
func (p Part) Bounds() (from, until []byte) {
	if p.From != "" {
		from = []byte(p.From)
	}
	if p.Until != "" {
		until = []byte(p.Until)
	}
	return from, until
}

// Common returns what two parts have in common; ok is false if that is nothing.
func (p Part) Common(other Part) (both Part, ok bool) {
	both = Part{max(p.From, other.From), other.Until}
	if p.Until != "" && (other.Until == "" || p.Until < other.Until) {
		both.Until = p.Until
	}
	return both, !both.IsEmpty()
}

// Without returns what a part has beside another one: nothing, or up to two parts.
func (p Part) Without(other Part) (rest []Part) {
	if _, ok := p.Common(other); !ok {
		return []Part{p}
	}
	if p.From < other.From {
		rest = append(rest, Part{p.From, other.From})
	}
	if other.Until != "" && (p.Until == "" || other.Until < p.Until) {
		rest = append(rest, Part{other.Until, p.Until})
	}
	return rest
}

// String is the part for people.
func (p Part) String() string {
	switch {
	case p == Part{}:
		return "all keys"
	case p.Until == "":
		return fmt.Sprintf("the keys from %s on", p.From)
	case p.From == "":
		return fmt.Sprintf("the keys before %s", p.Until)
	}
	return fmt.Sprintf("the keys from %s up to %s", p.From, p.Until)
}
