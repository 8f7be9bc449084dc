// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/BurntSushi/toml"
)

// tomlFile is a settings file that is being read.
type tomlFile struct {
	name   string
	from   source
	lines  map[string]int // of keys, see keyLines
	layer  layer
	faults []placedFault
}

type placedFault struct {
	line int
	err  error
}

// fileLayer reads a TOML file. Names of files in it are relative to its folder. An unknown key is an error: a
// misspelled setting must not silently keep its default. The error lists all faults, each with file, line and key.
func fileLayer(name, text string, from source) (layer, error) {
	var top map[string]any
	if _, err := toml.Decode(text, &top); err != nil {
		return layer{}, syntaxError(name, err)
	}
	f := tomlFile{name: name, from: from, lines: keyLines(text)}
	f.layer = layer{values: map[string]value{}, sections: sections{}, inForce: settingsInForce(top, f.lines)}
	for key, v := range top {
		if sectionKinds[key] != nil {
			f.readSections(key, v)
		} else {
			f.readSetting(key, v)
		}
	}
	slices.SortStableFunc(f.faults, func(a, b placedFault) int { return a.line - b.line })
	var errs []error
	for _, fault := range f.faults {
		errs = append(errs, fault.err)
	}
	return f.layer, errors.Join(errs...)
}

// syntaxError is the error of a text that is no TOML.
func syntaxError(name string, err error) error {
	var parse toml.ParseError
	if !errors.As(err, &parse) {
		return fmt.Errorf("reading settings from %s: %w", name, err)
	}
	why := parse.Message
	if parse.LastKey != "" {
		why = parse.LastKey + ": " + why
	}
	if strings.Contains(why, "expected") {
		why += ": a text needs quotes, such as delay = \"2s\""
	}
	return fmt.Errorf("%s:%d: %s", name, parse.Position.Line,
		strings.ReplaceAll(why, "out of range for int64", "too large a number"))
}

// fault notes a fault of a key.
func (f *tomlFile) fault(key toml.Key, format string, args ...any) {
	why := fmt.Errorf(format, args...)
	f.faults = append(f.faults, placedFault{f.lines[key.String()], fmt.Errorf("%s: %w", f.place(key), why)})
}

// place is where a key is: config.toml:3.
func (f *tomlFile) place(key toml.Key) string {
	for ; len(key) > 0; key = key[:len(key)-1] {
		if line := f.lines[key.String()]; line > 0 {
			return f.name + ":" + strconv.Itoa(line)
		}
	}
	return f.name
}

func (f *tomlFile) readSetting(key string, v any) {
	s, at := allSettings[key], toml.Key{key}
	if s == nil {
		if _, isTable := v.(map[string]any); isTable {
			f.fault(at, "there is no section [%s]: want sections such as %s", key, sectionList())
			return
		}
		f.fault(at, "%w", noSetting(key))
		return
	}
	text, err := textOf(v)
	if err != nil {
		f.fault(at, "%s: %w", key, err)
		return
	}
	f.layer.values[key] = value{s.kind.below(filepath.Dir(f.name), text), f.from, f.place(at)}
}

// readSections reads all sections of a kind.
func (f *tomlFile) readSections(kind string, v any) {
	all, ok := v.(map[string]any)
	if !ok {
		f.fault(toml.Key{kind}, "%s: want sections such as %s", kind, sectionExamples[kind])
	}
	for name, v := range all {
		at, section := toml.Key{kind, name}, sectionName{kind, name}
		settings, ok := v.(map[string]any)
		if !ok {
			f.fault(at, "%s: want a section of settings, such as %s, with each setting on a line below it", section,
				sectionExamples[kind])
			continue
		}
		read := map[string]sectionValue{}
		for key, v := range settings {
			f.readSectionSetting(section, key, v, read)
		}
		f.layer.sections[section] = placedSection{read, f.place(at)}
	}
}

func (f *tomlFile) readSectionSetting(section sectionName, key string, v any, to map[string]sectionValue) {
	s, at := sectionKinds[section.kind][key], toml.Key{section.kind, section.name, key}
	if s == nil {
		if name, ok := unquoted(section.name, key, v); ok {
			f.fault(at, "the name of a section needs quotes: [%s.%q]", section.kind, name)
			return
		}
		names := slices.Sorted(maps.Keys(sectionKinds[section.kind]))
		f.fault(at, "%s: there is no setting %q%s", section, key,
			didYouMean(key, names, "; a section of this kind has "+strings.Join(names, ", ")))
		return
	}
	read := sectionValue{where: f.place(at)}
	if s.table {
		fields, ok := v.(map[string]any)
		if !ok {
			f.fault(at, "%s: %s: want names and values such as { X-Key = \"…\" }", section, key)
		}
		read.fields = map[string]string{}
		for name, v := range fields {
			if read.fields[name], ok = v.(string); !ok {
				f.fault(append(at, name), "%s: %s: %s: want a text in quotes", section, key, name)
			}
		}
		to[key] = read
		return
	}
	text, err := textOf(v)
	if err == nil {
		if _, err = s.kind.parse(text); err != nil && !s.secret {
			err = fmt.Errorf("%q: %w", text, err)
		}
	}
	if err != nil {
		f.fault(at, "%s: %s %w", section, key, err)
		return
	}
	read.text = text
	to[key] = read
}

// unquoted is the name of the host in a heading that lacks quotes, such as [host.www.example.org].
func unquoted(first, key string, v any) (name string, ok bool) {
	name = first + "." + key
	below, isTable := v.(map[string]any)
	if !isTable || strings.Contains(first, ".") {
		return name, false
	}
	for key, v := range below {
		if longer, ok := unquoted(key, "", v); ok && len(below) == 1 {
			name += "." + strings.TrimSuffix(longer, ".")
		}
	}
	return name, true
}

// textOf is a TOML value as it would be written as a flag.
func textOf(v any) (string, error) {
	what := "something else"
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
	case map[string]any, []map[string]any:
		what = "a section"
	case time.Time:
		what = "a date"
	}
	return "", fmt.Errorf("want one value, not %s", what)
}

// keyLines are the lines of the keys of a TOML text that can be read, by toml.Key.String, and of the tables in which
// they are. The toml package keeps them to itself.
func keyLines(text string) map[string]int {
	lines := map[string]int{}
	var table toml.Key
	text = strings.TrimPrefix(text, "\ufeff")
	for line, statement := 1, ""; text != ""; line += strings.Count(statement, "\n") {
		statement, text = cutStatement(text)
		var any map[string]any
		meta, err := toml.Decode(statement, &any)
		if err != nil {
			continue // the faults of the whole text have been reported
		}
		keys, heading := meta.Keys(), strings.HasPrefix(strings.TrimSpace(statement), "[")
		if heading && len(keys) > 0 {
			table = keys[len(keys)-1]
			lines[table.String()] = line
			keys = keys[len(keys)-1:]
		}
		for _, key := range keys {
			if !heading {
				key = append(slices.Clone(table), key...)
			}
			for i := range key {
				if above := key[:i+1].String(); lines[above] == 0 {
					lines[above] = line
				}
			}
		}
	}
	return lines
}

// cutStatement cuts the first statement from a TOML text that can be read: a line, with those below it as long as
// brackets or texts of several lines are open.
func cutStatement(text string) (statement, rest string) {
	for i, open := 0, 0; i < len(text); i++ {
		switch text[i] {
		case '\n':
			if open == 0 {
				return text[:i+1], text[i+1:]
			}
		case '[', '{':
			open++
		case ']', '}':
			open--
		case '"', '\'':
			i += quotedLen(text[i:]) - 1
		case '#':
			if end := strings.IndexByte(text[i:], '\n'); end > 0 {
				i += end - 1
			}
		}
	}
	return text, ""
}

// quotedLen is the length of the quoted text with which a TOML text begins. Three quotes begin and end one of several
// lines, which may end with two quotes of its own.
func quotedLen(text string) int {
	quote := text[:1]
	if triple := strings.Repeat(quote, 3); strings.HasPrefix(text, triple) {
		quote = triple
	}
	for i := len(quote); i < len(text); i++ {
		switch {
		case text[i] == '\\' && quote[0] == '"':
			i++
		case strings.HasPrefix(text[i:], quote):
			i += len(quote)
			for own := 0; len(quote) == 3 && own < 2 && i < len(text) && text[i] == quote[0]; own++ {
				i++
			}
			return i
		}
	}
	return len(text)
}
