// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/seine-crawler/seine/engine/fetch"
)

// The sources of a setting, the weakest first. This is the one place that knows which source overrides which.
const (
	fromDefault source = iota
	fromDirectory
	fromConfig
	fromEnvironment
	fromFlag
	sources
)

type source uint8

// settingsFile is the name of a data directory's own settings file.
const settingsFile = "seine.toml"

// value is what a source says of a setting. Where names the place for people: --delay, SEINE_DELAY, seine.toml:4.
type value struct {
	text  string
	from  source
	where string
}

// of is the place and the value for errors: --delay "soon", seine.toml:4: delay "soon".
func (v value) of(setting string) string {
	text := strconv.Quote(shown(setting, v.text))
	switch v.from {
	case fromDirectory, fromConfig:
		return v.where + ": " + setting + " " + text
	case fromDefault:
		return setting + " " + text
	}
	return v.where + " " + text
}

// shown is a value as people may see it: without a password.
func shown(setting, text string) string {
	if setting == "proxy" && text != "" {
		return fetch.RedactProxy(text)
	}
	switch {
	case text == "":
	case setting == "index-to":
		return redactWriters(text)
	case setting == "index-login", setting == "index-api-key":
		return hidden
	}
	return text
}

// layer is what one source says.
type layer struct {
	values   map[string]value
	sections sections
	inForce  []fileSetting // of a file
}

// resolved are the settings of a run.
type resolved struct {
	values      map[string]value // of every setting
	sections    sections
	ownFile     string        // the settings file of the data directory, which need not exist
	ownSettings []fileSetting // that it has
}

// resolve reads all sources of settings and puts them over one another. Every value is checked, whether or not the
// command uses it, so that a mistake in a file is seen at once.
func (f *flags) resolve(cmd *cobra.Command) (r resolved, err error) {
	var layers [sources]layer
	layers[fromDefault] = defaultLayer()
	layers[fromEnvironment] = environmentLayer(os.Environ())
	if layers[fromFlag], err = f.flagLayer(cmd); err != nil {
		return r, &usageError{err}
	}
	if f.config != "" {
		text, err := os.ReadFile(f.config)
		if err != nil {
			return r, &usageError{fmt.Errorf("--config: %w", fileError(f.config, err))}
		}
		if layers[fromConfig], err = fileLayer(f.config, string(text), fromConfig); err != nil {
			return r, &usageError{err}
		}
	}
	dir := pick(layers, settingDir)
	if err := checkFolder(dir.text); err != nil {
		return r, &usageError{fmt.Errorf("%s: %w", dir.of(settingDir), err)}
	}
	r.ownFile = filepath.Join(dir.text, settingsFile)
	if !f.needsDir || dir.from != fromDefault {
		if layers[fromDirectory], err = directoryLayer(r.ownFile); err != nil {
			return r, err
		}
	}
	r.ownSettings = layers[fromDirectory].inForce
	r.values = map[string]value{}
	r.sections = layers[fromDirectory].sections.under(layers[fromConfig].sections)
	var faults []error
	for _, name := range slices.Sorted(maps.Keys(allSettings)) {
		v := pick(layers, name)
		if _, err := allSettings[name].kind.parse(v.text); err != nil && v.from != fromDefault {
			faults = append(faults, fmt.Errorf("%s: %w", v.of(name), err))
		}
		r.values[name] = v
	}
	if len(faults) > 0 {
		return r, &usageError{errors.Join(faults...)}
	}
	return r, nil
}

// checkFolder returns an error if a name cannot be that of a folder, there or to be made.
func checkFolder(name string) error {
	switch info, err := os.Stat(name); {
	case err == nil && !info.IsDir():
		return fmt.Errorf("%s is a file: name a folder", name)
	case errors.Is(err, syscall.ENOTDIR):
		return fmt.Errorf("a part of %s is a file: name a folder", name)
	}
	return nil
}

// pick returns the value of a setting from the strongest source that has one.
func pick(layers [sources]layer, name string) (v value) {
	for _, l := range layers {
		if over, ok := l.values[name]; ok {
			v = over
		}
	}
	return v
}

func defaultLayer() layer {
	l := layer{values: map[string]value{}}
	for name, s := range allSettings {
		l.values[name] = value{text: s.def, from: fromDefault, where: "default"}
	}
	return l
}

// variable is the name of a setting as an environment variable.
func variable(setting string) string {
	return "SEINE_" + strings.ToUpper(strings.ReplaceAll(setting, "-", "_"))
}

// environmentLayer reads the variables of settings; an empty one is as if it were not set.
func environmentLayer(environment []string) layer {
	l := layer{values: map[string]value{}}
	byVariable := map[string]string{}
	for name := range allSettings {
		byVariable[variable(name)] = name
	}
	for _, line := range environment {
		key, text, _ := strings.Cut(line, "=")
		if name, ok := byVariable[key]; ok && text != "" {
			l.values[name] = value{text, fromEnvironment, key}
		}
	}
	return l
}

// developing are the variables of tests and benchmarks, and what others of them begin with. They are no settings, but
// no mistake.
var developing = []string{
	"SEINE_TEST_", "SEINE_BENCH_", "SEINE_CONFORMANCE_DATA", "SEINE_CRASHES", "SEINE_DAMAGE", "SEINE_HOSTILE_TABLE",
	"SEINE_KILLS", "SEINE_LAYER_PAGES", "SEINE_PAGES", "SEINE_SENTENCES", "SEINE_WRITE_FORMAT",
}

// warnOfVariables names the environment variables that look like settings and are none. They may belong to somebody
// else, so that is no error.
func warnOfVariables(w io.Writer, environment []string) {
	var names []string
	for name := range allSettings {
		names = append(names, variable(name))
	}
	for _, line := range slices.Sorted(slices.Values(environment)) {
		key, _, _ := strings.Cut(line, "=")
		known := func(of string) bool { return strings.HasPrefix(key, of) }
		if known("SEINE_") && !slices.Contains(names, key) && !slices.ContainsFunc(developing, known) {
			fmt.Fprintf(w, "seine: warning: %s is set, but there is no such setting%s\n", key,
				didYouMean(key, names, ""))
		}
	}
}

// flagLayer reads the flags of settings, and --set NAME=VALUE. Errors name no value, which may hold a password.
func (f *flags) flagLayer(cmd *cobra.Command) (layer, error) {
	l := layer{values: map[string]value{}}
	for name, text := range f.texts {
		if cmd.Flags().Changed(name) {
			l.values[name] = value{*text, fromFlag, "--" + name}
		}
	}
	for _, given := range f.set {
		name, text, ok := strings.Cut(given, "=")
		s := allSettings[name]
		switch {
		case !ok:
			return l, errors.New("--set needs NAME=VALUE, such as --set delay=2s")
		case s == nil:
			return l, fmt.Errorf("--set: %w", noSetting(name))
		case !f.takes(s):
			return l, f.unused(cmd, "--set "+name, s)
		case l.values[name].from == fromFlag:
			return l, fmt.Errorf("--set %s: %s sets it already", name, l.values[name].where)
		}
		l.values[name] = value{text, fromFlag, "--set " + name}
	}
	return l, nil
}

// unused is the error of a setting given to a command on which it has no effect.
func (f *flags) unused(cmd *cobra.Command, given string, s *setting) error {
	return fmt.Errorf("%s has no effect on %q, only on %s: leave it out, or set it in DIR/%s, "+
		"from which each command takes what it uses", given, cmd.CommandPath(), s.used, settingsFile)
}

// directoryLayer reads a data directory's own settings file, if there is one.
func directoryLayer(name string) (layer, error) {
	text, err := os.ReadFile(name)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) {
		return layer{}, nil // opening the directory says what is wrong with it
	}
	if err != nil {
		err = fmt.Errorf("reading settings: %w", fileError(name, err))
		if diskFailed(err) {
			return layer{}, err
		}
		return layer{}, &usageError{err}
	}
	l, err := fileLayer(name, string(text), fromDirectory)
	if err == nil && l.values[settingDir].where != "" {
		err = fmt.Errorf("%s: dir cannot be set in a data directory's own settings: leave it out",
			l.values[settingDir].where)
	}
	if err != nil {
		return layer{}, &usageError{err}
	}
	return l, nil
}

// fileError says what is wrong with a file that a setting or an argument names.
func fileError(name string, err error) error {
	var path *fs.PathError
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("there is no file %s", name)
	case errors.As(err, &path):
		return fmt.Errorf("%s: %w", path.Path, path.Err)
	}
	return err
}

// noSetting is the error of a name that is no setting.
func noSetting(name string) error {
	return fmt.Errorf("there is no setting %q%s", name,
		didYouMean(name, slices.Sorted(maps.Keys(allSettings)), `; "seine config" lists them`))
}
