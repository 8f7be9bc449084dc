// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/seine-crawler/seine/engine"
	"github.com/seine-crawler/seine/engine/web"
)

// crawlControl are the flags of crawl that are for a crawl of another process, or for browsers.
type crawlControl struct {
	pause, resume, stop bool
	serve               string
}

func (k *crawlControl) add(cmd *cobra.Command) {
	cmd.Flags().StringVar(&k.serve, "serve", "",
		"meanwhile serve the search page, the dashboard and the API at this `address`, such as "+defaultAddress+
			"; without a host, such as :8080: at all addresses of this machine")
	cmd.Flags().BoolVar(&k.pause, "pause", false, "pause the crawl that runs in the data directory")
	cmd.Flags().BoolVar(&k.resume, "resume", false, "end its pause")
	cmd.Flags().BoolVar(&k.stop, "stop", false, "stop it cleanly, as Ctrl-C does")
}

// told says to people what the crawl of a process does when it was told what the flags say.
func (k *crawlControl) told(process string) string {
	switch {
	case k.stop:
		return "process " + process + " stops its crawl, and brings what it has fetched through its phases"
	case k.pause:
		return fmt.Sprintf("the crawl of process %s is paused: %q goes on with it", process, "seine crawl --resume")
	}
	return "the crawl of process " + process + " goes on"
}

// withoutEffect returns an error for flags that say how to crawl: the crawl that is told has its own settings.
func (k *crawlControl) withoutEffect(cmd *cobra.Command, f *flags) error {
	var names []string
	for _, name := range slices.Sorted(maps.Keys(f.run.values)) {
		if v := f.run.values[name]; v.from == fromFlag && name != settingDir {
			names = append(names, v.where)
		}
	}
	which := ""
	cmd.Flags().Visit(func(flag *pflag.Flag) {
		switch flag.Name {
		case "pause", "resume", "stop":
			which = flag.Name
		case "config", "set", "json":
		default:
			if allSettings[flag.Name] == nil {
				names = append(names, "--"+flag.Name)
			}
		}
	})
	if len(names) == 0 {
		return nil
	}
	return &usageError{fmt.Errorf("crawl: %s: no effect beside --%s: the crawl that runs has its own settings",
		strings.Join(names, " "), which)}
}

// tell tells the crawl of another process what the flags say. asked is false if they say nothing.
func (k *crawlControl) tell(cmd *cobra.Command, c *console, f *flags, args []string) (asked bool, err error) {
	chosen := 0
	for _, on := range []bool{k.pause, k.resume, k.stop} {
		if on {
			chosen++
		}
	}
	switch {
	case chosen == 0 && k.serve != "":
		return false, checkAddress("serve", k.serve)
	case chosen == 0:
		return false, nil
	case chosen > 1 || len(args) > 0 || k.serve != "":
		return true, &usageError{errors.New("crawl: give one of --pause, --resume and --stop, and no seeds")}
	}
	if _, err := f.options(cmd); err != nil {
		return true, err
	}
	if err := k.withoutEffect(cmd, f); err != nil {
		return true, err
	}
	err = withCrawl(cmd, f, func(s *web.Client) error {
		do := s.Resume
		if k.pause {
			do = s.Pause
		} else if k.stop {
			do = s.Stop
		}
		state, err := do()
		if err != nil {
			return err
		}
		if f.json {
			return c.object(state)
		}
		_, err = fmt.Fprintln(c.out, advice(cmd, k.told(s.Process())))
		return err
	})
	if k.resume && errors.Is(err, engine.ErrNotCrawling) {
		err = fmt.Errorf(`%w: "seine crawl" continues the last one`, err)
	}
	return true, err
}

// withCrawl runs fn on the process that crawls into the data directory.
func withCrawl(cmd *cobra.Command, f *flags, fn func(s *web.Client) error) error {
	dir := f.text(settingDir)
	s, err := web.Dial(cmd.Context(), dir)
	if unserved(err) {
		return fmt.Errorf("%w: no process has %s open", engine.ErrNotCrawling, dir)
	}
	if err != nil {
		return err
	}
	defer s.Close()
	now, err := s.Status()
	if err != nil {
		return err
	}
	if !now.Running {
		return fmt.Errorf("%w: process %s has %s open", engine.ErrNotCrawling, s.Process(), dir)
	}
	return fn(s)
}
