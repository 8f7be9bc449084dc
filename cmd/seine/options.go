// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"os"
	"reflect"
	"runtime/debug"
	"strings"
	"sync/atomic"
	"time"

	"github.com/seine-crawler/seine/engine"
	"github.com/seine-crawler/seine/engine/fetch"
	"github.com/seine-crawler/seine/storage/urlkey"
	"github.com/spf13/cobra"
)

// options turns the settings that the command uses into the engine's options. Of all others the defaults hold.
func (f *flags) options(cmd *cobra.Command) (o engine.Options, err error) {
	if f.run, err = f.resolve(cmd); err != nil {
		return o, err
	}
	o = engine.Options{MustExist: f.exists, ReadOnly: f.exists, OnFatal: fatal(cmd), Events: warnings(cmd)}
	for _, s := range allSettings {
		if s.into == nil || s.used&f.uses == 0 {
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
			return o, err
		}
	}
	if list := f.text("resolver"); list != "" {
		if o.NameServers, err = fetch.ParseServers(list); err != nil {
			return o, f.fault("resolver", err)
		}
	}
	if o.HostPolicy, err = f.run.sections.policy(); err != nil {
		return o, &usageError{err}
	}
	return o, f.policies(&o)
}

// text returns the value of a setting as text; the default if the command does not use the setting.
func (f *flags) text(name string) string {
	s := allSettings[name]
	if s == nil {
		panic("there is no setting " + name)
	}
	if s.used&f.uses == 0 {
		return s.def
	}
	return f.run.values[name].text
}

// on reports whether a switch is on.
func (f *flags) on(name string) bool { return f.text(name) == "true" }

// seedFiles are the files that the setting seeds names.
func (f *flags) seedFiles() []string { return fileNames(f.text("seeds")) }

// fileNames are the parts of a list of files.
func fileNames(list string) []string {
	return strings.FieldsFunc(list, func(r rune) bool { return r == ',' })
}

// fault is an error in the value of a setting. It begins with the place where the value is.
func (f *flags) fault(name string, err error) error {
	return &usageError{fmt.Errorf("%s: %w", f.run.values[name].where, err)}
}

// warnings prints warnings to stderr, one line each.
func warnings(cmd *cobra.Command) engine.EventListener {
	w := cmd.ErrOrStderr()
	var asleep atomic.Int64
	return engine.EventListener{
		Warning: func(err error) { fmt.Fprintln(w, "seine: warning: "+oneLine(err)) },
		HostAsleep: func(_ urlkey.HostKey, until time.Time, why engine.Cause) {
			switch n := asleep.Add(1); {
			case n <= hostsNamed:
				fmt.Fprintf(w, "seine: %s (not requested again before %s)\n", plainLine(why.String()),
					until.Format(time.DateTime))
			case n == hostsNamed+1:
				fmt.Fprintln(w, "seine: more hosts fail; \"seine check url --dir DIR URL\" says why one is left alone")
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
