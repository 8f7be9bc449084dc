// SPDX-License-Identifier: Apache-2.0

package storage

import (
	"fmt"
	"io"
	"os"
	"testing"

	"go.uber.org/goleak"
)

// holdEnv makes the test binary open the store in the named directory and hold it until its standard
// input ends: the other process of TestSecondProcess.
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
