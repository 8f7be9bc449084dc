// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// used is the resources that a process and all its children used.
type used struct {
	wall, cpu time.Duration
	peakBytes int64 // resident, summed over processes that ran at the same time
}

// rssEvery is how often the peak of memory is read. The kernel keeps the peak, so only memory that a process takes in
// its last moments may be missed.
const rssEvery = 50 * time.Millisecond

// runProcess runs a command in a process group of its own, and always kills what is left of the group. The output goes
// to the file log. Exit statuses in okExits are not errors.
func runProcess(ctx context.Context, cmd *exec.Cmd, log string, okExits ...int) (u used, err error) {
	f, err := os.Create(log)
	if err != nil {
		return u, err
	}
	defer f.Close()
	cmd.Stdout, cmd.Stderr, cmd.SysProcAttr = f, f, ownGroup()
	start := time.Now()
	if err := cmd.Start(); err != nil {
		return u, err
	}
	defer syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
	done := make(chan struct{})
	stopKiller := context.AfterFunc(ctx, func() { syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) })
	defer stopKiller()
	peak := make(chan int64)
	go func() { peak <- watchMemory(cmd.Process.Pid, done) }()
	err = cmd.Wait()
	u.wall = time.Since(start)
	close(done)
	u.peakBytes = <-peak
	s := cmd.ProcessState
	u.cpu = s.UserTime() + s.SystemTime() // with those of its children, which it waited for
	if ctx.Err() != nil {
		return u, fmt.Errorf("%w after %s", context.Cause(ctx), u.wall.Round(time.Second))
	}
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		for _, ok := range okExits {
			if exit.ExitCode() == ok {
				return u, nil
			}
		}
	}
	if err != nil {
		return u, fmt.Errorf("%w; the end of %s:\n%s", err, log, tail(log))
	}
	return u, nil
}

// watchMemory returns the largest sum of the peaks of a process and its descendants. It does not use the kernel's
// ru_maxrss, which includes the memory of the process that forked.
func watchMemory(pid int, done <-chan struct{}) (peak int64) {
	t := time.NewTicker(rssEvery)
	defer t.Stop()
	for {
		peak = max(peak, treeMemory(pid))
		select {
		case <-t.C:
		case <-done:
			return peak
		}
	}
}

func treeMemory(pid int) (sum int64) {
	dir := "/proc/" + strconv.Itoa(pid)
	status, err := os.ReadFile(dir + "/status")
	if err != nil {
		return 0 // it has ended
	}
	if _, after, ok := bytes.Cut(status, []byte("VmHWM:")); ok {
		if fields := strings.Fields(string(after[:min(len(after), 40)])); len(fields) > 0 {
			kb, _ := strconv.ParseInt(fields[0], 10, 64)
			sum = kb << 10
		}
	}
	threads, _ := os.ReadDir(dir + "/task")
	for _, t := range threads {
		children, _ := os.ReadFile(dir + "/task/" + t.Name() + "/children")
		for _, c := range strings.Fields(string(children)) {
			if n, err := strconv.Atoi(c); err == nil {
				sum += treeMemory(n)
			}
		}
	}
	return sum
}

func ownGroup() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }

// ownCPU is the CPU time that this process has used.
func ownCPU() time.Duration {
	var r syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &r); err != nil {
		panic("BUG: getrusage of the process itself: " + err.Error())
	}
	return time.Duration(r.Utime.Nano() + r.Stime.Nano())
}

// tail returns the end of a file, for a message.
func tail(name string) string {
	b, err := os.ReadFile(name)
	if err != nil {
		return err.Error()
	}
	return strings.TrimSpace(string(b[max(0, len(b)-2000):]))
}
