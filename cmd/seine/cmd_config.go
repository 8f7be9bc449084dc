// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"fmt"
	"os"

	"github.com/spf13/cobra"
)

// shownSetting is a setting as "seine config" prints it.
type shownSetting struct {
	Name     string   `json:"name"`
	Value    string   `json:"value"`
	Source   string   `json:"source"` // default, FILE:LINE, SEINE_…, --flag
	Default  string   `json:"default"`
	Group    string   `json:"group"`
	Commands []string `json:"commands"` // on which it has an effect
	Help     string   `json:"help"`
}

func configCommand(c *console) *cobra.Command {
	var f flags
	cmd := &cobra.Command{
		Use:   "config",
		Short: "show each setting, its value and where the value comes from",
		Long: "Shows the settings as a command with the same flags would have them, and where each comes from.\n" +
			"A flag overrides the environment, that overrides the file of --config, that overrides DIR/" +
			settingsFile + ".",
		Args: args(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			run, err := f.resolve(cmd)
			if err == nil {
				_, err = run.sections.policy()
			}
			if err != nil {
				return err
			}
			return c.lines(func(w *bufio.Writer) error { return printSettings(w, run, f.json) })
		},
	}
	f.settings(cmd, inAll)
	f.report(cmd)
	return cmd
}

func printSettings(w *bufio.Writer, run resolved, asJSON bool) error {
	for _, g := range settingGroups {
		if !asJSON {
			fmt.Fprintf(w, "# %s\n", g.title)
		}
		for _, s := range g.settings {
			v := run.values[s.name]
			if !asJSON {
				fmt.Fprintf(w, "%-18s = %-24s # %s\n", s.name, quoted(s.kind, v.text), v.where)
				continue
			}
			shown := shownSetting{s.name, v.text, v.where, s.def, g.title, s.used.names(), plain(s.help)}
			if err := jsonLine(w, shown); err != nil {
				return err
			}
		}
	}
	if asJSON {
		return nil
	}
	for _, name := range run.sections.names() {
		fmt.Fprintln(w, name)
	}
	for _, name := range strangeVariables(os.Environ()) {
		fmt.Fprintf(w, "# %s is set, but there is no such setting\n", name)
	}
	return nil
}
