// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/spf13/cobra"

	"github.com/seine-crawler/seine/engine"
)

func verifyCommand(c *console) *cobra.Command {
	f := flags{except: []string{"seeds"}} // it injects what the files have
	var repair bool
	cmd := &cobra.Command{
		Use:   "verify [--repair]",
		Short: "read everything in the data directory and check it; --repair makes the best of damage",
		Long: "Reads every block of the store, every byte of every WARC file and the index, and follows every\n" +
			"cross-reference. It changes nothing, and lists what is wrong by kind, also where other commands refuse\n" +
			"to open the directory.\n\n" +
			"With --repair it then cuts out of the WARC files what is not sound, makes a new store of them, brings\n" +
			"in what can be read of the old one, and verifies the outcome. Pages that are lost are due again. The\n" +
			"damaged store is kept as DIR/store.damaged. The settings should be those of the crawl.",
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			o, err := f.reading().options(cmd)
			if err != nil {
				return err
			}
			if !repair {
				if err := f.onlyForRepair(); err != nil {
					return err
				}
			}
			if repair {
				return c.repair(cmd, &f, o)
			}
			other := false
			var r engine.VerifyReport
			if err := f.openOr(cmd, true, func() (err error) {
				r, err = engine.Verify(cmd.Context(), o)
				return err
			}, func(s store) (err error) {
				other = true
				r, err = s.Verify(cmd.Context())
				return err
			}); err != nil {
				return err
			}
			if err := c.verified(cmd, r, f.json); err != nil {
				return err
			}
			o.Events = engine.EventListener{}
			if other { // it has noted them
				return problems(r, verifyHelp)
			}
			if e, err := engine.Open(o); err == nil { // else the report says why
				_, _, err = f.noteChanges(c.err, e)
				if err := errors.Join(err, e.Close()); err != nil {
					return err
				}
			}
			return problems(r, verifyHelp)
		},
	}
	cmd.Flags().BoolVar(&repair, "repair", false, "mend what is damaged")
	f.report(cmd)
	f.settings(cmd, rebuilding)
	return cmd
}

// verifyHelp is what helps when verify finds problems.
const verifyHelp = `"seine verify --repair" makes the best of what is left`

// onlyForRepair returns an error if a flag sets what has an effect only on a repair.
func (f *flags) onlyForRepair() error {
	for _, name := range slices.Sorted(maps.Keys(f.run.values)) {
		v := f.run.values[name]
		if v.from == fromFlag && allSettings[name].used != inAll {
			return &usageError{fmt.Errorf("%s has no effect without --repair", v.where)}
		}
	}
	return nil
}

// repair is verify --repair.
func (c *console) repair(cmd *cobra.Command, f *flags, o engine.Options) error {
	o.ReadOnly = false
	o.Events.RebuildStarts = func() { fmt.Fprintln(c.err, "seine: "+f.assumed("repair")) }
	r, err := engine.Repair(cmd.Context(), o)
	if err != nil {
		return err
	}
	if !f.json {
		if err := c.verified(cmd, r.Found, false); err != nil {
			return err
		}
	}
	if err := c.report(r, f.json); err != nil {
		return err
	}
	err = problems(r.Left, "the repair could not mend that: restore the directory from a backup")
	if r.Found.Problems == 0 {
		return err // nothing was written
	}
	f.exists = false
	return errors.Join(err, withOptions(o, func(e *engine.Engine) error { return f.remember(cmd, e) }))
}

// verified prints a report whose problems may advise to run commands.
func (c *console) verified(cmd *cobra.Command, r engine.VerifyReport, asJSON bool) error {
	if asJSON {
		return c.object(r)
	}
	_, err := fmt.Fprintln(c.out, advice(cmd, r.String()))
	return err
}

// problems is the error of a report that has some. It ends with what to do next.
func problems(r engine.VerifyReport, advice string) error {
	switch r.Problems {
	case 0:
		return nil
	case 1:
		return fmt.Errorf("verify found 1 problem: %s", advice)
	}
	return fmt.Errorf("verify found %d problems: %s", r.Problems, advice)
}

func rebuildCommand(c *console) *cobra.Command {
	f := flags{except: []string{"seeds"}} // it injects what the files have
	cmd := &cobra.Command{
		Use:   "rebuild",
		Short: "make the store of a data directory of its WARC files alone",
		Long: "Makes the store of a directory that has WARC files and no store: statuses, schedules, signatures,\n" +
			"links and index. The settings should be those of the crawl; the scope must be given or set. Not in the\n" +
			"files, and lost, are seeds that were never fetched, scores and intervals that seeds were given, and\n" +
			"fetchlists. Inject such seeds again.",
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			o, err := f.options(cmd)
			if err != nil {
				return err
			}
			if f.run.values["scope"].from == fromDefault {
				return &usageError{errors.New("rebuild needs the scope of the crawl, for what is outside it is taken " +
					"for seeds: give --scope, or set it in DIR/" + settingsFile)}
			}
			o.Events.RebuildStarts = func() { fmt.Fprintln(c.err, "seine: "+f.assumed("rebuild")) }
			r, err := engine.Rebuild(cmd.Context(), o)
			if err != nil {
				return err
			}
			if err := withOptions(o, func(e *engine.Engine) error { return f.remember(cmd, e) }); err != nil {
				return err
			}
			return c.report(r, f.json)
		},
	}
	f.report(cmd)
	f.settings(cmd, rebuilding)
	return cmd
}
