// SPDX-License-Identifier: Apache-2.0

//go:build !unix

package main

import "os"

// foreground says that keys are not read: there is no /dev/tty.
func foreground(*os.File) bool { return false }

func suspend() {}

func readInBackground() {}

func (s *screen) leaveOnQuit() (end func()) { return func() {} }

func interruptSelf() {}
