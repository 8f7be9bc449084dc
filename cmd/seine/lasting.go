// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"os"
	"slices"

	"github.com/spf13/cobra"
	"github.com/zeebo/xxh3"

	"github.com/seine-crawler/seine/engine"
)

// remember compares the settings of this run whose effect outlasts it with those that the data directory was made with,
// and says on stderr what differs, one line for each. That is no error: each of them may be changed for good reasons.
// (The signature may not; the engine refuses another one.)
//
// What the directory's own file says becomes what the directory is made with. A flag, a variable or another file holds
// for one run, and so does a default.
func (f *flags) remember(cmd *cobra.Command, e *engine.Engine) error {
	if f.exists && !f.dryRun {
		return nil // the command only reads
	}
	keep := map[string]string{}
	file, isNew, err := f.noteChanges(cmd.ErrOrStderr(), e)
	if err != nil {
		return err
	}
	if isNew {
		keep[rememberedFile] = file
	}
	for _, g := range settingGroups {
		for i := range g.settings {
			s := &g.settings[i]
			if s.lasting == "" || !f.takes(s) {
				continue
			}
			now, err := lastingValue(s, f.text(s.name))
			if err != nil {
				return f.fault(s.name, err)
			}
			was, known, err := e.Remembered(s.name)
			if err != nil {
				return err
			}
			if !known || was != now {
				v := f.run.values[s.name]
				if !known || v.from == fromDirectory {
					keep[s.name] = now
				}
				if !known {
					continue
				}
				// Who gives the same flag with each run has read it once. A default may be an oversight each time.
				noted, _, err := e.Remembered(notedPrefix + s.name)
				if err != nil {
					return err
				}
				if noted != now || v.from == fromDefault {
					fmt.Fprintln(cmd.ErrOrStderr(), "seine: "+f.contradiction(s, v, was, now))
					keep[notedPrefix+s.name] = now
				}
			}
		}
	}
	if len(keep) == 0 || f.dryRun {
		return nil
	}
	return e.Remember(keep)
}

// asMade gives the settings of which nothing is said the values that the data directory was made with, and returns the
// options of all. Of files it has only a hash, so it says on stderr which one is missing.
func (f *flags) asMade(cmd *cobra.Command, o engine.Options) (engine.Options, error) {
	err := withOptions(o, func(e *engine.Engine) error {
		for _, g := range settingGroups {
			for i := range g.settings {
				s := &g.settings[i]
				if s.lasting == "" || s.used&f.uses == 0 || f.run.values[s.name].from != fromDefault {
					continue
				}
				was, known, err := e.Remembered(s.name)
				switch {
				case err != nil:
					return err
				case !known || was == s.def:
				case s.kind.files != nil:
					fmt.Fprintf(cmd.ErrOrStderr(), "seine: %s was made with a file for %s, which is not used here\n",
						f.text(settingDir), s.name)
				default:
					f.run.values[s.name] = value{text: was, from: fromDefault, where: "as the directory was made"}
				}
			}
		}
		return nil
	})
	if err != nil {
		return o, err
	}
	made, err := f.resolved(cmd)
	made.MustExist, made.ReadOnly = true, o.ReadOnly
	return made, err
}

// notedPrefix begins the names under which the store remembers the values that remember has pointed out.
const notedPrefix = "noted "

// contradiction says that a setting is not what the data directory was made with.
func (f *flags) contradiction(s *setting, v value, was, now string) string {
	made := fmt.Sprintf("%s was made with %s", f.text(settingDir), quoted(s.kind, was))
	if s.kind.files != nil {
		made, now = f.text(settingDir)+" was made with another file or another text of it", v.text
	}
	switch v.from {
	case fromDefault:
		return fmt.Sprintf("%s = %s in this run, the default, but %s: set it in %s (%s)",
			s.name, quoted(s.kind, now), made, f.run.ownFile, s.lasting)
	case fromDirectory:
		return fmt.Sprintf("%s: %s = %s from now on; %s (%s)", v.where, s.name, quoted(s.kind, now), made, s.lasting)
	}
	return fmt.Sprintf("%s: %s = %s in this run only; %s (%s)", v.where, s.name, quoted(s.kind, now), made, s.lasting)
}

// lastingValue is a value as the store remembers it: of files, a hash of what is in them.
func lastingValue(s *setting, text string) (string, error) {
	if s.kind.files == nil || text == "" {
		return text, nil
	}
	var errs []error
	hashed := s.kind.files(text, func(name string) string {
		content, err := os.ReadFile(name)
		errs = append(errs, err)
		return fmt.Sprintf("%016x", xxh3.Hash(content))
	})
	i := slices.IndexFunc(errs, func(err error) bool { return err != nil })
	if i >= 0 {
		return "", errs[i]
	}
	return hashed, nil
}
