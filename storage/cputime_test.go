// SPDX-License-Identifier: Apache-2.0

package storage

import (
	"runtime"
	"testing"
	"time"
)

// TestCPUMeter: what a piece of work uses is seen while it runs, and is the same when it has ended.
func TestCPUMeter(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("no clock of another thread")
	}
	var m CPUMeter
	seen, done := make(chan struct{}), make(chan struct{})
	for range 2 { // one works, one waits
		go func() {
			stop := m.Start()
			defer func() {
				stop()
				done <- struct{}{}
			}()
			<-seen
		}()
	}
	worked := make(chan time.Duration)
	go func() {
		stop := m.Start()
		defer func() {
			stop()
			done <- struct{}{}
		}()
		timer := threadCPU()
		for threadCPU()-timer < 30*time.Millisecond { // works
		}
		worked <- threadCPU() - timer
		<-seen
	}()
	least := <-worked
	running := m.Spent()
	if running < least || running > least+100*time.Millisecond {
		t.Errorf("%s are seen while it runs, want %s", running, least)
	}
	close(seen)
	for range 3 {
		<-done
	}
	ended := m.Spent()
	if ended < running || ended > running+100*time.Millisecond {
		t.Errorf("%s at the end, %s before", ended, running)
	}
	if again := m.Spent(); again != ended {
		t.Errorf("%s, then %s, although nothing runs", ended, again)
	}
}
