// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/seine-crawler/seine/engine"
	"github.com/seine-crawler/seine/engine/web"
)

// topHosts is the number of hosts that top shows, topPause the time between two looks, and topUncut a width in which
// every line fits: what reads a pipe or a file has no edge.
const (
	topHosts = 5
	topPause = time.Second
	topUncut = 1 << 20
)

func topCommand(c *console) *cobra.Command {
	var f flags
	cmd := &cobra.Command{
		Use:   "top",
		Short: "show the crawl that runs in the data directory",
		Long: "Shows the crawl that another process runs in the data directory: on a terminal until it ends, or\n" +
			"until Ctrl-C, which does not end the crawl; otherwise once. --json prints all that is known of it.",
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if _, err := f.reading().options(cmd); err != nil {
				return err
			}
			return withCrawl(cmd, &f, func(s *web.Client) error {
				if f.json || !isTerminal(c) || !c.screen().isTerminal() {
					return c.topOnce(s, f.json)
				}
				return c.top(cmd, s, f.text(settingDir))
			})
		},
	}
	f.settings(cmd, inViews)
	f.report(cmd)
	return cmd
}

// topOnce prints the crawl as it is now.
func (c *console) topOnce(s *web.Client, asJSON bool) error {
	now, err := s.Status()
	if err != nil {
		return err
	}
	if asJSON {
		return c.object(now)
	}
	_, err = fmt.Fprintln(c.out, strings.Join(topLines(&now, nil, topUncut, 0), "\n"))
	return err
}

// top draws the crawl until it ends, or the context of the command does.
func (c *console) top(cmd *cobra.Command, s *web.Client, dir string) error {
	ctx, screen := cmd.Context(), c.screen()
	screen.viewing.Store(true)
	defer screen.leave()
	tick := time.NewTicker(topPause)
	defer tick.Stop()
	var rates []float64
	for {
		now, err := s.Status()
		gone := errors.Is(err, web.ErrGone) || errors.Is(err, web.ErrNotAsked) // most crawls end with their process
		switch {
		case ctx.Err() != nil:
			return nil
		case gone, err == nil && !now.Running:
			screen.leave() // what is said stands below
			_, err = fmt.Fprintln(c.err, "seine: "+advice(cmd, endOf(ctx, s.Process(), dir)))
			return err
		case err != nil:
			return err
		}
		if now.Newest != nil {
			rates = append(rates, now.Newest.PagesPerSecond)
			rates = rates[max(len(rates)-sparkSeconds, 0):]
		}
		width, height := screen.size()
		screen.draw(topLines(&now, rates, width, height))
		select {
		case <-tick.C:
		case <-ctx.Done():
			return nil
		}
	}
}

// endOf says how the crawl of a process ended that answers no more, or does not crawl any more. A process that ends by
// itself takes its socket away; that of one that was killed is there, and nobody answers.
func endOf(ctx context.Context, process, dir string) string {
	s, err := web.Dial(ctx, dir)
	switch {
	case err == nil:
		s.Close() // it has the directory open for something else, or is the next one
	case errors.Is(err, syscall.ECONNREFUSED):
		return fmt.Sprintf("process %s was killed or crashed: %q goes on with its crawl", process, "seine crawl")
	}
	return fmt.Sprintf("the crawl of process %s has ended", process)
}

// topLines are the dashboard of a crawl, with what its fetchers do, what may end badly, and the hosts that give most
// pages.
func topLines(s *engine.Status, rates []float64, width, height int) []string {
	if s.Progress == nil {
		return []string{"the crawl begins"}
	}
	lines := dashboard(*s.Progress, rates, width, 0, false)
	var doing []string
	for _, f := range s.Fetchers {
		if f.Count > 0 {
			doing = append(doing, fmt.Sprintf("%s %d", strings.ReplaceAll(string(f.Doing), "_", " "), f.Count))
		}
	}
	lines = append(lines, "  doing    "+strings.Join(doing, "   "))
	for _, a := range s.Alerts {
		text := fmt.Sprintf("  %-8s %s", a.Level, a.Text)
		if a.Help != "" {
			text += ": " + a.Help
		}
		lines = append(lines, plainLine(text))
	}
	for _, h := range s.TopHosts[:min(len(s.TopHosts), topHosts)] {
		lines = append(lines, fmt.Sprintf("  %8.1f pages/s   %s", h.PagesPerSecond, plainLine(h.Host)))
	}
	if width <= 0 {
		return lines
	}
	if height > 2 {
		lines = lines[:min(len(lines), height-1)]
	}
	for i, line := range lines {
		lines[i] = cutText(line, width-1)
	}
	return lines
}
