// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"os"
	"reflect"
	"runtime/debug"
	"strings"
	"sync/atomic"
	"time"

	"github.com/spf13/cobra"

	"github.com/seine-crawler/seine/engine"
	"github.com/seine-crawler/seine/engine/fetch"
	"github.com/seine-crawler/seine/storage/urlkey"
)

// options turns the settings that the command uses into the engine's options. Of all others the defaults hold.
func (f *flags) options(cmd *cobra.Command) (o engine.Options, err error) {
	if f.run, err = f.resolve(cmd); err != nil {
		return o, err
	}
	warnOfVariables(cmd.ErrOrStderr(), os.Environ())
	return f.resolved(cmd)
}

// resolved is options of the settings that f.run has.
func (f *flags) resolved(cmd *cobra.Command) (o engine.Options, err error) {
	if cmd.Annotations == nil {
		cmd.Annotations = map[string]string{}
	}
	cmd.Annotations[dirKey] = f.text(settingDir)
	mustExist := f.exists || f.uses&^continuing == 0 // a misspelled --dir must not become an empty store
	o = engine.Options{MustExist: mustExist, ReadOnly: f.exists, OnFatal: fatal(cmd), Events: warnings(cmd),
		PreferSearches: true}
	for _, s := range allSettings {
		if s.into == nil || !f.takes(s) {
			continue
		}
		v, err := s.kind.parse(f.text(s.name))
		if err != nil {
			return o, f.fault(s.name, err)
		}
		if s.zeroIsNone && (v == 0 || v == time.Duration(0) || v == 0.0) {
			v = -1
		}
		field := reflect.ValueOf(s.into(&o)).Elem()
		field.Set(reflect.ValueOf(v).Convert(field.Type()))
	}
	// Near the budget the garbage collector runs more often; otherwise the heap could grow to twice the budget.
	debug.SetMemoryLimit(o.Memory)
	if name := f.text("hosts"); name != "" {
		if o.Hosts, err = fetch.LoadHosts(name); err != nil {
			return o, f.fault("hosts", fileError(name, err))
		}
	}
	if list := f.text("resolver"); list != "" {
		if o.NameServers, err = fetch.ParseServers(list); err != nil {
			return o, f.fault("resolver", err)
		}
	}
	if err := checkLogFile(o.CrawlLog.Path); err != nil {
		return o, f.fault("crawl-log", err)
	}
	if o.HostPolicy, err = f.run.sections.policy(); err != nil {
		return o, &usageError{err}
	}
	if err := f.policies(&o); err != nil {
		return o, err
	}
	return o, f.check(&o)
}

// check returns an error if the engine would refuse the options. It names settings, not fields of the options.
func (f *flags) check(o *engine.Options) error {
	var all interface{ Unwrap() []error }
	if err := o.Validate(); err == nil || !errors.As(err, &all) {
		return err
	}
	var faults []error
	for _, err := range all.Unwrap() {
		var fault *engine.OptionError
		if errors.As(err, &fault) {
			if name := settingOf(o, fault.Field); name != "" {
				err = f.fault(name, errors.New(fault.Rule))
			}
		}
		faults = append(faults, err)
	}
	return errors.Join(faults...)
}

// settingOf is the name of the setting that sets a field of the options; "": none does.
func settingOf(o *engine.Options, field string) string {
	at := reflect.ValueOf(o).Elem().FieldByName(field).Addr().UnsafePointer()
	for name, s := range allSettings {
		if s.into != nil && reflect.ValueOf(s.into(o)).UnsafePointer() == at {
			return name
		}
	}
	return ""
}

// text returns the value of a setting as text; the default if the command does not use the setting.
func (f *flags) text(name string) string {
	s := allSettings[name]
	if s == nil {
		panic("there is no setting " + name)
	}
	if !f.takes(s) {
		return s.def
	}
	return f.run.values[name].text
}

// on reports whether a switch is on.
func (f *flags) on(name string) bool { return f.text(name) == "true" }

// seedFiles are the files that the setting seeds names.
func (f *flags) seedFiles() []string { return fileNames(f.text("seeds")) }

// checkSeedFiles returns an error if a file of seeds cannot be read.
func (f *flags) checkSeedFiles() error {
	for _, name := range f.seedFiles() {
		if name == "-" {
			continue
		}
		if err := readable(name); err != nil {
			return f.fault("seeds", fileError(name, err))
		}
	}
	return nil
}

// readable returns an error if a name is not that of a file, or a pipe, that can be opened.
func readable(name string) error {
	info, err := os.Stat(name)
	if err == nil && info.IsDir() {
		err = fmt.Errorf("%s is a folder, not a file", name)
	}
	if err != nil || !info.Mode().IsRegular() {
		return err // a pipe must not be opened twice
	}
	file, err := os.Open(name)
	if err != nil {
		return err
	}
	return file.Close()
}

// fileNames are the parts of a list of files.
func fileNames(list string) []string {
	return strings.FieldsFunc(list, func(r rune) bool { return r == ',' })
}

// fault is an error in the value of a setting. It begins with the place where the value is, and the value.
func (f *flags) fault(name string, err error) error {
	return &usageError{fmt.Errorf("%s: %w", f.run.values[name].of(name), err)}
}

// warnings prints warnings to stderr, one line each.
func warnings(cmd *cobra.Command) engine.EventListener {
	w := cmd.ErrOrStderr()
	var asleep atomic.Int64
	return engine.EventListener{
		Warning: func(err error) { fmt.Fprintln(w, "seine: warning: "+advice(cmd, oneLine(err))) },
		HostAsleep: func(_ urlkey.HostKey, until time.Time, why engine.Cause) {
			switch n := asleep.Add(1); {
			case n <= hostsNamed:
				line := advice(cmd, plainLine(why.String()))
				if !until.IsZero() {
					line += " (not requested again before " + until.Format(time.DateTime) + ")"
				}
				fmt.Fprintln(w, "seine: "+line)
			case n == hostsNamed+1:
				fmt.Fprintln(w, advice(cmd,
					`seine: more hosts fail; "seine check url --dir DIR URL" says why one is left alone`))
			}
		},
	}
}

// hostsNamed is the number of failing hosts that a run names on stderr.
const hostsNamed = 20

// fatal ends the process when the store fails. What was acknowledged is on disk, and the next start continues from
// there.
func fatal(cmd *cobra.Command) func(error) {
	return func(err error) {
		w := cmd.ErrOrStderr()
		leave(w)
		fmt.Fprintf(w, "seine: the store failed: %s; fix the cause and start seine again\n", oneLine(err))
		os.Exit(exitDisk)
	}
}
