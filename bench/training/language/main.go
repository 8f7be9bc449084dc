// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"os"
)

func main() {
	var err error
	switch {
	case len(os.Args) == 4 && os.Args[1] == "make":
		err = makeModel(os.Args[2], os.Args[3])
	case len(os.Args) == 3 && os.Args[1] == "measure":
		err = measure(os.Args[2])
	default:
		fmt.Fprintln(os.Stderr, "usage: language make MODELS FILE | language measure SENTENCES")
		os.Exit(2)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
