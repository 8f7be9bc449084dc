// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"reflect"
	"slices"
	"strings"

	"github.com/BurntSushi/toml"
	"github.com/spf13/cobra"
)

// flags are the settings that commands share. A setting has one name, as a flag and as a key of the TOML file that
// --config names. A flag on the command line overrides the file.
type flags struct {
	config string
	json   bool
	quiet  bool
	exists bool // the command only reads: the store must exist

	s     settings
	hosts map[string]hostSection // [host."NAME"] of the TOML file
}

// reading marks a command that only reads.
func (f *flags) reading() *flags {
	f.exists = true
	return f
}

// storeSettings are the settings of commands that only read the store. All others decide over URLs and need every
// setting.
var storeSettings = map[string]bool{"dir": true, "memory": true}

// common adds the flags that every command on a data directory has.
func (f *flags) common(cmd *cobra.Command) {
	f.s = defaults()
	f.add(cmd, func(name string) bool { return storeSettings[name] })
	cmd.Flags().StringVar(&f.config, "config", "",
		"TOML file of settings, named like the flags, and of [host.\"NAME\"] sections")
}

// crawling adds the flags of commands that decide over URLs: all settings.
func (f *flags) crawling(cmd *cobra.Command) {
	f.common(cmd)
	f.add(cmd, func(name string) bool { return !storeSettings[name] })
}

// report adds the flag of commands that report.
func (f *flags) report(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&f.json, "json", false, "print JSON")
}

// add makes a flag of each wanted setting.
func (f *flags) add(cmd *cobra.Command, wanted func(name string) bool) {
	v := reflect.ValueOf(&f.s).Elem()
	for i := range v.NumField() {
		field := v.Type().Field(i)
		name := field.Tag.Get("toml")
		help := settingHelp[name]
		if !wanted(name) {
			continue
		}
		switch p := v.Field(i).Addr().Interface().(type) {
		case *string:
			cmd.Flags().StringVar(p, name, *p, help)
		case *int:
			cmd.Flags().IntVar(p, name, *p, help)
		case *bool:
			cmd.Flags().BoolVar(p, name, *p, help)
		}
	}
}

// readConfig sets the settings that the TOML file has and the command line has not. An unknown key is an error: a
// misspelled setting must not silently keep its default.
func (f *flags) readConfig(cmd *cobra.Command) error {
	if f.config == "" {
		return nil
	}
	text, err := os.ReadFile(f.config)
	if err != nil {
		return fmt.Errorf("reading settings: %w", err)
	}
	file := defaults()
	read := struct {
		*settings
		Host map[string]hostSection `toml:"host"`
	}{settings: &file}
	meta, err := toml.Decode(string(text), &read)
	if err != nil {
		return fmt.Errorf("reading settings from %s: %w", f.config, err)
	}
	for _, key := range meta.Keys() {
		if err := checkKey(key, meta.Type(key...)); err != nil {
			return fmt.Errorf("reading settings from %s: %w", f.config, err)
		}
	}
	f.hosts = read.Host
	to, from := reflect.ValueOf(&f.s).Elem(), reflect.ValueOf(file)
	for i := range to.NumField() {
		name := to.Type().Field(i).Tag.Get("toml")
		if flag := cmd.Flags().Lookup(name); meta.IsDefined(name) && (flag == nil || !flag.Changed) {
			to.Field(i).Set(from.Field(i))
		}
	}
	return nil
}

// checkKey returns an error for a key of the TOML file that is no setting, or a section that is none. The toml package
// alone would take Delay for delay, and skip headers = 1.
func checkKey(key toml.Key, kind string) error {
	const table = "Hash"
	switch {
	case len(key) == 1 && key[0] == "host":
		if kind != table {
			return errors.New("host: want sections such as [host.\"www.example.org\"]")
		}
	case len(key) == 1:
		if _, known := settingHelp[key[0]]; !known {
			return fmt.Errorf("there is no setting %q; settings are the flags of \"seine crawl --help\"", key[0])
		}
	case len(key) == 3 && key[0] == "host":
		known := map[string]reflect.Kind{}
		for f := range reflect.TypeFor[hostSection]().Fields() {
			known[f.Tag.Get("toml")] = f.Type.Kind()
		}
		switch {
		case known[key[2]] == reflect.Invalid:
			names := strings.Join(slices.Sorted(maps.Keys(known)), ", ")
			return fmt.Errorf("[host.%q]: there is no setting %q; a host has %s", key[1], key[2], names)
		case known[key[2]] == reflect.Map && kind != table:
			return fmt.Errorf("[host.%q]: %s: want names and values such as { X-Key = \"…\" }", key[1], key[2])
		}
	}
	return nil
}
