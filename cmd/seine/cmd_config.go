// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/BurntSushi/toml"
	"github.com/spf13/cobra"
)

// shownSetting is a setting as "seine config" prints it, or a value of a section.
type shownSetting struct {
	Name     string   `json:"name"`
	Value    string   `json:"value"`  // "…" for a secret
	Source   string   `json:"source"` // default, FILE:LINE, SEINE_…, --flag
	Default  string   `json:"default"`
	Group    string   `json:"group,omitempty"`
	Section  string   `json:"section,omitempty"`  // such as [host."www.example.org"]; "": it is for all
	Commands []string `json:"commands,omitempty"` // on which it has an effect
	Help     string   `json:"help"`
}

func configCommand(c *console) *cobra.Command {
	var f flags
	cmd := &cobra.Command{
		Use:   "config",
		Short: "show each setting, its value and where the value comes from",
		Long: "Shows the settings as a command with the same flags would have them, and where each comes from,\n" +
			"then the sections of single hosts, domains and prefixes of URLs. A flag overrides the environment,\n" +
			"that overrides the file of --config, that overrides DIR/" + settingsFile + ".\n" +
			"Passwords, header fields and cookies are not shown. It fails if the settings cannot be used.",
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			_, err := f.options(cmd)
			if f.run.values == nil {
				return err
			}
			err = errors.Join(err, f.checkSeedFiles())
			return errors.Join(err, c.lines(func(w *bufio.Writer) error { return printSettings(w, f.run, f.json) }))
		},
	}
	f.settings(cmd, inAll)
	f.report(cmd)
	return cmd
}

// printSettings prints the settings, each on a line: as TOML with the source as a comment, or as JSON.
func printSettings(w *bufio.Writer, run resolved, asJSON bool) error {
	for _, g := range settingGroups {
		if !asJSON {
			fmt.Fprintf(w, "# %s\n", g.title)
		}
		for _, s := range g.settings {
			v := run.values[s.name]
			text := shown(s.name, v.text)
			if !asJSON {
				printSetting(w, s.name, quoted(s.kind, text), v.where)
				continue
			}
			line := shownSetting{
				Name: s.name, Value: text, Source: v.where, Default: s.def, Group: g.title,
				Commands: s.used.names(), Help: plain(s.help),
			}
			if err := jsonLine(w, line); err != nil {
				return err
			}
		}
	}
	for _, name := range run.sections.names() {
		section := run.sections[name]
		if !asJSON {
			fmt.Fprintf(w, "\n%-45s # %s\n", name, section.where)
		}
		for _, key := range slices.Sorted(maps.Keys(section.values)) {
			s, v := sectionKinds[name.kind][key], section.values[key]
			if !asJSON {
				printSetting(w, key, v.toml(s), v.where)
				continue
			}
			line := shownSetting{
				Name: key, Value: v.shown(s), Source: v.where, Section: name.String(), Help: plain(s.help),
			}
			if err := jsonLine(w, line); err != nil {
				return err
			}
		}
	}
	return nil
}

func printSetting(w *bufio.Writer, name, text, where string) {
	fmt.Fprintf(w, "%-18s = %-24s # %s\n", name, text, where)
}

// hidden is shown in place of a secret.
const hidden = "…"

// shown is a value of a section as people may see it.
func (v sectionValue) shown(s *sectionSetting) string {
	switch {
	case s.table:
		return v.toml(s)
	case s.secret:
		return hidden
	}
	return v.text
}

// toml is a value of a section as TOML, without secrets.
func (v sectionValue) toml(s *sectionSetting) string {
	if !s.table {
		return quoted(s.kind, v.shown(s))
	}
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(v.fields)) {
		parts = append(parts, toml.Key{name}.String()+" = "+strconv.Quote(hidden))
	}
	return "{ " + strings.Join(parts, ", ") + " }"
}
