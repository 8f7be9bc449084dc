// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"os"
	"reflect"

	"github.com/BurntSushi/toml"
	"github.com/spf13/cobra"
)

// flags are the settings that commands share. Each has the same name as a flag and as a key of the
// TOML file that --config names; a flag on the command line wins over the file.
type flags struct {
	config string
	json   bool
	quiet  bool
	exists bool // the command only reads: there must be a store

	s     settings
	hosts map[string]hostSection // [host."NAME"] of the TOML file
}

// reading marks a command that only reads.
func (f *flags) reading() *flags {
	f.exists = true
	return f
}

// storeSettings are the settings of commands that only read or rewrite the store; the others fetch.
var storeSettings = map[string]bool{"dir": true, "memory": true}

// common adds the flags that every command on a data directory has.
func (f *flags) common(cmd *cobra.Command) {
	f.s = defaults()
	f.add(cmd, func(name string) bool { return storeSettings[name] })
	cmd.Flags().StringVar(&f.config, "config", "", "TOML file of settings, named like the flags")
}

// crawling adds the flags of commands that inject, choose or fetch URLs.
func (f *flags) crawling(cmd *cobra.Command) {
	f.common(cmd)
	f.add(cmd, func(name string) bool { return !storeSettings[name] })
}

// report adds the flag of commands that report.
func (f *flags) report(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&f.json, "json", false, "print JSON")
}

// add makes a flag of each setting that is wanted.
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

// readConfig fills the settings from the TOML file, but for those given as flags. A key that is no
// setting is an error: a typing mistake must not pass for a default.
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
	if unknown := meta.Undecoded(); len(unknown) > 0 {
		return fmt.Errorf("reading settings from %s: there is no setting %q; they are named like the flags of \"seine crawl --help\"", f.config, unknown[0])
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

// settingsByName lists the settings with their help.
func settingsByName() map[string]string {
	names := map[string]string{}
	for f := range reflect.TypeFor[settings]().Fields() {
		names[f.Tag.Get("toml")] = settingHelp[f.Tag.Get("toml")]
	}
	return names
}
