// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"errors"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/seine-crawler/seine/bench/measure"
)

// benchSchedulesCommand compares schedules on a changing web.
func benchSchedulesCommand(c *console) *cobra.Command {
	o := measure.ScheduleOptions{}
	var out, svg string
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
			var lines []measure.Line
			for i := range list {
				lines = append(lines, list[i].Line())
			}
			if out != "" {
				err = writeFile(out, func(f *os.File) error { return measure.WriteLines(f, lines) })
			}
			if svg != "" {
				err = errors.Join(err, writeFile(svg, func(f *os.File) error {
					_, err := f.WriteString(measure.SchedulesSVG(list))
					return err
				}))
			}
			return errors.Join(err, c.lines(func(w *bufio.Writer) error { return measure.WriteTable(w, lines) }))
		},
	}
	f := cmd.Flags()
	addCount(f, &o.Each, "pages", 200, 1, "pages of each of six rates of changes")
	f.DurationVar(&o.Interval, "interval", 48*time.Hour, "the fetches pay one of each page in this time")
	addCount(f, &o.Days, "days", 100, 2, "length of the crawl")
	f.StringVar(&svg, "svg", "", "also draw freshness over time into this file")
	f.StringVar(&out, "out", "", "also write the results to this file, in the format of go test -bench")
	return cmd
}
