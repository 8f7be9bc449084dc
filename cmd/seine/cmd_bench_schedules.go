// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"fmt"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/seine-crawler/seine/bench/measure"
)

// benchSchedulesCommand compares schedules on a changing web.
func benchSchedulesCommand(c *console) *cobra.Command {
	o := measure.ScheduleOptions{}
	var out string
	cmd := &cobra.Command{
		Use:   "schedules",
		Short: "compare how fresh pages are under each schedule, with as many fetches",
		Long: "Lets each schedule spend the same fetches on the same changing pages of simweb, in virtual time, and\n" +
			"prints the mean freshness of the second half of the days. It takes some seconds; the machine may be busy.",
		Args: noArguments,
		RunE: func(*cobra.Command, []string) error {
			list, err := measure.Schedules(o)
			if err != nil {
				return err
			}
			if out != "" {
				err := writeFile(out, func(f *os.File) error {
					_, err := f.WriteString(measure.SchedulesSVG(list))
					return err
				})
				if err != nil {
					return err
				}
			}
			return c.lines(func(w *bufio.Writer) error {
				for i := range list {
					fmt.Fprintf(w, "%-10s %d fetches, freshness %.3f\n", list[i].Name, list[i].Fetches, list[i].Mean())
				}
				return nil
			})
		},
	}
	f := cmd.Flags()
	addCount(f, &o.Each, "pages", 200, 1, "pages of each of six rates of changes")
	f.DurationVar(&o.Interval, "interval", 48*time.Hour, "the fetches pay one of each page in this time")
	addCount(f, &o.Days, "days", 100, 2, "length of the crawl")
	f.StringVar(&out, "out", "", "also draw freshness over time into this file, as SVG")
	return cmd
}
