// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"github.com/seine-crawler/seine/engine"
	"github.com/seine-crawler/seine/engine/policy"
)

// seedsFile is the file beside the settings into which "seine init" writes the URLs that it is given.
const seedsFile = "seeds.txt"

func initCommand(c *console) *cobra.Command {
	var f flags
	cmd := &cobra.Command{
		Use:   "init [URL…]",
		Short: "write the settings of a new data directory into DIR/" + settingsFile,
		Long: "Writes DIR/" + settingsFile + " with every setting, its default and its meaning, as comments.\n" +
			"Settings that are given here as flags or by --set are set. URLs go to DIR/" + seedsFile + ",\n" +
			"with which every crawl of the directory begins. Every command reads the file; edit it as you like.\n" +
			"With a password or a key in it, nobody else can read it.",
		Example: "  seine init --dir nets --contact https://your.site/crawler --scope domain https://example.org/\n" +
			"  seine crawl --dir nets",
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, urls []string) error {
			o, err := f.options(cmd) // every value must be usable, and every file that it names
			if err == nil {
				err = f.checkSeedFiles()
			}
			if err == nil {
				err = checkSeeds(o, urls)
			}
			if err == nil {
				err = f.writable()
			}
			if err == nil && f.config != "" {
				err = &usageError{fmt.Errorf("--config has no effect on init: copy %s to %s in its place", f.config,
					f.run.ownFile)}
			}
			if err != nil {
				return err
			}
			files, err := f.initialise(urls)
			if err != nil {
				return err
			}
			_, err = fmt.Fprintf(c.out, "init: wrote %s\n", strings.Join(files, " and "))
			return err
		},
	}
	f.settings(cmd, inAll)
	return cmd
}

// writable returns an error for a value that a settings file cannot have.
func (f *flags) writable() error {
	for name, v := range f.run.values {
		switch {
		case v.from != fromFlag || name == settingDir:
		case name == "seeds" && slices.Contains(f.seedFiles(), "-"):
			return f.fault(name, errors.New("a settings file cannot name standard input: name a file"))
		case !utf8.ValidString(v.text) || strings.ContainsFunc(v.text, unicode.IsControl):
			return f.fault(name, errors.New("a settings file takes UTF-8 without control characters only"))
		}
	}
	return nil
}

// checkSeeds returns an error if a crawl would not begin at one of the URLs.
func checkSeeds(o engine.Options, urls []string) error {
	checker := engine.NewURLChecker(o)
	for _, u := range urls {
		if isFile(u) {
			return &usageError{fmt.Errorf("%s is a file: give --seeds %s", u, u)}
		}
		if c := checker.Check(u, policy.NormalizeInject); !c.Accepted {
			return &usageError{fmt.Errorf("%q is no seed: %s", u, c.Reason)}
		}
	}
	return nil
}

// initialise writes the settings file, and the seeds if there are any. It overwrites nothing.
func (f *flags) initialise(urls []string) (written []string, err error) {
	dir := f.run.values[settingDir].text
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, fmt.Errorf("creating the data directory: %w", err)
	}
	given := map[string]string{}
	for name, v := range f.run.values {
		if v.from == fromFlag && name != settingDir {
			given[name] = v.text
		}
	}
	for name, text := range given {
		given[name] = relativeTo(dir, allSettings[name].kind, text)
	}
	if len(urls) > 0 {
		seeds := filepath.Join(dir, seedsFile)
		if err := writeNew(seeds, strings.Join(urls, "\n")+"\n", 0o644); err != nil {
			return nil, err
		}
		written = append(written, seeds)
		given["seeds"] = strings.Join(append(fileNames(given["seeds"]), seedsFile), ",")
	}
	mode := fs.FileMode(0o644)
	for name, text := range given {
		if shown(name, text) != text { // a password or key
			mode = 0o600
		}
	}
	if err := writeNew(f.run.ownFile, settingsText(given), mode); err != nil {
		for _, name := range written {
			err = errors.Join(err, os.Remove(name))
		}
		return nil, err
	}
	return append([]string{f.run.ownFile}, written...), nil
}

// relativeTo makes names of files in a value, which are relative to the working directory, relative to dir; absolute
// where there is no way.
func relativeTo(dir string, k kind, text string) string {
	if k.files == nil || text == "" {
		return text
	}
	return k.files(text, func(name string) string {
		if name == "-" || filepath.IsAbs(name) {
			return name
		}
		if short, err := filepath.Rel(dir, name); err == nil {
			return short
		}
		if full, err := filepath.Abs(name); err == nil {
			return full
		}
		return name
	})
}

// writeNew writes a file that must not exist. Where it cannot be written whole, none is left.
func writeNew(name, text string, mode fs.FileMode) error {
	file, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if errors.Is(err, fs.ErrExist) {
		return &usageError{fmt.Errorf("%s exists already and is not overwritten: edit it, or remove it and run init "+
			"again", name)}
	}
	if err != nil {
		return fmt.Errorf("writing settings: %w", err)
	}
	_, err = file.WriteString(text)
	if err = errors.Join(err, file.Close()); err != nil {
		err = errors.Join(err, os.Remove(name))
	}
	return err
}

// settingsText is a settings file with all settings: those that are given are set, the others are comments.
func settingsText(given map[string]string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "# Settings of this data directory, written by seine %s. Every command reads them.\n"+
		"# A line without the # before it is in force. For one run, a flag (--delay 2s, --set host-pages=100) or an\n"+
		"# environment variable (SEINE_DELAY) overrides it. Names of files are relative to this folder.\n"+
		"# \"seine config --dir DIR\" shows what is in force, and from where.\n", engine.Version)
	for _, g := range settingGroups {
		fmt.Fprintf(&b, "\n# ---- %s ----\n", g.title)
		for _, s := range g.settings {
			if s.name == settingDir {
				continue
			}
			for _, line := range wrap(plain(s.help)+" ("+s.used.String()+")", commentColumns) {
				b.WriteString("\n# " + line)
			}
			text, set := given[s.name]
			if set {
				fmt.Fprintf(&b, "\n%s = %s\n", s.name, quoted(s.kind, text))
			} else {
				fmt.Fprintf(&b, "\n# %s = %s\n", s.name, quoted(s.kind, s.def))
			}
		}
	}
	b.WriteString(sectionsText)
	return b.String()
}

// quoted is a value as TOML. Not every text that is a number here is one there: 007 and .5 are not, nor in JSON.
func quoted(k kind, text string) string {
	bare := k.word == "" || k.word == aCount.word && json.Valid([]byte(text))
	if _, err := k.parse(text); err == nil && bare {
		return text
	}
	return strconv.Quote(text)
}

// commentColumns is the width of the comments in a settings file.
const commentColumns = 100

// wrap breaks a text into lines at spaces.
func wrap(text string, columns int) (lines []string) {
	line := ""
	for _, word := range strings.Fields(text) {
		if line != "" && len(line)+1+len(word) > columns {
			lines = append(lines, line)
			line = ""
		}
		if line != "" {
			line += " "
		}
		line += word
	}
	return append(lines, line)
}
