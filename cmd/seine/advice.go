// SPDX-License-Identifier: Apache-2.0

package main

import (
	"path/filepath"
	"regexp"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
)

// dirKey annotates a command with the data directory of its run.
const dirKey = "dir"

// commandLines are commands that messages advise to run: "seine check url --dir DIR URL", "seine generate".
var commandLines = regexp.MustCompile(`"seine ((?:check )?[a-z]+)( --dir DIR)?([^"]*)"`)

// advice is a message with the data directory of this run in each command that it advises to run, and in each name of
// a file below it.
func advice(cmd *cobra.Command, text string) string {
	dir := cmd.Annotations[dirKey]
	if dir == "" {
		return text
	}
	text = strings.ReplaceAll(text, "DIR/"+settingsFile, filepath.Join(dir, settingsFile))
	byDefault := dir == allSettings[settingDir].def
	if strings.ContainsAny(dir, " \t\"'$\\") {
		dir = strconv.Quote(dir)
	}
	return commandLines.ReplaceAllStringFunc(text, func(line string) string {
		part := commandLines.FindStringSubmatch(line)
		of, _, err := cmd.Root().Find(strings.Fields(part[1]))
		if err != nil || of.Flags().Lookup(settingDir) == nil || byDefault && part[2] == "" ||
			strings.Contains(part[3], "--dir ") { // the engine has named it
			return line
		}
		return `"seine ` + part[1] + " --dir " + dir + part[3] + `"`
	})
}
