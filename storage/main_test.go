// SPDX-License-Identifier: Apache-2.0

package storage

import (
	"fmt"
	"io"
	"os"
	"testing"

	"go.uber.org/goleak"
)

// holdEnv makes the test binary the other process of TestSecondProcess: it opens the store in the named
// directory and keeps it open until its standard input ends.
const holdEnv = "SEINE_TEST_HOLD_STORE"

func TestMain(m *testing.M) {
	if dir := os.Getenv(holdEnv); dir != "" {
		s, err := Open(dir, Options{})
		if err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
		fmt.Println("open")
		_, _ = io.Copy(io.Discard, os.Stdin)
		if err := s.Close(); err != nil {
			os.Exit(1)
		}
		os.Exit(0)
	}
	goleak.VerifyTestMain(m)
}
