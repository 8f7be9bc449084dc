// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// flagError says what is wrong with a flag on the command line, in the words of this program. The flags of a misspelled
// command are looked for in the one above it, whose only arguments are the names of commands.
func flagError(cmd *cobra.Command, err error) error {
	if names := cmd.Flags().Args(); cmd.HasAvailableSubCommands() && len(names) > 0 {
		return onlyCommands(cmd, names)
	}
	var unknown *pflag.NotExistError
	var invalid *pflag.InvalidValueError
	var missing *pflag.ValueRequiredError
	switch {
	case errors.As(err, &unknown) && unknown.GetSpecifiedShortnames() != "":
		name, _, _ := strings.Cut(unknown.GetSpecifiedShortnames(), "=") // the value may hold a password
		return fmt.Errorf("unknown flag: -%s; flags begin with two hyphens", name)
	case errors.As(err, &unknown):
		return fmt.Errorf("%w%s", err, likeFlag(cmd, unknown))
	case errors.As(err, &missing):
		return fmt.Errorf("--%s needs a value", missing.GetSpecifiedName())
	case errors.As(err, &invalid):
		flag := invalid.GetFlag()
		why := errors.Unwrap(invalid)
		var number *strconv.NumError
		own := strings.HasPrefix(why.Error(), "want ")
		if !own && (errors.As(why, &number) || wantedValues[flag.Value.Type()] != "") {
			why = fmt.Errorf("want %s", wantedValues[flag.Value.Type()])
		}
		return fmt.Errorf("--%s %q: %w", flag.Name, invalid.GetValue(), why)
	}
	return err
}

// wantedValues say what the values of flags of a type look like.
var wantedValues = map[string]string{
	"bool":     "true or false",
	"int":      "a whole number",
	"int64":    "a whole number",
	"uint64":   "a whole number, 0 or more",
	"float64":  "a number",
	"duration": "a duration such as 500ms or 2s",
	"intSlice": "whole numbers with commas between them",
}

// likeFlag names flags that are spelled nearly as an unknown one is.
func likeFlag(cmd *cobra.Command, unknown *pflag.NotExistError) string {
	var names []string
	cmd.Flags().VisitAll(func(flag *pflag.Flag) {
		if !flag.Hidden {
			names = append(names, flag.Name)
		}
	})
	if format := cmd.Flags().Lookup("format"); format != nil && unknown.GetSpecifiedName() == "json" {
		values, _ := pflag.UnquoteUsage(format)
		return "; --format takes " + values
	}
	like := similar(unknown.GetSpecifiedName(), names)
	if len(like) == 0 {
		return ""
	}
	return "; did you mean --" + strings.Join(like, " or --") + "?"
}

// countFlag is the value of a flag that takes a whole number from least to most.
type countFlag[T int | int64 | uint32] struct {
	to          *T
	least, most T
}

// addCount adds a flag that takes a whole number from least.
func addCount[T int | int64 | uint32](fs *pflag.FlagSet, to *T, name string, def, least T, usage string) {
	var most T
	for next := T(1); next > most; next = most*2 + 1 {
		most = next
	}
	addCountTo(fs, to, name, def, least, most, usage)
}

// addCountTo adds a flag that takes a whole number from least to most.
func addCountTo[T int | int64 | uint32](fs *pflag.FlagSet, to *T, name string, def, least, most T, usage string) {
	*to = def
	fs.Var(&countFlag[T]{to, least, most}, name, usage)
}

// String, Set and Type implement pflag.Value.
func (c *countFlag[T]) String() string { return strconv.FormatInt(int64(*c.to), 10) }

func (c *countFlag[T]) Set(text string) error {
	n, err := strconv.ParseInt(text, 10, 64)
	switch {
	case err == nil && n > int64(c.most), errors.Is(err, strconv.ErrRange) && n > 0:
		return fmt.Errorf("want a whole number, %d to %d", c.least, c.most)
	case err != nil || n < int64(c.least):
		return fmt.Errorf("want a whole number, %d or more", c.least)
	}
	*c.to = T(n)
	return nil
}

func (c *countFlag[T]) Type() string { return "number" }

// without returns an error if a flag was given that has no effect because others were not.
func without(cmd *cobra.Command, flag string, others ...string) error {
	if !cmd.Flags().Changed(flag) {
		return nil
	}
	for _, other := range others {
		if cmd.Flags().Changed(other) {
			return nil
		}
	}
	return &usageError{fmt.Errorf("--%s has no effect without --%s", flag, strings.Join(others, " or --"))}
}

// together returns an error if two flags were given of which one has no effect beside the other.
func together(cmd *cobra.Command, flag, other string) error {
	if cmd.Flags().Changed(flag) && cmd.Flags().Changed(other) {
		return &usageError{fmt.Errorf("--%s has no effect beside --%s: give one of them", flag, other)}
	}
	return nil
}
