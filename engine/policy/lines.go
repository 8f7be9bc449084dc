// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
)

const (
	// maxLine is the longest line of a list or a text of rules, in bytes. A longer one is an error.
	maxLine = 64 << 10

	// faultsMax is how many faults of a text one error lists. What follows is not looked at.
	faultsMax = 10

	// maxRuleText bounds the texts of normalizers, in bytes. A longer one is an error.
	maxRuleText = 16 << 20
)

// errRE2 follows the fault of an expression that Java accepts and RE2 does not.
const errRE2 = "expressions are RE2's: no lookaround and no backreferences, since they take more than linear time"

// eachLine calls fn with the number of each line and the line without space around it. The error lists what fn found
// wrong: "line 3: …", one below the other.
func eachLine(text []byte, fn func(n int, line string) error) error {
	var faults []error
	n := 0
	for raw := range bytes.Lines(bytes.TrimPrefix(text, []byte("\ufeff"))) { // editors of Windows begin files so
		n++
		var err error
		if len(raw) > maxLine {
			err = fmt.Errorf("%.80q…: longer than %d bytes", raw, maxLine)
		} else {
			err = fn(n, string(bytes.TrimSpace(raw)))
		}
		if err == nil {
			continue
		}
		if faults = append(faults, fmt.Errorf("line %d: %w", n, err)); len(faults) == faultsMax {
			break
		}
	}
	return errors.Join(faults...)
}

// eachEntry is eachLine without empty lines and those that begin with '#'.
func eachEntry(text []byte, fn func(n int, line string) error) error {
	return eachLine(text, func(n int, line string) error {
		if line == "" || line[0] == '#' {
			return nil
		}
		return fn(n, line)
	})
}

// withoutComment cuts a line at '#'.
func withoutComment(line string) string {
	line, _, _ = strings.Cut(line, "#")
	return strings.TrimSpace(line)
}
