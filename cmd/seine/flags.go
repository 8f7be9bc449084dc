// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// flags are the flags that commands share, and the settings of the run, see settings.go.
type flags struct {
	json   bool
	quiet  bool
	exists bool // the command only reads: the store must exist
	dryRun bool // it would write without --dry-run

	before func() error // what comes before the engine is opened; nil: nothing
	warn   func(error)  // tells people and the log of a warning; set while a command works

	uses     uses               // the command
	except   []string           // settings of uses that have no effect on it
	needsDir bool               // only a directory that was named is read
	config   string             // --config
	set      []string           // --set
	texts    map[string]*string // flags of settings by name
	run      resolved           // what resolve found
}

// reading marks a command that only reads.
func (f *flags) reading() *flags {
	f.exists = true
	return f
}

// trying marks a command that only reads in this run: a dry run. What it says of settings that differ is what a run
// that writes would say.
func (f *flags) trying(dryRun bool) *flags {
	f.exists, f.dryRun = f.exists || dryRun, dryRun
	return f
}

// settings adds the flags of the settings that a command uses. The command's own flags, which are not settings, come
// first in help.
func (f *flags) settings(cmd *cobra.Command, command uses) {
	f.uses, f.texts = command, map[string]*string{}
	for _, g := range settingGroups {
		for i := range g.settings {
			title := g.title
			if g.settings[i].used == inAll {
				title = ofEachCommand
			}
			if s := &g.settings[i]; s.flag && f.takes(s) {
				f.add(cmd, title, s)
			}
		}
	}
	cmd.Flags().StringVar(&f.config, "config", "", "TOML `file` of settings, over those of DIR/"+settingsFile)
	cmd.Flags().StringArrayVar(&f.set, "set", nil, "any setting, as `NAME=VALUE`; \"seine config\" lists them")
	inGroup(cmd, "config", ofEachCommand)
	inGroup(cmd, "set", ofEachCommand)
	cmd.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		var unknown *pflag.NotExistError
		if errors.As(err, &unknown) {
			if s := allSettings[unknown.GetSpecifiedName()]; s != nil {
				return &usageError{f.noFlag(cmd, s)}
			}
		}
		return &usageError{flagError(cmd, err)}
	})
}

// takes reports whether a setting has an effect on the command.
func (f *flags) takes(s *setting) bool {
	return s.used&f.uses != 0 && !slices.Contains(f.except, s.name)
}

// noFlag is the error of a setting that is given as a flag and is no flag of the command.
func (f *flags) noFlag(cmd *cobra.Command, s *setting) error {
	if !f.takes(s) {
		return f.unused(cmd, "--"+s.name, s)
	}
	return fmt.Errorf("--%s is no flag: give --set %s=VALUE or %s, or set %s in DIR/%s",
		s.name, s.name, variable(s.name), s.name, settingsFile)
}

// report adds the flag of commands that report.
func (f *flags) report(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&f.json, "json", false, "print JSON")
}

// add makes a flag of a setting.
func (f *flags) add(cmd *cobra.Command, group string, s *setting) {
	v := &settingFlag{kind: s.kind, text: s.def}
	f.texts[s.name] = &v.text
	flag := cmd.Flags().VarPF(v, s.name, "", plain(s.help))
	if s.kind.word == "" {
		flag.NoOptDefVal = "true"
	}
	inGroup(cmd, s.name, group)
}

// plain is a text of the table without Markdown.
func plain(text string) string { return strings.ReplaceAll(text, "`", "") }

// settingFlag is the value of a setting's flag, as text; resolve checks it.
type settingFlag struct {
	kind  kind
	text  string
	given bool
}

// String, Set and Type implement pflag.Value.
func (v *settingFlag) String() string { return v.text }

func (v *settingFlag) Set(text string) error {
	if v.kind.many && v.given {
		text = v.text + "," + text
	}
	v.text, v.given = text, true
	return nil
}

func (v *settingFlag) Type() string {
	if v.kind.word == "" {
		return "bool"
	}
	return v.kind.word
}
