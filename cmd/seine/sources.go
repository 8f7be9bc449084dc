// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/BurntSushi/toml"
	"github.com/spf13/cobra"
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

// layer is what one source says.
type layer struct {
	values   map[string]value
	sections sections
}

// resolved are the settings of a run.
type resolved struct {
	values   map[string]value // of every setting
	sections sections
	ownFile  string // the settings file of the data directory, which need not exist
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
			return r, fmt.Errorf("reading settings: %w", err)
		}
		if layers[fromConfig], err = fileLayer(f.config, string(text), fromConfig); err != nil {
			return r, &usageError{err}
		}
	}
	dir := pick(layers, settingDir)
	r.ownFile = filepath.Join(dir.text, settingsFile)
	if !f.needsDir || dir.from != fromDefault {
		if layers[fromDirectory], err = directoryLayer(r.ownFile); err != nil {
			return r, err
		}
	}
	r.values = map[string]value{}
	for name, s := range allSettings {
		v := pick(layers, name)
		if _, err := s.kind.parse(v.text); err != nil && v.from != fromDefault {
			return r, &usageError{fmt.Errorf("%s %q: %w", v.where, v.text, err)}
		}
		r.values[name] = v
	}
	r.sections = layers[fromDirectory].sections.under(layers[fromConfig].sections)
	return r, nil
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

// environmentLayer reads the variables of settings; an empty one is as if it were not set. Other variables that begin
// with SEINE_ may belong to somebody else; "seine config" lists them.
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

// strangeVariables are the environment variables that look like settings and are none.
func strangeVariables(environment []string) (list []string) {
	for _, line := range environment {
		key, _, _ := strings.Cut(line, "=")
		name := strings.ToLower(strings.ReplaceAll(strings.TrimPrefix(key, "SEINE_"), "_", "-"))
		if strings.HasPrefix(key, "SEINE_") && allSettings[name] == nil {
			list = append(list, key)
		}
	}
	slices.Sort(list)
	return list
}

// flagLayer reads the flags of settings, and --set NAME=VALUE.
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
			return l, fmt.Errorf("--set %s: want NAME=VALUE", given)
		case s == nil:
			return l, fmt.Errorf("--set %s: there is no setting %q; \"seine config\" lists them", given, name)
		case s.used&f.uses == 0:
			return l, f.unused(cmd, "--set "+given, s)
		case l.values[name].from == fromFlag:
			return l, fmt.Errorf("--set %s: %s says %q already", given, l.values[name].where, l.values[name].text)
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
	if errors.Is(err, fs.ErrNotExist) || isNotDirectory(err) {
		return layer{}, nil // opening the directory says what is wrong with it
	}
	if err != nil {
		return layer{}, fmt.Errorf("reading settings: %w", err)
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

// isNotDirectory reports whether a path leads through a file.
func isNotDirectory(err error) bool {
	var path *fs.PathError
	return errors.As(err, &path) && path.Err.Error() == "not a directory"
}

// fileLayer reads a TOML file. Names of files in it are relative to its folder. An unknown key is an error: a
// misspelled setting must not silently keep its default.
func fileLayer(name, text string, from source) (layer, error) {
	l := layer{values: map[string]value{}}
	fault := func(err error) (layer, error) { return l, fmt.Errorf("reading settings from %s: %w", name, err) }
	var top map[string]any
	var tables struct {
		Host   map[string]section `toml:"host"`
		Domain map[string]section `toml:"domain"`
		Prefix map[string]section `toml:"prefix"`
	}
	meta, err := toml.Decode(text, &top)
	if err != nil {
		return fault(err)
	}
	for _, key := range meta.Keys() {
		if err := checkKey(key, meta.Type(key...)); err != nil {
			return fault(err)
		}
	}
	if _, err := toml.Decode(text, &tables); err != nil {
		return fault(err)
	}
	for _, key := range slices.Sorted(maps.Keys(top)) {
		s := allSettings[key]
		if s == nil {
			continue // a table of sections, by checkKey
		}
		written, err := textOf(top[key])
		if err != nil {
			return fault(fmt.Errorf("%s: %w", key, err))
		}
		l.values[key] = value{s.kind.below(filepath.Dir(name), written), from, name + lineOf(text, key)}
	}
	l.sections = sections{}
	for kind, of := range map[string]map[string]section{
		"host": tables.Host, "domain": tables.Domain, "prefix": tables.Prefix,
	} {
		for of, section := range of {
			l.sections[sectionName{kind, of}] = placedSection{section, name}
		}
	}
	return l, nil
}

// textOf is a TOML value as it would be written as a flag.
func textOf(v any) (string, error) {
	switch v := v.(type) {
	case string:
		return v, nil
	case bool:
		return strconv.FormatBool(v), nil
	case int64:
		return strconv.FormatInt(v, 10), nil
	case float64:
		return strconv.FormatFloat(v, 'f', -1, 64), nil
	case []any:
		var parts []string
		for _, e := range v {
			text, ok := e.(string)
			if !ok || strings.Contains(text, ",") {
				return "", errors.New("want a list of texts without commas")
			}
			parts = append(parts, text)
		}
		return strings.Join(parts, ","), nil
	}
	return "", fmt.Errorf("want one value, not a %s", reflect.TypeOf(v))
}

// lineOf is ":LINE" of a key at the top of a TOML file, "" if it is not found.
func lineOf(text, key string) string {
	own := regexp.MustCompile(`^\s*["']?` + regexp.QuoteMeta(key) + `["']?\s*=`)
	n := 0
	for line := range strings.Lines(text) {
		n++
		if own.MatchString(line) {
			return ":" + strconv.Itoa(n)
		}
		if strings.HasPrefix(strings.TrimSpace(line), "[") && !strings.Contains(line, ",") {
			break
		}
	}
	return ""
}

// checkKey returns an error for a key of a TOML file that is no setting, or a section that is none. The toml package
// alone would take Delay for delay, and skip headers = 1.
func checkKey(key toml.Key, kind string) error {
	const table = "Hash"
	known, isTable := sectionKeys[key[0]]
	switch {
	case len(key) == 1 && isTable:
		if kind != table {
			return fmt.Errorf("%s: want sections such as [%s]", key[0], sectionExamples[key[0]])
		}
	case len(key) == 1:
		if allSettings[key[0]] == nil {
			return fmt.Errorf("there is no setting %q; \"seine config\" lists them", key[0])
		}
	case len(key) == 3 && isTable:
		of, ok := known[key[2]]
		switch {
		case !ok:
			names := strings.Join(slices.Sorted(maps.Keys(known)), ", ")
			return fmt.Errorf("[%s.%q]: there is no setting %q; a section of this kind has %s", key[0], key[1], key[2],
				names)
		case of == reflect.Map && kind != table:
			return fmt.Errorf("[%s.%q]: %s: want names and values such as { X-Key = \"…\" }", key[0], key[1], key[2])
		}
	}
	return nil
}
