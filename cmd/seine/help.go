// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/seine-crawler/seine/engine"
)

// helpText is how a command's help looks.
const helpText = `{{with (or .Long .Short)}}{{.}}

{{end}}Usage: {{.UseLine}}
{{- if .HasAvailableSubCommands}}

Commands:{{range .Commands}}{{if .IsAvailableCommand}}
  {{rpad .Name .NamePadding}} {{.Short}}{{end}}{{end}}{{end}}
{{- if .HasExample}}

Examples:
{{.Example}}{{end}}

{{groupedFlags .LocalFlags}}
{{- if .HasAvailableSubCommands}}
"{{.CommandPath}} COMMAND --help" says more of a command.
{{end}}`

// helpTexts makes a command and those below it print their help with flags in groups.
func helpTexts(root *cobra.Command) {
	root.SetHelpTemplate(helpText)
	root.SetVersionTemplate("seine {{.Version}}\n")
}

// helpCommand is "seine help": like --help, with an error for a command that does not exist.
func helpCommand(root *cobra.Command) *cobra.Command {
	return &cobra.Command{
		Use:   "help [COMMAND]",
		Short: "say more of a command",
		RunE: func(_ *cobra.Command, path []string) error {
			of, rest, err := root.Find(path)
			if err != nil || len(rest) > 0 {
				if of == nil {
					of = root
				}
				return onlyCommands(of, rest[:min(len(rest), 1)])
			}
			of.InitDefaultHelpFlag()
			of.InitDefaultVersionFlag()
			return of.Help()
		},
	}
}

func versionCommand(c *console) *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "print the version",
		Args:  noArguments,
		RunE: func(*cobra.Command, []string) error {
			_, err := fmt.Fprintf(c.out, "seine %s\n", engine.Version)
			return err
		},
	}
}

// groupKey annotates a flag with the title of its group in help.
const groupKey = "group"

// ofEachCommand is the title of the flags that every command on a data directory has.
const ofEachCommand = "Every command"

func inGroup(cmd *cobra.Command, flag, title string) {
	// The only error is that there is no such flag.
	if err := cmd.Flags().SetAnnotation(flag, groupKey, []string{title}); err != nil {
		panic(err)
	}
}

// groupedFlags lists a command's flags by group: its own first, then those of settings.
func groupedFlags(set *pflag.FlagSet) string {
	const own = "Flags"
	titles := []string{own}
	groups := map[string]*pflag.FlagSet{}
	set.VisitAll(func(flag *pflag.Flag) {
		title := own
		if of := flag.Annotations[groupKey]; len(of) > 0 {
			title = of[0]
		}
		if groups[title] == nil {
			groups[title] = pflag.NewFlagSet(title, pflag.ContinueOnError)
		}
		groups[title].AddFlag(shownFlag(flag))
	})
	for _, g := range settingGroups {
		titles = append(titles, g.title)
	}
	titles = append(titles, ofEachCommand)
	var parts []string
	for _, title := range slices.DeleteFunc(titles, func(t string) bool { return groups[t] == nil }) {
		parts = append(parts, title+":\n"+strings.TrimRight(groups[title].FlagUsagesWrapped(helpColumns), "\n"))
	}
	return strings.Join(parts, "\n\n") + "\n"
}

// shownFlag is a flag as help shows it: the kind of its value in the words of this program, no empty default.
func shownFlag(flag *pflag.Flag) *pflag.Flag {
	shown := *flag
	switch flag.Name {
	case "help":
		shown.Usage = "print this help"
	case "version":
		shown.Usage = "print the version"
	}
	if word := valueWords[flag.Value.Type()]; word != "" {
		shown.Value = wordedValue{flag.Value, word}
	}
	shown.DefValue = strings.Trim(flag.DefValue, "[]")
	if shown.DefValue == "0s" {
		shown.DefValue = ""
	}
	return &shown
}

// valueWords are the words for values of flags, by the names that the flag library has for their types.
var valueWords = map[string]string{
	"int": "number", "int64": "number", "uint64": "number", "float64": "number", "float": "number",
	"intSlice": "numbers", "uintSlice": "numbers", "stringSlice": "list", "stringArray": "text", "string": "text",
}

// wordedValue is a value of a flag with another word for its kind.
type wordedValue struct {
	pflag.Value
	word string
}

func (v wordedValue) Type() string { return v.word }

// helpColumns is the width of help.
const helpColumns = 100

func init() {
	cobra.AddTemplateFunc("groupedFlags", groupedFlags)
	cobra.EnableCommandSorting = false // the table of commands is in the order of a newcomer's day
}
