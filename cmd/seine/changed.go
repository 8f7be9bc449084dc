// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/BurntSushi/toml"
	"github.com/zeebo/xxh3"

	"github.com/seine-crawler/seine/engine"
)

// rememberedFile is the name under which the store remembers the data directory's settings file: what it set in the
// last run, of each setting its name and a hash of its value, for that may be a password. A changed value can be an
// edit or damage of the file; only a person can tell.
const rememberedFile = "settings file"

// rememberedForm begins what is remembered. What begins otherwise was written by an older version, which hashed lines
// in place of values and kept parts of texts of several lines; it is not compared with, and overwritten.
const rememberedForm = "values\n"

// fileSetting is a setting that a settings file sets.
type fileSetting struct {
	name string // with the heading of its section
	hash string // of the value
	line int
}

// settingsInForce are the settings of a settings file that was decoded, by their lines.
func settingsInForce(top map[string]any, lines map[string]int) (all []fileSetting) {
	add := func(section string, key toml.Key, v any) {
		name := section + key[len(key)-1:].String()
		hash := xxh3.HashString(fmt.Sprintf("%s = %#v", name, v))
		all = append(all, fileSetting{name, fmt.Sprintf("%016x", hash), lines[key.String()]})
	}
	for key, v := range top {
		named, _ := v.(map[string]any)
		if sectionKinds[key] == nil || named == nil {
			add("", toml.Key{key}, v)
		}
		for name, v := range named {
			settings, _ := v.(map[string]any)
			for setting, v := range settings {
				add(sectionName{key, name}.String()+" ", toml.Key{key, name, setting}, v)
			}
		}
	}
	slices.SortFunc(all, func(a, b fileSetting) int {
		return cmp.Or(a.line-b.line, strings.Compare(a.name, b.name))
	})
	return all
}

// changedSettings compares the settings of a file with what the last run remembered of them, and names those that
// differ.
func changedSettings(settings []fileSetting, remembered string) (differ []string) {
	was := map[string]string{}
	var order []string
	for line := range strings.Lines(remembered) {
		hash, name, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
		was[name] = hash
		order = append(order, name)
	}
	for _, s := range settings {
		if was[s.name] != s.hash {
			differ = append(differ, fmt.Sprintf("%s (line %d)", s.name, s.line))
		}
		delete(was, s.name)
	}
	for _, name := range order {
		if was[name] != "" {
			differ = append(differ, name+" (no longer set)")
		}
	}
	return differ
}

// noteChanges says on stderr in what the data directory's settings file differs from that of the last run. It returns
// what this run should remember of the file, and whether that is new.
func (f *flags) noteChanges(w io.Writer, e *engine.Engine) (now string, isNew bool, err error) {
	now = rememberedForm
	for _, s := range f.run.ownSettings {
		now += s.hash + " " + s.name + "\n"
	}
	was, known, err := e.Remembered(rememberedFile)
	if err != nil || known && was == now {
		return now, false, err
	}
	if was, known = strings.CutPrefix(was, rememberedForm); !known {
		return now, true, nil
	}
	if differ := changedSettings(f.run.ownSettings, was); len(differ) > 0 {
		fmt.Fprintln(w, "seine: "+plainLine(fmt.Sprintf("%s has changed since the last run: %s", f.run.ownFile,
			strings.Join(differ, ", "))))
	}
	return now, true, nil
}

// assumed says by which settings a store is made anew, for they are not in the WARC files.
func (f *flags) assumed(what string) string {
	scope := f.run.values["scope"]
	var from []string
	for name, v := range f.run.values {
		switch {
		case v.from == fromDefault || name == "scope" || !f.takes(allSettings[name]) || allSettings[name].used == inAll:
		case v.from == fromDirectory:
			from = append(from, f.run.ownFile)
		case v.from == fromConfig:
			from = append(from, f.config)
		default:
			from = append(from, v.where)
		}
	}
	slices.Sort(from)
	others := "all others are the defaults"
	if from = slices.Compact(from); len(from) > 0 {
		others = "others come from " + strings.Join(from, ", ")
	}
	return fmt.Sprintf("%s: scope = %q (%s), %s; they should be those of the crawl", what, scope.text, scope.where,
		others)
}
