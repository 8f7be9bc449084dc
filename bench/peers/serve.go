// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"time"

	"github.com/seine-crawler/seine/bench/simweb"
)

// webReady is printed by the process of a web when it can be crawled.
type webReady struct {
	Seed      string
	Front     string // host:port at which the web is an HTTP proxy
	Reachable int    // pages that a polite crawler reaches
}

// webSeen is printed by it at the end.
type webSeen struct {
	simweb.Report
	Found     int           // reachable pages that were requested
	Reachable int           // pages
	CPU       time.Duration // user and system, of the crawl only
	Missed    []string      // some of those that were not found
}

// serve is the process of a web: like seine simweb, but in the shape for benchmarks and with the truth beside the
// report. It ends when its standard input ends, so it does not outlive its parent.
func serve(args []string) error {
	f := flag.NewFlagSet("serve", flag.ContinueOnError)
	hosts := f.Int("hosts", 50, "hosts")
	perHost := f.Int("per-host", 100, "pages of a host")
	hostsFile := f.String("hosts-file", "", "hosts file to write")
	seedsFile := f.String("seeds-file", "", "seeds file to write")
	if err := f.Parse(args); err != nil {
		return err
	}
	s, err := simweb.Start(simweb.Bench(*hosts, *perHost), 0)
	if err != nil {
		return err
	}
	defer s.Close()
	if err := writeFile(*hostsFile, s.HostsFile); err != nil {
		return err
	}
	seed := s.Web.Root(0)
	if err := os.WriteFile(*seedsFile, []byte(seed+"\n"), 0o644); err != nil {
		return err
	}
	truth := s.Web.Truth([]int{0}, nil)
	out := json.NewEncoder(os.Stdout)
	if err := out.Encode(webReady{seed, front(seed), len(truth.Fetched)}); err != nil {
		return err
	}
	before := ownCPU()
	if _, err := io.Copy(io.Discard, os.Stdin); err != nil {
		return err
	}
	seen := webSeen{CPU: ownCPU() - before, Reachable: len(truth.Fetched), Report: s.Report()}
	asked := s.Requests()
	for _, u := range slices.Sorted(maps.Keys(truth.Fetched)) {
		if asked[u] > 0 {
			seen.Found++
		} else if len(seen.Missed) < 5 {
			seen.Missed = append(seen.Missed, u)
		}
	}
	return out.Encode(seen)
}

// front returns the address of the proxy from a seed.
func front(seed string) string {
	for i := len(seed) - 1; i >= 0; i-- {
		if seed[i] == ':' {
			return "127.0.0.1" + seed[i:len(seed)-1]
		}
	}
	return ""
}

func writeFile(name string, write func(io.Writer) error) error {
	f, err := os.Create(name)
	if err != nil {
		return err
	}
	return errors.Join(write(f), f.Close())
}

// web is a running process of serve.
type web struct {
	webReady
	hostsFile, seedsFile string

	cmd   *exec.Cmd
	stdin io.Closer
	out   *json.Decoder
}

// startWeb starts a web in a process of its own, with its files in dir.
func startWeb(dir string, hosts, perHost int) (*web, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	w := &web{hostsFile: filepath.Join(dir, "hosts"), seedsFile: filepath.Join(dir, "seeds")}
	w.cmd = exec.Command(
		self, "serve", "-hosts", fmt.Sprint(hosts), "-per-host", fmt.Sprint(perHost), "-hosts-file",
		w.hostsFile, "-seeds-file", w.seedsFile,
	)
	w.cmd.SysProcAttr = ownGroup() // so that Ctrl-C reaches only this process
	w.cmd.Stderr = os.Stderr
	if w.stdin, err = w.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	stdout, err := w.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := w.cmd.Start(); err != nil {
		return nil, fmt.Errorf("starting the web: %w", err)
	}
	w.out = json.NewDecoder(stdout)
	if err := w.out.Decode(&w.webReady); err != nil {
		w.stdin.Close()
		return nil, fmt.Errorf("starting the web: %w", errors.Join(err, w.cmd.Wait()))
	}
	return w, nil
}

// stop ends the process and returns its report.
func (w *web) stop() (seen webSeen, err error) {
	w.stdin.Close()
	err = w.out.Decode(&seen)
	if err := errors.Join(err, w.cmd.Wait()); err != nil {
		return seen, fmt.Errorf("report of the web: %w", err)
	}
	return seen, nil
}
