// SPDX-License-Identifier: Apache-2.0

package storage

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2"
)

// TestPlainErrors: what Pebble reports is told without its internals, and stays what it is by errors.Is.
func TestPlainErrors(t *testing.T) {
	cause := fmt.Errorf("pebble: file 000013: pebble: checksum mismatch\n<corruption detail carrier>: %w",
		pebble.ErrCorruption)
	err := classified(cause)
	if got := err.Error(); strings.Contains(got, "pebble: file") || strings.Contains(got, "\n") ||
		!strings.HasPrefix(got, "store is damaged: file 000013: checksum mismatch") {
		t.Errorf("%q", got)
	}
	if !errors.Is(err, ErrCorrupt) || !errors.Is(err, cause) {
		t.Error("the error is no longer what it was")
	}
	if classified(err) != err || classified(nil) != nil {
		t.Error("an error is classified again")
	}
	leaked := errors.New("leaked snapshots: 1 open snapshots on DB 0xc000123456")
	if got := closing(leaked); strings.Contains(got.Error(), "0x") || !errors.Is(got, leaked) {
		t.Errorf("%q", got)
	}
	if other := errors.New("no space"); closing(other) != other || closing(nil) != nil {
		t.Error("another error is changed")
	}
}
